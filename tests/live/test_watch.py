"""`traindx.watch` around a training in one's own code."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import traindx
from traindx.errors import TraindxError
from traindx.live.events.criteria import KERNELS
from traindx.live.events.instrument import Criterion, Observer


def train(model: torch.nn.Module, steps: int = 120) -> float:
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    x = torch.randn(64, 4)
    y = (x.sum(1) > 0).long()
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def model(*last: torch.nn.Module) -> torch.nn.Module:
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2), *last)


def test_a_healthy_training_is_healthy_and_unchanged(tmp_path: Path) -> None:
    bare = train(model())
    watched = model()
    with traindx.watch(watched, to=tmp_path / "w.traindx") as dx:
        assert train(watched) == bare
    assert dx.diagnose().verdict == "healthy"


def test_a_fault_is_named_and_the_page_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faulty = model(torch.nn.Softmax(dim=1))
    with traindx.watch(faulty, to=tmp_path / "w.traindx") as dx:
        train(faulty)
        page = dx.report()
    assert page.hypotheses[0].cause == "softmax-before-cross-entropy"
    assert "softmax" in capsys.readouterr().out


def test_loss_functions_taken_from_torch_before_the_watch_are_seen(tmp_path: Path) -> None:
    held = {name: getattr(torch.nn.functional, name) for name in KERNELS}
    calls = []

    class Listener(Observer):
        def on_criterion(self, call: Criterion) -> None:
            calls.append((call.name, call.options.get("reduction", "mean"), call.output.shape))

    with traindx.watch(to=tmp_path / "w.traindx") as dx:
        assert dx._hub is not None
        dx._hub.add(Listener(dx._hub))
        scores = torch.rand(8, 3, requires_grad=True)
        for name, function in held.items():
            labelled = name in ("cross_entropy", "nll_loss")
            function(scores, torch.zeros(8, dtype=torch.long) if labelled else torch.zeros(8, 3), reduction="sum")
        torch.nn.functional.cross_entropy(scores, torch.zeros(8, dtype=torch.long))
    assert calls == [*((name, "sum", ()) for name in held), ("cross_entropy", "mean", ())]
    assert torch.nn.functional.cross_entropy is held["cross_entropy"]


def test_an_exception_passes_through_and_nothing_recorded_is_said(tmp_path: Path) -> None:
    before = torch.autograd.backward
    with pytest.raises(ZeroDivisionError), traindx.watch(to=tmp_path / "w.traindx"):
        _ = 1 / 0
    assert torch.autograd.backward is before
    with traindx.watch(to=tmp_path / "empty.traindx") as dx, pytest.raises(TraindxError, match="Nothing was recorded"):
        dx.diagnose()
