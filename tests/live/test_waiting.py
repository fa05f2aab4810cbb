"""Waits for a GPU that is not there: torch's sync debug mode is played by a stand-in that warns as torch does."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
import torch

from live_watch import batch, mlp, watch
from traindx.diagnosis import Observation
from traindx.live.events import syncs
from traindx.live.events.hub import Hub
from traindx.live.events.syncs import Syncs
from traindx.live.instruments.timing import Timing
from traindx.live.instruments.waiting import Waiting
from traindx.live.recording.store import Store
from traindx.measurements import BatchTransfers, HostWaits, Measured
from traindx.run import Run
from traindx.signals import Signals
from traindx.symptoms import slow_transfer, waits_for_device

pytestmark = pytest.mark.filterwarnings("default")  # what is looked at comes as warnings

TEXT = "called a synchronizing CUDA operation (Triggered internally at CUDAFunctions.cpp:149.)"


class Device:
    """A CUDA runtime that only knows its sync debug mode."""

    def __init__(self, mode: int = 0) -> None:
        self.mode = mode

    def get(self) -> int:
        return self.mode

    def set(self, mode: int) -> None:
        if mode != self.mode:
            warnings.warn(f"{syncs.NOTICE} and does not yet detect all synchronizing operations", stacklevel=1)
        self.mode = mode

    def item(self) -> float:
        if self.mode:
            warnings.warn(TEXT, stacklevel=2)
        return 1.0


@pytest.fixture
def device() -> Iterator[Device]:
    device = Device()
    with (
        mock.patch.object(torch.cuda, "is_initialized", return_value=True),
        mock.patch.object(torch.cuda, "is_current_stream_capturing", return_value=False),
        mock.patch.object(torch.cuda, "synchronize"),
        mock.patch.object(torch._C, "_cuda_get_sync_debug_mode", device.get, create=True),
        mock.patch.object(torch._C, "_cuda_set_sync_debug_mode", device.set, create=True),
        mock.patch.object(torch.cuda, "memory_allocated", return_value=0),
    ):
        yield device


def waits(run: Run) -> Observation:
    return waits_for_device.SYMPTOM.detect(Signals(run))


def train(device: Device, waits: int, steps: int = 10) -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        x, y = batch()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        for _ in range(waits):
            device.item()


def test_lines_that_wait_are_counted_and_named(device: Device, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        run = watch(tmp_path, lambda: train(device, 200), Waiting)
        assert syncs._ALWAYS not in warnings.filters
    fact = waits(run)
    assert fact.state == "present"
    assert "200 times in every step" in fact.evidence
    assert "`warnings.warn(TEXT, stacklevel=2)`" in fact.evidence
    assert fact.where is not None
    assert "test_waiting.py:" in fact.where
    assert not shown, "the warnings are ours to see"
    assert device.mode == 0


def test_one_wait_a_step_is_no_fault(device: Device, tmp_path: Path) -> None:
    fact = waits(watch(tmp_path, lambda: train(device, 1), Waiting))
    assert fact.state == "absent"
    assert "1 time in a step" in fact.evidence


def test_what_the_recorder_waits_for_itself_is_not_counted(device: Device, tmp_path: Path) -> None:
    class Asking(Waiting):
        def on_backward(self, loss: torch.Tensor) -> None:
            device.item()

    fact = waits(watch(tmp_path, lambda: train(device, 0), Asking))
    assert fact.state == "absent"
    assert fact.evidence.startswith("No line")


def test_warnings_that_are_errors_are_never_provoked(device: Device, tmp_path: Path) -> None:
    def strict() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            train(device, 20)

    assert waits(watch(tmp_path, strict, Waiting)).state == "unknown"


def test_a_filter_that_makes_errors_ends_the_look(device: Device) -> None:
    told: list[int] = []
    sync = Syncs(lambda: told.append(1))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        sync.begin()
        device.item()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            device.item()
            assert device.mode == 0
        device.item()
        assert syncs._ALWAYS not in warnings.filters
    assert told == [1]
    assert not sync.on


def test_other_warnings_are_shown_as_ever(device: Device) -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        sync = Syncs(lambda: None)
        for _ in range(3):  # once for this line, whatever is switched on and off meanwhile
            sync.begin()
            warnings.warn("something else", stacklevel=1)
            sync.end()
    assert [str(one.message) for one in shown] == ["something else"]


def test_a_mode_that_the_user_has_set_is_left_alone(device: Device) -> None:
    device.mode = 1
    sync = Syncs(lambda: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sync.begin()
        sync.end()
    assert device.mode == 1
    assert sync.theirs


def test_a_user_who_sets_the_mode_has_it(device: Device, tmp_path: Path) -> None:
    hub = Hub(lambda: Store(tmp_path / "r.traindx"), [Waiting], 1.0, None)
    (waiting,) = hub._observers
    assert isinstance(waiting, Waiting)
    with (
        warnings.catch_warnings(),
        mock.patch.object(torch.cuda, "set_sync_debug_mode", device.set),
        mock.patch.object(torch.cuda, "get_sync_debug_mode", device.get),
    ):
        warnings.simplefilter("ignore")
        hub.attach()
        waiting.on_depth(True)
        assert device.mode == 1
        assert torch.cuda.get_sync_debug_mode() == 0
        torch.cuda.set_sync_debug_mode(2)
        waiting.on_depth(True)
        hub.detach()
    assert device.mode == 2


def test_without_cuda_nothing_is_switched_on(tmp_path: Path) -> None:
    with mock.patch.object(syncs, "_set_mode") as set_mode:
        run = watch(tmp_path, lambda: train(Device(), 1, steps=6), Waiting)
    assert not set_mode.called
    assert not run.measured[0].all(HostWaits)
    assert not run.measured[0].all(BatchTransfers)


@contextmanager
def moving(seconds: float) -> Iterator[Waiting]:
    """The observer alone, with a clock of our own: each look at it takes no time but what a copy takes."""
    hub = SimpleNamespace(
        step=1, spent=0.0, patch=mock.Mock(), patches=mock.Mock(), record=mock.Mock(), measure=mock.Mock()
    )
    waiting = Waiting(hub)  # type: ignore[arg-type]
    with mock.patch("traindx.live.instruments.waiting.time.perf_counter", return_value=100.0) as clock:
        waiting._began = (100.0, 0.0, 0)
        for step in range(1, 5):
            hub.step = step
            host = torch.zeros(4, 3)
            waiting.on_batch((host, torch.zeros(4)), None, 0.0)
            clock.return_value += seconds
            waiting.on_call(mlp())
            gpu = mock.Mock(spec=torch.Tensor, shape=host.shape, dtype=host.dtype, is_cuda=True)
            gpu.dim.return_value, gpu.numel.return_value = 2, 12
            waiting.on_forward(mlp(), (gpu,), {}, None)
            clock.return_value += 0.05
        yield waiting


@pytest.mark.parametrize(("seconds", "slow"), [(0.02, True), (0.0001, False)])
def test_copies_that_the_loop_waits_for(device: Device, seconds: float, slow: bool) -> None:
    with moving(seconds) as waiting:
        calls = waiting.hub.measure.call_args_list  # type: ignore[attr-defined]
    found = slow_transfer.judge(Measured(call.args[0] for call in calls))
    assert found is not None
    assert (found.state == "present") is slow
    assert ("not pinned" in found.evidence) is slow


def test_where_the_time_of_a_step_goes(tmp_path: Path) -> None:
    def loop() -> None:
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(60):
            x, y = batch()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 10 == 9:
                with torch.no_grad():
                    torch.nn.functional.cross_entropy(model(x), y)

    run: Run = watch(tmp_path, loop, Timing, budget=0.0001)
    assert {"forward_pass_time", "backward_time", "optimizer_time", "validation_time"} <= set(run.series)
    assert all((run.series[name].values > 0).all() for name in ("forward_pass_time", "backward_time"))
    whole = sum(run.series[name].values.sum() for name in ("forward_pass_time", "backward_time", "optimizer_time"))
    assert whole < 60


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu(tmp_path: Path) -> None:
    """What the stand-in above plays: torch itself names the lines, keeps its mode, and the weights are the same."""

    def loop(waits: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(30))).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        data = torch.utils.data.TensorDataset(torch.randn(640, 64), torch.randn(640, 64))
        for x, y in torch.utils.data.DataLoader(data, batch_size=16):
            loss = torch.nn.functional.mse_loss(model(x.to("cuda")), y.to("cuda"))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for parameter in model.parameters():
                if waits and parameter.grad is not None:
                    parameter.grad.norm().item()
        return [parameter.detach().cpu() for parameter in model.parameters()]

    bare = loop(True)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        watched: list[torch.Tensor] = []
        run = watch(tmp_path, lambda: watched.extend(loop(True)), Waiting, Timing)
    assert not [one for one in shown if syncs.TEXT.match(str(one.message))]
    assert torch.cuda.get_sync_debug_mode() == 0
    fact = waits(run)
    assert fact.state == "present"
    assert "parameter.grad.norm().item()" in fact.evidence
    assert "60 times" in fact.evidence
    assert "transfer_time" in run.series
    assert all(torch.equal(one, other) for one, other in zip(bare, watched, strict=True))
    assert waits(watch(tmp_path / "calm", lambda: loop(False), Waiting)).state == "absent"
