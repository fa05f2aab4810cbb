"""Steps that are only noted and told together: nothing of them is lost, and what is not like them is told at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from traindx.live.events.budget import Budget
from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_every_step
from traindx.live.instruments import observers
from traindx.live.recording.store import Store
from traindx.live.recording.values import Number, Values
from traindx.readers.find import find_runs
from traindx.run import Run
from traindx.signals import Signals
from traindx.symptoms import nonfinite_inputs

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
            if not died and (hub.store.folder / "batches").exists():
                died.append(hub.step)
            optimizer.step()
            optimizer.zero_grad()

    run = recorded(tmp_path, train)
    assert died == [37]
    fact = nonfinite_inputs.SYMPTOM.detect(Signals(run))
    assert fact.state == "present"
    assert fact.steps == (37, 37)
    assert "sample 150 of the data set" in fact.evidence


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses are on a device whose numbers come some polls after they were asked for."""
    waiting: list[list[tuple[Number, float]]] = [[]]
    real = Values.poll

    def fetch(self: Values, tensor: torch.Tensor) -> Number:
        number = Number()
        waiting[-1].append((number, tensor.item()))
        return number

    def poll(self: Values, *, wait: bool = False) -> None:
        waiting.append([])
        while len(waiting) > (0 if wait else 3):
            for number, value in waiting.pop(0):
                number.value = value
        if wait:
            waiting.append([])
        real(self, wait=wait)

    monkeypatch.setattr(Values, "fetch", fetch)
    monkeypatch.setattr(Values, "poll", poll)


@pytest.mark.usefixtures("far")
def test_losses_on_a_device_are_recorded_when_they_arrive(tmp_path: Path) -> None:
    losses: dict[int, float] = {}
    calls: list[int] = []

    def train(hub: Hub) -> None:
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        told = hub._tell
        hub._tell = lambda *given: (calls.append(hub.step), told(*given))[1]  # type: ignore[method-assign]
        for step in range(80):
            losses[step] = update(model, optimizer)

    run = recorded(tmp_path, train)
    assert points(run, "train_loss") == pytest.approx(losses)
    assert set(range(20, 80)) - set(calls), "no step at all was told together with others"


@pytest.mark.usefixtures("far")
def test_a_nan_that_is_heard_of_later_is_traced_to_its_batch(tmp_path: Path) -> None:
    inputs = torch.randn(400, 4)
    inputs[4 * 37 + 2] = math.nan
    data = TensorDataset(inputs, torch.randn(400, 1))

    def train(hub: Hub) -> None:
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for x, y in DataLoader(data, batch_size=4):
            functional.mse_loss(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()

    fact = nonfinite_inputs.SYMPTOM.detect(Signals(recorded(tmp_path, train)))
    assert fact.state == "present"
    assert fact.evidence.startswith("The loss of update 38 is not finite")
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


def test_gradients_switched_off_within_an_update_are_no_evaluation(tmp_path: Path) -> None:
    samples: list[bool] = []

    def train(hub: Hub) -> None:
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, foreach=True)
        hub.sample_calls = lambda *, evaluation: samples.append(evaluation)  # type: ignore[method-assign]
        for _ in range(60):
            functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

    recorded(tmp_path, train)
    assert True not in samples
