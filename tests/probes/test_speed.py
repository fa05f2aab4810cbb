"""Waiting for data, the knee over workers and its limits are found on data sets built to have them."""

from __future__ import annotations

import time
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset  # noqa: E402

from traindx.probes.base import Deadline  # noqa: E402
from traindx.probes.compiling import compile_gain  # noqa: E402
from traindx.probes.feeding import Feeder  # noqa: E402
from traindx.probes.given import subject_of  # noqa: E402
from traindx.probes.kinds.speed import PROBE, Found, feeding_facts  # noqa: E402
from traindx.probes.timing import Gain, Timed, gain, timed  # noqa: E402
from traindx.reading import Reading  # noqa: E402


class Slow(Dataset[Any]):
    """Each sample takes its time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 400

    def __getitem__(self, index: int) -> Any:
        time.sleep(self.seconds)
        return torch.full((4,), float(index)), torch.tensor([1.0])


def read(data: Any, seconds: float = 4.0, **options: Any) -> Reading:
    model = nn.Linear(4, 1)
    loader = DataLoader(data, batch_size=4, shuffle=not isinstance(data, IterableDataset), **options)
    subject = subject_of(model, loader, nn.MSELoss(), torch.optim.SGD(model.parameters(), 0.01))
    before = [p.detach().clone() for p in model.parameters()], torch.get_rng_state()
    with subject.undisturbed():
        reading = PROBE.measure(subject, Deadline(seconds))
    assert all(torch.equal(a, b) for a, b in zip(before[0], model.parameters(), strict=True))
    assert torch.equal(before[1], torch.get_rng_state())
    return reading


def facts(reading: Reading) -> dict[str, bool]:
    return {fact.id: fact.present for fact in reading.facts}


def fed(reading: Reading) -> dict[int, tuple[float, float]]:
    table = next(table for table in reading.tables if table.title.startswith("Workers"))
    return {row[0]: (row[1], row[2]) for row in table.rows}  # type: ignore[misc]


@pytest.fixture(autouse=True)
def to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are taken as if nothing else ran on the machine."""
    monkeypatch.setattr("traindx.probes.kinds.speed.OURS", 0.0)


def test_nothing_is_claimed_on_a_machine_that_others_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traindx.probes.kinds.speed.OURS", 1e3)
    reading = read(Slow(0.01), 1.0)
    assert reading.facts == ()
    assert any("other programs" in sentence for sentence in reading.unknown)


def test_the_scripts_own_wait_has_the_last_word() -> None:
    busy = found(0.001, w0=0.1, w1=0.02)
    assert {fact.id: fact.present for fact in feeding_facts(busy, 0, 1)} == {"more-workers-help": True}
    busy.own, busy.own_wait = Timed((0.002,) * 5), 0.0002
    assert not any(fact.present for fact in feeding_facts(busy, 0, 1))
    busy.own_wait = 0.0015
    assert any(fact.present for fact in feeding_facts(busy, 0, 1))


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting needs no core, so the trials make sense on any machine."""
    monkeypatch.setattr("traindx.probes.feeding.available_cores", lambda: 4)


@pytest.mark.usefixtures("four_cores")
def test_more_workers_help_where_samples_only_wait() -> None:
    reading = read(Slow(0.01))
    times = fed(reading)
    assert times[0][0] > 38  # four samples of 10 ms one after the other; a busy machine adds to it
    assert times[0][1] > 60
    assert facts(reading)["more-workers-help"]
    assert "enough" in str(reading.tables[1].rows)
    assert {chart.title.split()[0] for chart in reading.charts} == {"Time", "Throughput"}


def found(step: float, **fed: float) -> Found:
    """A measurement with these seconds a step, `w4=0.1` with four workers."""
    times = {int(name[1:]): Timed((seconds,) * 5) for name, seconds in fed.items()}
    return Found({"whole step": Timed((step,) * 5)}, times)


@pytest.mark.parametrize(
    ("measured", "now", "expected"),
    [
        (found(0.01, w0=0.1, w1=0.1, w2=0.05, w4=0.011), 0, {"more-workers-help": True}),
        (found(0.01, w0=0.1, w1=0.1, w2=0.09, w4=0.09, w8=0.09), 0, {"loader-at-its-limit": True}),
        (found(0.01, w0=0.1, w1=0.1, w2=0.09), 0, {}),  # too few numbers were tried
        (found(0.01, w0=0.1, w2=0.0105), 2, {"more-workers-help": False, "loader-at-its-limit": False}),
        (found(0.001, w0=0.005, w1=0.001, w2=0.001), 0, {"more-workers-help": False, "loader-at-its-limit": False}),
        (found(0.01, w0=0.016, w1=0.0101), 0, {}),  # faster, but not starved
    ],
)
def test_what_times_prove(measured: Found, now: int, expected: dict[str, bool]) -> None:
    assert measured.knee is not None
    assert {fact.id: fact.present for fact in feeding_facts(measured, now, measured.knee)} == expected


def test_fast_data_needs_no_worker() -> None:
    reading = read(TensorDataset(torch.randn(400, 4), torch.randn(400, 1)), 2.0)
    assert not any(facts(reading).values())
    assert facts(reading)["more-workers-help"] is False
    sizes = next(table for table in reading.tables if table.title.startswith("Batch size"))
    assert [row[0] for row in sizes.rows] == [1, 2, 4, 8]


def test_streams_are_left_alone() -> None:
    class Stream(IterableDataset[Any]):
        def __init__(self) -> None:
            self.given = 0

        def __iter__(self) -> Any:
            for _ in range(100):
                self.given += 1
                yield torch.ones(4), torch.ones(1)

    stream = Stream()
    reading = read(stream, 1.0)
    assert stream.given == 8 * 4  # the batches that were captured, and no more
    assert any("stream" in text for text in reading.unknown)


def test_a_failing_data_set_is_said() -> None:
    class Breaks(Slow):
        def __getitem__(self, index: int) -> Any:
            if torch.utils.data.get_worker_info() is not None:
                raise OSError("no such share")
            return super().__getitem__(index)

    assert any("OSError" in text for text in read(Breaks(0.01), 2.0).unknown)


def test_the_order_is_ours_and_covers_new_data() -> None:
    loader = DataLoader(TensorDataset(torch.arange(5000.0)), batch_size=8, shuffle=True)
    feeder = Feeder(loader, lambda: None, torch.device("cpu"), 8)
    first, second = list(feeder._batches()), list(feeder._batches())
    assert all(len(batch) == 8 for batch in first)
    assert not {i for batch in first for i in batch} & {i for batch in second for i in batch}


def test_gains_have_honest_intervals() -> None:
    quick, slow = timed([lambda: time.sleep(0.002), lambda: time.sleep(0.004)], torch.device("cpu"), Deadline(0.5))
    found = gain(slow, quick)
    assert found.low <= found.times <= found.high
    assert found.low < 2.2
    assert found.high > 1.4
    noisy = gain(Timed((1.0, 2.0, 3.0, 4.0, 5.0)), Timed((1.0, 2.0, 3.0, 4.0, 5.0)))
    assert noisy.low < 0.7
    assert noisy.high > 1.4


def test_what_compiling_gains_is_measured_or_the_reason_said(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    subject = subject_of(model, (torch.randn(8, 4), torch.randn(8, 1)), nn.MSELoss())

    def work() -> None:
        subject.loss(0).backward()

    assert "takes longer" in str(compile_gain(subject, work, Deadline(8)))
    backends: list[str] = []

    def quick(call: Any) -> Any:
        """Compiling that takes no time."""
        backends.append("compiled")
        return call

    monkeypatch.setattr(torch, "compile", quick)
    found = compile_gain(subject, work, Deadline(19))
    assert isinstance(found, Gain)
    assert found.low < 1.5
    assert backends == ["compiled"]
    assert "forward" not in model.__dict__

    def endless(call: Any) -> Any:
        return lambda *args: time.sleep(30)

    monkeypatch.setattr(torch, "compile", endless)
    monkeypatch.setattr("traindx.probes.compiling.LEAST_SECONDS", 0.1)
    began = time.monotonic()
    assert "given up after 1 s" in str(compile_gain(subject, work, Deadline(4)))
    assert time.monotonic() - began < 15
    monkeypatch.setattr(torch, "compile", lambda call: lambda *args: 1 / 0)
    assert "ZeroDivisionError" in str(compile_gain(subject, work, Deadline(8)))
    assert "forward" not in model.__dict__
