"""Steps that are only noted and told together: nothing of them is lost, and what is not like them is told at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from traindx.live.budget import Budget
from traindx.live.hub import Hub
from traindx.live.observer import Observer, on_every_step
from traindx.live.observers import observers
from traindx.live.store import Store
from traindx.readers.find import find_runs
from traindx.run import Run

RESTS_FROM = 10


@pytest.fixture(autouse=True)
def resting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step from the eleventh on is like those before."""
    monkeypatch.setattr(Budget, "wants_rest", lambda self, step, now, resting: step > RESTS_FROM)
    monkeypatch.setattr(Budget, "allows_deep", lambda self, step, now: step < 3)


def recorded(folder: Path, train: Callable[[Hub], None], *more: type[Observer]) -> Run:
    hub = Hub(lambda: Store(folder / "r.traindx"), [*observers().values(), *more], 0.01, None)
    hub.attach()
    try:
        train(hub)
    finally:
        hub.detach()
    return find_runs([folder / "r.traindx"])[0]


def update(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> float:
    loss = functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def points(run: Run, name: str) -> dict[int, float]:
    series = run.series[name]
    return {int(step): float(value) for step, value in zip(series.steps, series.values, strict=True)}


def test_every_loss_rate_and_time_is_recorded(tmp_path: Path) -> None:
    losses: dict[int, float] = {}
    told: list[int] = []

    def train(hub: Hub) -> None:
        model = torch.nn.Linear(4, 3)
        optimizer = torch.optim.SGD([{"params": [model.weight]}, {"params": [model.bias], "lr": 0.01}], lr=0.1)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
        for step in range(60):
            both = []
            for _ in range(2 if step == 40 else 1):
                loss = functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 3))
                both.append(loss.item())
                loss.backward()
            losses[step] = sum(both) / len(both)
            told.append(hub.step)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()

    run = recorded(tmp_path, train)
    assert told == list(range(60))
    assert points(run, "train_loss") == pytest.approx(losses)
    assert points(run, "lr") == pytest.approx({step: 0.1 / (1 + step) for step in range(60)})
    assert points(run, "lr/group1") == pytest.approx({step: 0.01 / (1 + step) for step in range(60)})
    assert {step for step, value in points(run, "step_time").items() if value > 0} >= set(range(4, 60))


def test_a_nan_is_told_at_once_with_its_batch(tmp_path: Path) -> None:
    inputs = torch.randn(400, 4)
    inputs[4 * 37 + 2] = math.nan
    data = TensorDataset(inputs, torch.randn(400, 1))
    died: list[int] = []

    def train(hub: Hub) -> None:
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for x, y in DataLoader(data, batch_size=4):
            functional.mse_loss(model(x), y).backward()
            if not died and "nonfinite-inputs" in hub.found:
                died.append(hub.step)
            optimizer.step()
            optimizer.zero_grad()

    run = recorded(tmp_path, train)
    assert died == [37]
    fact = run.facts["nonfinite-inputs"]
    assert fact.present
    assert fact.step == 37
    assert "sample 150 of the data set" in fact.evidence


def test_an_evaluation_in_between_is_told(tmp_path: Path) -> None:
    held: list[float] = []

    def train(hub: Hub) -> None:
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(50):
            update(model, optimizer)
            if step in (20, 33):
                with torch.no_grad():
                    held.append(functional.mse_loss(model(torch.ones(8, 4)), torch.ones(8, 1)).item())

    run = recorded(tmp_path, train)
    assert list(points(run, "val_loss").values()) == pytest.approx(held)
    assert len(points(run, "train_loss")) == 50


def test_two_optimisers_in_turn_are_kept_apart(tmp_path: Path) -> None:
    losses: tuple[list[float], list[float]] = ([], [])

    def train(hub: Hub) -> None:
        models = [torch.nn.Linear(4, 1) for _ in range(2)]
        optimizers = [torch.optim.SGD(model.parameters(), lr=0.01) for model in models]
        for step in range(60):
            model, optimizer = models[step % 2], optimizers[step % 2]
            losses[step % 2].append(update(model, optimizer))

    run = recorded(tmp_path, train)
    assert list(points(run, "train_loss").values()) == pytest.approx(losses[0])
    assert list(points(run, "train_loss/optimizer1").values()) == pytest.approx(losses[1])


def test_whoever_must_hear_every_step_still_does(tmp_path: Path) -> None:
    heard: list[int] = []

    class Hears(Observer):
        @on_every_step
        def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
            heard.append(self.hub.step)

    def train(hub: Hub) -> None:
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(40):
            update(model, optimizer)

    recorded(tmp_path, train, Hears)
    assert heard == list(range(40))
