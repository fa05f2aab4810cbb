"""The hub in one process: events, guards, and nothing left behind."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest
import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer
from traindx.live.recording.store import Store, _identity
from traindx.measurements import SCHEMA
from traindx.readers.find import find_runs
from traindx.signals import Signals
from traindx.symptoms import symptoms


class Notes(Observer):
    seen: list[str]

    def attach(self) -> None:
        self.seen = []

    def on_criterion(self, call: Criterion) -> None:
        self.seen.append(f"criterion {call.name} {Path(call.where.split(':')[0]).name}")

    def on_backward(self, loss: torch.Tensor) -> None:
        self.seen.append("backward")

    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        self.seen.append("step")

    def on_forward(self, model: torch.nn.Module, args: object, kwargs: object, output: object) -> None:
        self.seen.append(f"forward {type(model).__name__}")

    def on_module(self, module: torch.nn.Module, name: str, args: object, output: object) -> None:
        self.seen.append(f"layer {name}")


class Broken(Observer):
    def on_backward(self, loss: torch.Tensor) -> None:
        raise RuntimeError("our own mistake")


def watched(tmp_path: Path, *kinds: type[Observer]) -> Hub:
    hub = Hub(lambda: Store(tmp_path / "r.traindx"), kinds, 0.01, None)
    hub.attach()
    return hub


def one_step() -> float:
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = torch.nn.functional.mse_loss(model(torch.ones(2, 4)), torch.zeros(2, 3))
    loss.backward()
    optimizer.step()
    return loss.item()


def test_events_come_in_order_and_name_the_users_line(tmp_path: Path) -> None:
    hub = watched(tmp_path, Notes)
    try:
        one_step()
        (notes,) = hub._observers
        assert notes.seen == [  # type: ignore[attr-defined]
            "layer 0", "layer 1", "layer Sequential", "forward Sequential", "criterion mse_loss test_hub.py",
            "backward", "step",
        ]  # fmt: skip
    finally:
        hub.detach()


def test_everything_is_put_back(tmp_path: Path) -> None:
    before = (torch.autograd.backward, torch.nn.functional.cross_entropy, torch.utils.data.DataLoader.__iter__)
    finders = list(sys.meta_path)
    hub = watched(tmp_path, Notes)
    hub.after_import("a_module_that_is_never_imported", lambda: None)
    assert torch.autograd.backward is not before[0]
    hub.detach()
    after = (torch.autograd.backward, torch.nn.functional.cross_entropy, torch.utils.data.DataLoader.__iter__)
    assert after == before
    assert not torch.nn.modules.module._global_forward_hooks
    assert not torch.nn.modules.module._global_forward_pre_hooks
    assert sys.meta_path == finders


def test_a_fault_of_ours_ends_that_observer_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = one_step()
    hub = watched(tmp_path, Broken, Notes)
    try:
        assert one_step() == plain
        assert one_step() == plain
        assert capsys.readouterr().err.count("Broken stopped watching (RuntimeError: our own mistake)") == 1
        assert len(hub._observers) == 1
    finally:
        hub.detach()


def test_models_can_be_copied_and_pickled_while_watched(tmp_path: Path) -> None:
    import copy
    import pickle

    hub = watched(tmp_path, Notes)
    try:
        model = torch.nn.Linear(2, 2)
        model(torch.ones(1, 2))
        assert not model._forward_hooks
        pickle.loads(pickle.dumps(model))
        copy.deepcopy(model)
    finally:
        hub.detach()


def test_a_recording_cut_off_anywhere_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    store = Store(tmp_path / "r.traindx")
    store.line("meta", schema="traindx.recording/2", argv=["train.py"])
    for step in range(100):
        store.row(step, {"train_loss": 2.0 / (step + 1), "lr": 0.1})
        if step % 10 == 0:
            store.flush()
    store.close()
    whole = store.path.read_bytes()
    for cut in range(len(whole) // 3, len(whole), 500):
        store.path.write_bytes(whole[:cut])
        (run,) = find_runs([tmp_path / "r.traindx"])
        assert len(run.series["train_loss"]) >= 10
        assert run.series["train_loss"].values[0] == 2.0


def test_a_full_disk_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = [10_000]

    def write(file: int, data: bytes) -> int:
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(file, bytes(data[: room[0]]))
        room[0] -= written
        return written

    real = os.write
    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr("traindx.live.recording.store.MOST_WAITING", 20_000)
    store = Store(tmp_path / "r.traindx")
    store.line("meta", schema=SCHEMA, pid=os.getpid())
    for step in range(1000):
        if step == 900:
            room[0] = 10**9
        store.row(
            step, {"train_loss": 1.0 / (step + 1), **{f"layer_{number}": step + number / 7 for number in range(20)}}
        )
        store.flush()
        assert store.broken is None
        assert store.full == (100 <= step < 900) or step < 100
    store.end()
    (run,) = find_runs([tmp_path / "r.traindx"])
    steps = list(run.series["layer_3"].steps)
    assert steps[:50] == list(range(50))  # written before, or kept until there was room
    assert steps[-90:] == list(range(910, 1000))  # nothing is missing after that
    (lost,) = run.lost
    assert "disk was full" in lost
    assert not any(event.kind == "killed" for event in run.events)


def test_a_script_that_closes_every_file_does_not_get_our_lines_into_its_own(tmp_path: Path) -> None:
    store = Store(tmp_path / "r.traindx")
    store.line("meta", schema=SCHEMA, pid=os.getpid())
    store.flush()
    os.close(store._file)
    with open(tmp_path / "theirs", "w") as theirs:
        assert theirs.fileno() == store._file
        for step in range(20):
            store.row(step, {"train_loss": 1.0 / (step + 1)})
        store.flush()
        store.end()
        theirs.write("mine")
    assert (tmp_path / "theirs").read_text() == "mine"
    assert len(find_runs([tmp_path / "r.traindx"])[0].series["train_loss"]) == 20


def test_an_error_of_the_disk_ends_the_recording_quietly(tmp_path: Path) -> None:
    store = Store(tmp_path / "r.traindx")
    os.close(store._file)
    store._file = os.open(os.devnull, os.O_RDONLY)
    store._identity = _identity(store._file)
    store.row(1, {"train_loss": 1.0})
    store.flush()
    assert store.broken is not None
    store.row(2, {"train_loss": 1.0})
    store.close()


def test_a_training_that_ends_after_a_handful_of_updates_is_told(tmp_path: Path) -> None:
    from traindx.live.instruments.objective import Objective

    hub = watched(tmp_path, Objective)
    for _ in range(10):
        one_step()
    hub.detach()
    (run,) = find_runs([tmp_path / "r.traindx"])
    assert symptoms()["few-updates"].detect(Signals(run)).state == "present"
