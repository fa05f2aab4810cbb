"""What checkpoints of healthy and of broken trainings prove: every fault is found, and nothing is claimed of the
healthy ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoint_files import INPUTS, cnn, fit, mlp, saved, trained, write_safetensors
from torch import nn

from traindx.checkpoints.find import open_checkpoint
from traindx.checkpoints.findings import facts
from traindx.checkpoints.layers import measured
from traindx.run import Fact

Saved = dict[str, Any]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def facts_of(tmp_path: Path, after: Saved, before: Saved | None = None) -> dict[str, Fact]:
    torch.save(after, tmp_path / "after.pt")
    earlier = None
    if before is not None:
        torch.save(before, tmp_path / "before.pt")
        earlier = open_checkpoint(tmp_path / "before.pt")
    return {fact.id: fact for fact in facts(measured(open_checkpoint(tmp_path / "after.pt"), earlier))}


def present(found: dict[str, Fact]) -> list[str]:
    return sorted(identifier for identifier, fact in found.items() if fact.present)


def lstm() -> nn.Module:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTM(8, 48, batch_first=True)
            self.embed = nn.Embedding(50, 8)
            self.head = nn.Linear(48, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.head(self.cell(x.view(-1, 8, 8))[0][:, -1])
            return out

    return Net()


def transformer() -> nn.Module:
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return nn.Sequential(nn.Unflatten(1, (1, 64)), nn.TransformerEncoder(layer, 2), nn.Flatten(), nn.Linear(64, 4))


HEALTHY: dict[str, Callable[[], Saved]] = {
    "Adam": lambda: trained(mlp()),
    "SGD, small rate, wide": lambda: trained(mlp(512), torch.optim.SGD, lr=1e-3),
    "strong decay": lambda: trained(mlp(), torch.optim.AdamW, 60, weight_decay=0.5),
    "batch norm": lambda: trained(cnn(), torch.optim.SGD, lr=0.05, momentum=0.9),
    "recurrent": lambda: trained(lstm()),
    "transformer": lambda: trained(transformer(), torch.optim.AdamW),
    "just made": lambda: saved(mlp(), torch.optim.Adam(mlp().parameters()), 0),
    "weights alone, just made": lambda: dict(cnn().state_dict()),
    "weights alone": lambda: dict(trained(cnn())["model"]),
    "zero at the end of a branch": lambda: {**trained(mlp())["model"], "branch.weight": torch.zeros(64, 64)},
    "an attention mask among the weights": lambda: {
        **trained(mlp())["model"], "mask": torch.full((64, 64), float("-inf")).triu(1)
    },
    "half precision, ordinary rate": lambda: bfloat(1e-2),
}  # fmt: skip


def bfloat(rate: float) -> Saved:
    model = mlp().to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    fit(model, optimizer, 40, INPUTS.to(torch.bfloat16))
    return saved(model, optimizer, 40)


@pytest.mark.parametrize("kind", HEALTHY)
def test_nothing_is_claimed_of_healthy_checkpoints(tmp_path: Path, kind: str) -> None:
    assert present(facts_of(tmp_path, HEALTHY[kind]())) == []


def part(layers: Callable[[nn.Sequential], list[nn.Parameter]]) -> Saved:
    model = mlp()
    optimizer = torch.optim.Adam(layers(model), lr=1e-3)
    fit(model, optimizer, 40)
    return saved(model, optimizer, 40)


def constant() -> Saved:
    model = mlp()
    for parameter in model.parameters():
        nn.init.constant_(parameter, 0.01)
    return trained(model)


def broken() -> Saved:
    return trained(mlp(), torch.optim.SGD, lr=1e5)


def rebuilt() -> Saved:
    model = mlp()
    trained(model, steps=40)
    return {**trained(model, steps=1), "step": 4000}


def in_eval_mode() -> Saved:
    return trained(cnn().eval())


def nan_moments() -> Saved:
    whole = trained(mlp())
    whole["optimizer"]["state"][2]["exp_avg"][3, 4] = float("nan")
    return whole


def nan_statistics() -> Saved:
    whole = trained(cnn())
    next(value for name, value in whole["model"].items() if name.endswith("running_var"))[2] = float("inf")
    return whole


FAULTS: dict[str, tuple[Callable[[], Saved], list[str]]] = {
    "the first layer is not in the optimiser": (lambda: part(lambda m: [*m[2].parameters(), *m[4].parameters()]),
                                                ["weights-at-start"]),
    "only the head is trained": (lambda: part(lambda m: [*m[4].parameters()]), ["weights-at-start"]),
    "all weights equal": (constant, ["equal-initial-weights"]),
    "diverged": (broken, ["nonfinite-weight"]),
    "optimiser built anew": (rebuilt, ["optimizer-rebuilt"]),
    "trained in eval mode": (in_eval_mode, ["trained-in-eval-mode"]),
    "weights alone of a model trained in eval mode": (lambda: dict(in_eval_mode()["model"]), ["trained-in-eval-mode"]),
    "half precision, tiny rate": (lambda: bfloat(1e-5), ["updates-lost-to-rounding"]),
    "a gradient was NaN": (nan_moments, ["nonfinite-gradient"]),
    "an activation was infinite": (nan_statistics, ["nonfinite-activation"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_are_found(tmp_path: Path, kind: str) -> None:
    make, wanted = FAULTS[kind]
    found = facts_of(tmp_path, make())
    seen = present(found)
    assert set(wanted) <= set(seen), {identifier: fact.evidence for identifier, fact in found.items()}
    assert set(seen) - set(wanted) <= {"nonfinite-gradient"}  # a NaN weight may come with a NaN moment


def test_two_checkpoints(tmp_path: Path) -> None:
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    fit(model, optimizer, 30)
    early = saved(model, optimizer, 30)
    early["model"] = {name: weight.clone() for name, weight in early["model"].items()}
    fit(model, optimizer, 30)
    late = saved(model, optimizer, 60)
    moved = facts_of(tmp_path, late, early)
    assert not moved["unchanged-weights"].present
    assert present(moved) == []
    stuck = facts_of(tmp_path, {**early, "step": 60}, early)
    assert stuck["unchanged-weights"].present
    assert "unchanged-weights" not in facts_of(tmp_path, early, early), "a checkpoint beside itself says nothing"
    head_only = part(lambda m: [*m[4].parameters()])
    start = {**head_only, "model": {**head_only["model"], "4.weight": torch.randn(4, 96)}, "step": 0}
    assert facts_of(tmp_path, head_only, start)["unchanged-weights"].clarity == 0.9


@pytest.mark.parametrize(("zero", "step"), [(True, 50), (True, None), (False, 50)])
def test_an_adapter_at_zero(tmp_path: Path, zero: bool, step: int | None) -> None:
    state = {}
    for layer in range(3):
        state[f"base.h.{layer}.lora_A.weight"] = torch.randn(4, 64)
        state[f"base.h.{layer}.lora_B.weight"] = torch.zeros(64, 4) if zero else torch.randn(64, 4) * 1e-3
    found = facts_of(tmp_path, {"model": state, **({} if step is None else {"step": step})})
    assert found["adapter-at-zero"].present is zero


@pytest.mark.parametrize(("told", "same", "state"), [(True, False, True), (True, True, False), (False, False, None)])
def test_tied_weights(tmp_path: Path, told: bool, same: bool, state: bool | None) -> None:
    embedding = np.random.default_rng(0).normal(size=(50, 16)).astype(np.float32)
    head = embedding if same else embedding[::-1]
    write_safetensors(tmp_path / "model.safetensors", {"model.embed_tokens.weight": embedding, "lm_head.weight": head})
    (tmp_path / "config.json").write_text(json.dumps({"tie_word_embeddings": told}))
    found = {fact.id: fact for fact in facts(measured(open_checkpoint(tmp_path)))}
    fact = found.get("tied-weights-apart")
    assert (None if fact is None else fact.present) is state


def test_a_script_that_counts_batches_is_not_blamed(tmp_path: Path) -> None:
    """'step' may count batches of an accumulated gradient: forty updates in 640 batches are in order."""
    assert "optimizer-rebuilt" not in present(facts_of(tmp_path, {**trained(mlp()), "step": 640}))
