"""The Trainer callback around real, tiny trainings."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import torch

from traindx.readers.find import find_runs

pytest.importorskip("transformers")
pytest.importorskip("accelerate")
hf: Any = importlib.import_module("transformers")


def fit(folder: Path, *callbacks: Any, lr: float = 1e-2, report_to: str = "none") -> tuple[Any, list[torch.Tensor]]:
    hf.set_seed(0)
    size = 16
    shape = {"n_positions": 16, "n_embd": 32, "n_layer": 1, "n_head": 2, "bos_token_id": 0, "eos_token_id": 0}
    model = hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=size, **shape))
    # walks of one or two places at a time: half of each step can be known
    rows = torch.randint(1, 3, (480, 16), generator=torch.Generator().manual_seed(1)).cumsum(1) % size
    data = [{"input_ids": row, "labels": row} for row in rows]
    arguments = hf.TrainingArguments(
        str(folder / "out"), num_train_epochs=6, per_device_train_batch_size=16, learning_rate=lr, logging_steps=10,
        eval_strategy="epoch", save_strategy="no", report_to=report_to, disable_tqdm=True, use_cpu=True,
        optim="sgd" if lr > 1 else "adamw_torch", max_grad_norm=0.0,
    )  # fmt: skip
    trainer = hf.Trainer(
        model=model, args=arguments, train_dataset=data[:400], eval_dataset=data[400:], callbacks=list(callbacks)
    )
    trainer.train()
    return trainer, [parameter.detach().clone() for parameter in model.parameters()]


def test_a_healthy_training_is_healthy_unchanged_and_known_by_name(tmp_path: Path) -> None:
    from traindx.huggingface import TraindxCallback

    _, bare = fit(tmp_path)
    callback = TraindxCallback(to=tmp_path / "hf.traindx")
    _, weights = fit(tmp_path, callback)
    assert all(torch.equal(one, other) for one, other in zip(bare, weights, strict=True))
    assert callback.diagnosis.verdict == "healthy"
    (run,) = find_runs([tmp_path / "hf.traindx"])
    assert len(run.series["train_loss"]) == 150
    assert len(run.series["eval_loss"]) == 6
    assert run.config["settings.args.max_steps"] == 150


def test_too_high_a_rate_is_told(tmp_path: Path) -> None:
    from traindx.huggingface import TraindxCallback

    callback = TraindxCallback(to=tmp_path / "hf.traindx", report=False)
    fit(tmp_path, callback, lr=30.0)
    assert callback.diagnosis.verdict == "unhealthy"
    assert callback.diagnosis.hypotheses[0].cause == "lr-too-high"


def test_report_to_knows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import traindx.huggingface  # noqa: F401

    monkeypatch.chdir(tmp_path)
    trainer, _ = fit(tmp_path, report_to="traindx")
    assert (tmp_path / "trainer.traindx").is_dir()
    assert any(type(one).__name__ == "TraindxCallback" for one in trainer.callback_handler.callbacks)
