"""The recorder holds its budget, and what it leaves out then."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from traindx.live.events.budget import FEWEST_LIGHT, FIRST_DEEP, FIRST_LIGHT, FULL_STEPS, MOST_BEGINNINGS, Budget
from traindx.live.events.hub import Hub
from traindx.live.events.instrument import (
    Criterion,
    Observer,
    on_deep_steps,
    on_deep_steps_and_evaluation,
    on_every_step,
)
from traindx.live.instruments import observers
from traindx.live.measures.autopsy import risky
from traindx.live.measures.routes import Routes
from traindx.live.recording.store import Store, _identity
from traindx.readers.find import find_runs


class Counts(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self.every: list[int] = []
        self.light: list[int] = []
        self.deep: list[int] = []
        self.evaluated: list[int] = []
        self.returned = 0

    @on_every_step
    def on_backward(self, loss: torch.Tensor) -> None:
        self.every.append(self.hub.step)

    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        self.light.append(self.hub.step)

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self.deep.append(self.hub.step)

    @on_deep_steps_and_evaluation
    def on_criterion(self, call: Criterion) -> None:
        if not call.output.requires_grad:
            self.evaluated.append(self.hub.step)


def watched(folder: Path, budget: float, *kinds: type[Observer]) -> Hub:
    hub = Hub(lambda: Store(folder / "r.traindx"), kinds, budget, None)
    hub.attach()
    return hub


def train(steps: int, evaluate_at: int = -1) -> None:
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.ones(2, 4), torch.zeros(2, 3)
    for step in range(steps):
        if step == evaluate_at:
            with torch.no_grad():
                functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        functional.mse_loss(model(x), y).backward()
        optimizer.step()


def test_without_a_budget_to_spend_only_the_loss_is_seen_in_every_step(tmp_path: Path) -> None:
    hub = watched(tmp_path, 1e-9, Counts)
    try:
        train(10 * FIRST_LIGHT, evaluate_at=FIRST_LIGHT + 60)
        (counts,) = hub._observers
        assert isinstance(counts, Counts)
        assert counts.every == list(range(10 * FIRST_LIGHT))
        assert counts.deep == list(range(FIRST_DEEP))
        assert counts.light[:FIRST_LIGHT] == list(range(FIRST_LIGHT))
        later = [step for step in counts.light if step > FIRST_LIGHT + FULL_STEPS]
        assert 0 < len(later) < 0.3 * 10 * FIRST_LIGHT  # a look now and then
        assert counts.evaluated == [FIRST_LIGHT + 60]  # no evaluation is missed,
        assert FIRST_LIGHT + 60 in counts.light  # and the step after it is told to everybody
    finally:
        hub.detach()


def test_the_first_steps_of_a_new_optimiser_are_looked_at_and_not_those_of_one_in_every_epoch(tmp_path: Path) -> None:
    hub = watched(tmp_path, 1e-9, Counts)
    try:
        for _ in range(2 * MOST_BEGINNINGS):
            train(30)
        (counts,) = hub._observers
        assert isinstance(counts, Counts)
        later = [30 * part + step for part in range(1, MOST_BEGINNINGS) for step in range(1, FIRST_DEEP)]
        assert counts.deep == [*range(FIRST_DEEP), *later]
    finally:
        hub.detach()


def test_a_large_budget_looks_at_everything(tmp_path: Path) -> None:
    hub = watched(tmp_path, 10.0, Counts)
    try:
        train(3 * FIRST_LIGHT)
        (counts,) = hub._observers
        assert isinstance(counts, Counts)
        assert counts.deep == counts.light == counts.every == list(range(3 * FIRST_LIGHT))
    finally:
        hub.detach()


def test_looks_that_are_always_cheap_enough_leave_some_steps_alone() -> None:
    budget = Budget(0.3)
    budget.began -= 1000.0
    seen = [step for step in range(60) if budget.allows_deep(step, budget.began + 1000.0)]
    assert seen[:FIRST_DEEP] == list(range(FIRST_DEEP))
    undisturbed = set(range(60)) - set(seen)
    assert len(undisturbed) >= 15  # whose time is the training's own
    assert {step % 2 for step in undisturbed} == {step % 2 for step in seen} == {0, 1}  # of two optimisers in turn both


def test_shares_of_the_budget() -> None:
    budget = Budget(0.01)
    budget.began -= 100.0  # a second may be spent
    now = budget.began + 100.0
    assert budget.allows_deep(1000, now)
    budget.spend(0.51, "deep")
    assert not budget.allows_deep(1000, now)
    assert not budget.wants_rest(7 * FIRST_LIGHT, now, resting=True)
    budget.spend(0.31, "light")
    budget.wants_rest(7 * FIRST_LIGHT, now, resting=False)  # the look that is due in any case
    assert budget.wants_rest(7 * FIRST_LIGHT + 7, now, resting=False)
    assert abs(budget.cost - 0.0082) < 1e-4


def test_the_loss_of_every_step_and_the_cost_are_in_the_recording(tmp_path: Path) -> None:
    hub = watched(tmp_path, 1e-9, *observers().values())
    hub.cut_short = True
    train(3 * FIRST_LIGHT)
    hub.detach()
    (run,) = find_runs([tmp_path / "r.traindx"])
    assert run.series["train_loss"].steps.tolist() == list(range(3 * FIRST_LIGHT))
    assert 0 < run.config["recording.cost"] < 1


def test_a_process_that_forks_off_is_left_alone(tmp_path: Path) -> None:
    hub = watched(tmp_path, 0.01, Counts)
    try:
        train(1)
        child = os.fork()
        if child == 0:
            os._exit(0 if hub.inside and not hub.working else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert hub.working
    finally:
        hub.detach()


def test_warnings_of_torch_show_the_users_line_and_keywords_pass(tmp_path: Path) -> None:
    def lines() -> list[tuple[str, int]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            functional.mse_loss(torch.zeros(3, 1), torch.zeros(3))
            functional.l1_loss(input=torch.zeros(3, 1), target=torch.zeros(3))
            torch.nn.MSELoss()(torch.zeros(3, 1), torch.zeros(3))
            optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
            torch.optim.lr_scheduler.StepLR(optimizer, 1).step()
        return [(one.filename, one.lineno) for one in caught]

    bare = lines()
    hub = watched(tmp_path, 0.01, *observers().values())
    try:
        assert lines() == bare
        assert bare[0][0] == __file__
        scores = torch.randn(5, 1, 3).log_softmax(2)
        functional.ctc_loss(
            log_probs=scores, targets=torch.tensor([[1, 2]]), input_lengths=torch.tensor([5]),
            target_lengths=torch.tensor([2])
        )  # fmt: skip
    finally:
        hub.detach()


def test_a_disk_that_fills_up_costs_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub = watched(tmp_path, 0.01, *observers().values())
    hub.cut_short = True
    train(5)
    os.close(hub.store._file)
    hub.store._file = os.open("/dev/full", os.O_WRONLY)
    hub.store._identity = _identity(hub.store._file)
    hub.write()
    train(20)
    hub.write()
    hub.detach()
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("traindx")]
    assert len(said) == 1
    assert "no room left" in said[0]


@pytest.mark.parametrize(
    "loss",
    [
        lambda x: (x.log() / x.sqrt()).mean(),
        lambda x: functional.nll_loss((x @ x.T).log_softmax(1), torch.arange(4)) + (x**0.5).sum(),
        lambda x: torch.stack([part.sqrt().sum() for part in x]).mean() / x.sum(),
        lambda x: x.sum(),
    ],
)
def test_the_learnt_way_finds_what_a_walk_finds(loss: object) -> None:
    routes = Routes()
    for _ in range(3):
        x = torch.rand(4, 4, requires_grad=True) + 0.5
        value = loss(x)  # type: ignore[operator]
        found = routes.operands(value, far=True)
        walked = [operand for _, operand in risky(value)]
        assert [one.operation for one in found] == [one.operation for one in walked]
        assert all(torch.equal(one.tensor, other.tensor) for one, other in zip(found, walked, strict=True))
        changed = (x.exp() / (1 + x.log())).sum()
        assert [one.operation for one in routes.operands(changed, far=True)] == [
            operand.operation for _, operand in risky(changed)
        ]


def test_what_was_run_is_on_disk_within_a_second(tmp_path: Path) -> None:
    import time

    hub = watched(tmp_path, 0.01, *observers().values())
    try:
        deadline = time.monotonic() + 1.5
        while time.monotonic() < deadline:
            train(1)
            time.sleep(0.01)
        step = hub.step
        lines = (tmp_path / "r.traindx" / "rank-0.jsonl").read_text().splitlines()  # as after kill -9
        last = max(row[0] for line in lines if (entry := json.loads(line))["k"] == "rows" for row in entry["rows"])
        assert step - last < 100 * 1.0
    finally:
        hub.detach()


def test_steps_that_are_dear_to_tell_are_told_less_often() -> None:
    def told(cost: float) -> list[int]:
        """The steps that everybody is told of, where telling one takes so many seconds and the step itself 25 ms."""
        budget, resting, steps = Budget(0.01), False, []
        for step in range(2000):
            resting = budget.wants_rest(step, budget.began + 0.025 * step, resting)
            if not resting:
                budget.spend(cost, "light")
                steps.append(step)
        return steps

    cheap, dear = told(0.0005), told(0.01)
    assert set(range(FIRST_LIGHT)) <= set(cheap)
    assert set(range(FEWEST_LIGHT)) <= set(dear)
    assert not set(range(2 * FEWEST_LIGHT, FIRST_LIGHT)) & set(dear)
    assert 0 < len([step for step in dear if step > FIRST_LIGHT]) < 0.02 * 2000


def test_what_was_spent_on_anything_is_paid_back_before_the_next_look() -> None:
    budget = Budget(0.01)
    now = budget.began + 100.0
    budget.wants_rest(700, now, False)
    assert budget.allows_deep(701, now)
    assert not budget.wants_rest(707, now, False)
    budget.spend(0.95, "sample_calls")
    assert not budget.allows_deep(701, now)
    assert budget.wants_rest(714, now, False)
    assert budget.allows_deep(701, now + 10.0)
    assert not budget.wants_rest(721, now + 10.0, True)
