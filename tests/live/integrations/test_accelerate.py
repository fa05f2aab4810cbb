"""The Accelerate tracker around a real, tiny training."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_task import CLASSES, INPUTS, TRAINED, task

from traindx.readers.find import find_runs

pytest.importorskip("accelerate")
accelerate: Any = importlib.import_module("accelerate")


def fit(*last: torch.nn.Module, tracker: Any = None) -> list[torch.Tensor]:
    torch.manual_seed(0)
    x, y = (torch.from_numpy(part) for part in task())
    accelerator = accelerate.Accelerator(cpu=True, log_with=tracker)
    accelerator.init_trackers("toy", config={"lr": 0.01, "kind": "toy"})
    model = torch.nn.Sequential(torch.nn.Linear(INPUTS, 16), torch.nn.ReLU(), torch.nn.Linear(16, CLASSES), *last)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(x[:TRAINED], y[:TRAINED])
    loader = torch.utils.data.DataLoader(data, 32, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(8):
        for inputs, classes in loader:
            optimizer.zero_grad()
            accelerator.backward(torch.nn.functional.cross_entropy(model(inputs), classes))
            optimizer.step()
        with torch.no_grad():
            right = (model(x[TRAINED:]).argmax(1) == y[TRAINED:]).float().mean().item()
        accelerator.log({"eval_accuracy": right}, step=epoch)
    accelerator.end_training()
    return [parameter.detach().clone() for parameter in model.parameters()]


def test_healthy_is_healthy_and_unchanged_and_a_fault_is_named(tmp_path: Path) -> None:
    from traindx.accelerate import TraindxTracker

    bare = fit()
    tracker = TraindxTracker(to=tmp_path / "acc.traindx")
    weights = fit(tracker=tracker)
    assert all(torch.equal(one, other) for one, other in zip(bare, weights, strict=True))
    assert tracker.diagnosis.verdict == "healthy"
    (run,) = find_runs([tmp_path / "acc.traindx"])
    assert len(run.series["train_loss"]) == 160
    assert len(run.series["eval_accuracy"]) == 8
    assert run.config["settings.kind"] == "toy"

    faulty = TraindxTracker(to=tmp_path / "softmax.traindx", report=False)
    fit(torch.nn.Softmax(dim=1), tracker=faulty)
    assert faulty.diagnosis.hypotheses[0].cause == "softmax-before-cross-entropy"
