"""The Lightning callback around real, tiny trainings."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_task import CLASSES, INPUTS, TRAINED, task

from traindx.readers.find import find_runs

pytest.importorskip("lightning.pytorch")
L: Any = importlib.import_module("lightning.pytorch")


class Net(L.LightningModule):  # type: ignore[misc,name-defined]
    def __init__(self, lr: float = 0.01, fault: str = "") -> None:
        super().__init__()
        self.save_hyperparameters()
        self.body = torch.nn.Sequential(torch.nn.Linear(INPUTS, 16), torch.nn.ReLU(), torch.nn.Dropout(0.1))
        self.head = torch.nn.Linear(16, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        if self.hparams.fault == "crash" and self.global_step == 60:
            raise RuntimeError("oh")
        return torch.nn.functional.cross_entropy(self(batch[0]), batch[1])

    def validation_step(self, batch: Any, index: int) -> None:
        out = self(batch[0])
        self.log("val_loss", torch.nn.functional.cross_entropy(out, batch[1]))
        self.log("val_acc", (out.argmax(1) == batch[1]).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        chosen = self.body if self.hparams.fault == "body" else self
        return torch.optim.Adam(chosen.parameters(), lr=self.hparams.lr)


def fit(fault: str = "", *callbacks: Any) -> tuple[Any, list[torch.Tensor]]:
    torch.manual_seed(0)
    x, y = (torch.from_numpy(part) for part in task())
    model = Net(fault=fault)
    data = [
        torch.utils.data.TensorDataset(x[:TRAINED], y[:TRAINED]),
        torch.utils.data.TensorDataset(x[TRAINED:], y[TRAINED:]),
    ]
    loaders = [torch.utils.data.DataLoader(part, 32, shuffle=not index) for index, part in enumerate(data)]
    trainer = L.Trainer(
        max_epochs=8, callbacks=list(callbacks), logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, accelerator="cpu",
    )  # fmt: skip
    trainer.fit(model, *loaders)
    return trainer, [parameter.detach().clone() for parameter in model.parameters()]


def test_a_healthy_training_is_healthy_unchanged_and_known_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from traindx.lightning import TraindxCallback

    _, bare = fit()
    backward = torch.autograd.backward
    callback = TraindxCallback(to=tmp_path / "lit.traindx")
    _, weights = fit("", callback)
    assert all(torch.equal(one, other) for one, other in zip(bare, weights, strict=True))
    assert torch.autograd.backward is backward
    assert callback.diagnosis.verdict == "healthy"
    assert "HEALTHY" in capsys.readouterr().err
    (run,) = find_runs([tmp_path / "lit.traindx"])
    assert len(run.series["train_loss"]) == 160
    assert len(run.series["val_acc"]) == 8
    assert run.config["settings.hparams.lr"] == 0.01
    assert run.config["settings.trainer.max_steps"] == 160


def test_parameters_the_optimiser_does_not_know_are_named(tmp_path: Path) -> None:
    from traindx.lightning import TraindxCallback

    callback = TraindxCallback(to=tmp_path / "lit.traindx", report=False)
    fit("body", callback)
    assert callback.diagnosis.hypotheses[0].cause == "params-not-in-optimizer"


def test_an_exception_ends_the_recording_and_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from traindx.lightning import TraindxCallback

    with pytest.raises(RuntimeError, match="oh"):
        fit("crash", TraindxCallback(to=tmp_path / "lit.traindx"))
    assert "recorded in" in capsys.readouterr().err
    (run,) = find_runs([tmp_path / "lit.traindx"])
    assert ("traceback", "RuntimeError: oh") in [(event.kind, event.text) for event in run.events]


def test_it_comes_by_itself_only_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRAINDX_RECORD", raising=False)
    for asked in ("", "1"):
        monkeypatch.setenv("TRAINDX", asked)
        trainer = L.Trainer(logger=False, enable_checkpointing=False, enable_progress_bar=False, accelerator="cpu")
        assert any(type(one).__name__ == "TraindxCallback" for one in trainer.callbacks) == bool(asked)
