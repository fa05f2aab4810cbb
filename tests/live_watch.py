"""Trainings watched in this process, for the tests of observers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from traindx.diagnosis import Observation
from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.live.instruments.objective import Objective
from traindx.live.recording.store import Store
from traindx.readers.find import find_runs
from traindx.run import Run
from traindx.signals import Signals
from traindx.symptoms import symptoms
from traindx.symptoms.observed import FromMeasurements


def watch(folder: Path, train: Callable[[], object], *kinds: type[Observer], budget: float = 10.0) -> Run:
    """Run a training under these observers; the budget makes every step one that is looked at closely."""
    kinds = (Objective, *kinds)
    hub = Hub(lambda: Store(folder / "r.traindx"), kinds, budget, None)
    hub.attach()
    hub.cut_short = True  # these trainings are short on purpose
    try:
        torch.manual_seed(0)
        train()
        dropped = {kind.__name__ for kind in kinds} - {type(observer).__name__ for observer in hub._observers}
    finally:
        hub.detach()
    assert not dropped, f"stopped watching: {dropped}"
    (run,) = find_runs([folder / "r.traindx"])
    return run


def judged(run: Run) -> dict[str, Observation]:
    """What the symptoms say of what was measured, without the curves."""
    detectors = (one.detect for one in symptoms().values() if isinstance(one.detect, FromMeasurements))
    found = (detector.judged(Signals(run)) for detector in detectors)
    return {one.id: one for one in found if one is not None}


def present(run: Run) -> set[str]:
    stated = {fact.id for fact in run.facts.values() if fact.present}
    return stated | {one.id for one in judged(run).values() if one.state == "present"}


def mlp(*extra: torch.nn.Module, act: type[torch.nn.Module] = torch.nn.ReLU) -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Linear(8, 16), act(), torch.nn.Linear(16, 16), act(), torch.nn.Linear(16, 3), *extra
    )


def batch(rows: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(rows, 8)
    return x, x[:, :3].argmax(1)


def fit(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: int = 8, clear: Callable[[], object] | None = None
) -> None:
    """The plainest loop there is."""
    for _ in range(steps):
        x, y = batch()
        (clear or optimizer.zero_grad)()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
