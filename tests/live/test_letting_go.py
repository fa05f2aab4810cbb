"""What the user lets go of is freed while the recording goes on."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from traindx.live.events.hub import Hub
from traindx.live.instruments import observers
from traindx.live.recording.async_copy import AsyncCopy
from traindx.live.recording.store import Store
from traindx.measurements import RebuiltOptimizers
from traindx.readers.find import find_runs

F = torch.nn.functional


def net() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(16, 3)
    )


def train(steps: int = 12) -> dict[str, weakref.ref[Any]]:
    """A training of its own; what it leaves are weak references to all that it made."""
    model = net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5)
    x = torch.randn(96, 8)
    data = torch.utils.data.TensorDataset(x, x[:, :3].argmax(1))
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    for _ in range(max(1, steps // 12)):
        for inputs, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), labels).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        schedule.step()
        model.eval()
        with torch.no_grad():
            F.cross_entropy(model(x), data.tensors[1])
        model.train()
    made = {"model": model, "weight": model[0].weight, "optimizer": optimizer, "schedule": schedule}  # type: ignore[index]
    return {name: weakref.ref(one) for name, one in {**made, "loader": loader, "data": data, "inputs": x}.items()}


@pytest.mark.parametrize("budget", [10.0, 0.001])
def test_a_training_that_is_over_is_freed_while_the_recording_goes_on(tmp_path: Path, budget: float) -> None:
    hub = Hub(lambda: Store(tmp_path / "r.traindx"), list(observers().values()), budget, None)
    hub.attach()
    try:
        left = train(36)
        later = train(24)  # what is held of the last step belongs to the last training
        gc.collect()
        assert {name for name, reference in left.items() if reference() is not None} == set()
        gc.collect()
        held = {name for name, reference in later.items() if reference() is not None}
        assert held <= {"inputs"}, held
    finally:
        hub.detach()


class Arriving:
    """The event of a copy from a device that takes a while."""

    def __init__(self) -> None:
        self.asked = 0

    def query(self) -> bool:
        self.asked += 1
        return self.asked > 3

    def synchronize(self) -> None:
        pass


@pytest.mark.parametrize("classes", [50, 1200])
@pytest.mark.parametrize("delayed", [False, True])
def test_scores_that_only_the_loss_needs_are_freed_before_backward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delayed: bool, classes: int
) -> None:
    """Those of a language model, turned into single precision, are gigabytes, and on a GPU looks at them are under way
    for several steps."""

    def bring_all(copies: AsyncCopy, tensors: Sequence[torch.Tensor], then: Callable[..., None]) -> None:
        copies._pending.append(([one.clone() for one in tensors], Arriving(), then))  # type: ignore[arg-type]

    if delayed:
        monkeypatch.setattr(AsyncCopy, "bring_all", bring_all)
    hub = Hub(lambda: Store(tmp_path / "r.traindx"), list(observers().values()), 10.0, None)
    hub.attach()
    held = []
    rows = 4096 if classes == 1200 else 12  # the first are more bytes than may be held for a step
    try:
        model = torch.nn.Sequential(torch.nn.Embedding(classes, 16), torch.nn.Linear(16, classes))
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(8 if rows > 12 else 20):
            tokens = torch.randint(0, classes, (rows,))
            scores = model(tokens) * 1.0
            storage = scores.untyped_storage().data_ptr()
            loss = F.cross_entropy(scores, tokens)
            left = weakref.ref(scores)
            del scores
            held.append(left() is not None or (rows > 12 and storage in storages()))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    finally:
        hub.detach()
    assert not any(held)


def storages() -> set[int]:
    return {one.untyped_storage().data_ptr() for one in gc.get_objects() if type(one) is torch.Tensor}


def test_what_is_learned_of_a_model_is_kept_when_it_goes(tmp_path: Path) -> None:
    """Its weights are looked at in the moment they are let go, and the next training is told apart from it."""
    hub = Hub(lambda: Store(tmp_path / "r.traindx"), list(observers().values()), 0.001, None)
    hub.attach()
    hub.cut_short = True
    try:
        for _ in range(4):  # four optimisers over four sets of weights, maybe in the same place: none is rebuilt
            train(48)
    finally:
        hub.detach()
    (run,) = find_runs([tmp_path / "r.traindx"])
    assert max(one.rebuilt for one in run.measured[0].all(RebuiltOptimizers)) == 0
    assert run.series["weight_travel"].steps[-1] == 48
    assert {"train_loss", "train_loss/optimizer1", "train_loss/optimizer2"} <= set(run.series)
    assert not [fact.id for fact in run.facts.values() if fact.present and fact.id == "validation-seen-in-training"]
