"""Measure where the time of a step goes: loading with more or fewer workers, forward, backward, update, larger batches.

Training steps run on captured batches, once alone and once beside the script's own data set, so that loading and
computing compete as they do in the training. Gains come with an interval; what is not clearly faster is not called so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch

from traindx.probes.base import Deadline, Probe
from traindx.probes.compiling import compile_gain
from traindx.probes.device import busy_share, half_precision_gain, pinning_gain, synchronisations
from traindx.probes.feeding import Feeder, Unfeedable, available_cores
from traindx.probes.rows import picking
from traindx.probes.subject import Subject
from traindx.probes.timing import SURE, Gain, Timed, gain, timed
from traindx.reading import Cell, Chart, Line, Mark, Reading, Table
from traindx.run import Fact
from traindx.symptoms.base import clarity, num, percent

ID = "speed"
STEP_SHARE, BATCH_SHARE = 0.15, 0.25  # of the time: the bare step, and the curve over batch sizes
FACTORS_HOST, FACTORS_DEVICE = (0.25, 0.5, 1, 2), (0.5, 1, 2, 4, 8)  # of the script's batch size
IN_TIME = 0.1  # of a step spent waiting: not worth a worker
NEAR_BEST = 1.1  # of the shortest step time: fewer workers that come this near are the knee
STARVED, PLAIN_STARVED = 0.5, 0.8  # of a step spent waiting: more than is asked of a whole recording
LEAST_SECONDS = 0.01  # of a step with loading: shorter ones are not worth feeding faster
WORTH = 1.3  # times faster, at the lower end of the interval
FREE, PLAIN_FREE = 1.25, 1.05  # times the time for twice the samples, on an accelerator
USUAL_SECONDS, USUAL_SHARE = 8.0, 0.2  # of the time for everything but compiling
ELSEWHERE = 0.1  # of the script's own step: what it does besides is worth a word
LEAST_ELSEWHERE = 2e-4  # seconds: a replay costs about that much itself
OURS = 0.7  # of the time in which a step computes on the processor: less, and times say more about other programs
LEAST_TRIED = 3  # numbers of workers above the script's before "more do not help" means anything


@dataclass
class Found:
    parts: dict[str, Timed]
    fed: dict[int, Timed] = field(default_factory=dict)
    workers: int | None = None
    samples: dict[int, Timed] = field(default_factory=dict)  # by batch size
    busy: float | None = None
    waits: list[str] = field(default_factory=list)
    half: Gain | None = None
    compiled: Gain | None = None
    contended: bool = (
        False  # others had the processor for much of the time, and the script itself does not wait for data
    )
    own: Timed | None = None  # the script's step, as it runs by itself
    own_wait: float = 0.0  # of it waiting for data
    reads: tuple[tuple[str, float], ...] = ()
    copies: tuple[float, Gain] | None = None
    unknown: list[str] = field(default_factory=list)

    @property
    def step(self) -> Timed:
        return self.parts["whole step"]

    @property
    def elsewhere(self) -> float | None:
        """Seconds of the script's step that are neither waiting for data nor the step; None where that is not
        certain."""
        if self.own is None:
            return None
        rest = self.own.median - self.own_wait - self.step.median
        least = max(SURE * math.hypot(self.own.error, self.step.error), ELSEWHERE * self.own.median, LEAST_ELSEWHERE)
        return rest if rest > least else None

    @property
    def served(self) -> str | None:
        """That the script itself hardly waits for data, in words; None where it does or was not timed."""
        if self.own is None or self.own_wait >= STARVED / 2 * self.own.median:
            return None
        return f"the script itself waits for data for {percent(self.own_wait / self.own.median)} of its step"

    def waiting(self, workers: int) -> float:
        """The share of a step's time that is not its own."""
        return max(0.0, 1 - self.step.median / self.fed[workers].median)

    @property
    def knee(self) -> int | None:
        """The fewest workers that are nearly as fast as any."""
        if not self.fed:
            return None
        best = min(timed.median for timed in self.fed.values())
        return min(count for count, timed in self.fed.items() if timed.median <= NEAR_BEST * best)


def measure(subject: Subject, deadline: Deadline) -> Reading:
    whole = min(deadline.left, max(USUAL_SECONDS, USUAL_SHARE * deadline.left))
    usual = Deadline(whole)
    device = subject.device
    update = _updates(subject)
    began, worked = time.perf_counter(), time.process_time()
    found = Found(_parts(subject, update, device, Deadline(STEP_SHARE * whole)))
    ours = (time.process_time() - worked) / (time.perf_counter() - began)
    if subject.pace is not None:
        found.own = Timed(subject.pace.seconds)
        # where nothing runs behind, reading costs nothing
        found.reads = subject.pace.reads if device.type != "cpu" else ()
        found.own_wait = Timed(subject.pace.waiting).median
    starved = found.own is not None and found.own_wait >= STARVED * found.own.median
    if device.type == "cpu" and ours < OURS and not starved:
        found.contended = True
        found.unknown.append("Whether loading is too slow: other programs took much of the processor meanwhile.")
    _feed(subject, found, update, device, Deadline(max(usual.left - BATCH_SHARE * whole, 0.5)))
    _sizes(subject, found, device, Deadline(min(usual.left, BATCH_SHARE * whole)))
    if device.type == "cuda":
        found.busy, found.waits = busy_share(update, device), synchronisations(update)
        found.half = half_precision_gain(subject, lambda: _learn(subject), Deadline(0.1 * whole))
        found.copies = pinning_gain(subject, Deadline(0.05 * whole))
    better = compile_gain(subject, lambda: _learn(subject), deadline)
    if isinstance(better, Gain):
        found.compiled = better
    else:
        found.unknown.append(f"What torch.compile would gain: {better}")
    return Reading(
        ID, _summary(subject, found), tuple(_facts(subject, found)), tables=tuple(_tables(subject, found)),
        charts=tuple(_charts(subject, found)), unknown=tuple(found.unknown),
    )  # fmt: skip


# --- measuring
# ----------------------------------------------------------------------------------------------------------------


def _updates(subject: Subject) -> Callable[[], object]:
    """One training step after the other, over the captured batches."""
    optimizer = subject.fresh_optimizer()
    numbers = _round(len(subject.steps))
    return lambda: subject.update(subject.steps[next(numbers)], optimizer)


def _round(count: int) -> Iterator[int]:
    while True:
        yield from range(count)


def _learn(subject: Subject) -> None:
    subject.loss(0, same_noise=False).backward()  # type: ignore[no-untyped-call]


def _parts(
    subject: Subject, update: Callable[[], object], device: torch.device, deadline: Deadline
) -> dict[str, Timed]:
    def forward() -> object:
        return subject.loss(0, same_noise=False)

    names = ("forward", "forward and backward", "whole step")
    return dict(zip(names, timed([forward, lambda: _learn(subject), update], device, deadline), strict=True))


def _feed(
    subject: Subject, found: Found, update: Callable[[], object], device: torch.device, deadline: Deadline
) -> None:
    try:
        feeder = Feeder(subject.loader, update, device, subject.steps[0].size)
    except Unfeedable as why:
        found.unknown.append(f"The input pipeline: {why}")
        return
    found.workers = feeder.workers if feeder.forks or feeder.workers == 0 else None
    if not feeder.forks:
        found.unknown.append(
            "More or fewer workers: they are not forked here, and another way would run the script again."
        )
    counts = feeder.counts()
    order = sorted(counts, key=lambda count: (count != feeder.workers, count))
    for place, count in enumerate(order):
        if place and (deadline.passed or (count > max(found.fed) and found.waiting(max(found.fed)) < IN_TIME)):
            if deadline.passed:
                found.unknown.append(f"More workers than {max(found.fed)}: time was up.")
            break
        try:
            found.fed[count] = feeder.feed(count, Deadline(deadline.left / (len(order) - place)))
        except Exception as error:  # the user's data set, in processes it may not be made for
            sentence = str(error).splitlines()[0][:120] if str(error) else ""
            found.unknown.append(f"Loading with {count} workers: {type(error).__name__}: {sentence}")
            break


def _sizes(subject: Subject, found: Found, device: torch.device, deadline: Deadline) -> None:
    """Forward and backward of a captured batch that is cut or repeated."""
    if len(subject.steps[0].parts) > 1:
        found.unknown.append("Other batch sizes: a step accumulates several batches.")
        return
    size = subject.steps[0].size
    factors = FACTORS_DEVICE if device.type == "cuda" else FACTORS_HOST
    sizes = sorted({max(1, int(size * factor)) for factor in factors})
    calls: list[Callable[[], object]] = []
    try:
        for count in list(sizes):
            calls.append(_resized(subject, size, count))
            calls[-1]()
    except (RuntimeError, ValueError, IndexError) as error:
        full = isinstance(error, torch.OutOfMemoryError)
        sizes, calls = sizes[: len(calls) - 1], calls[:-1]
        why = "memory is full" if full else "shapes are written into the program"
        found.unknown.append(f"Batches of {count}: {why}.")
    if len(calls) > 1:
        found.samples = dict(zip(sizes, timed(calls, device, deadline), strict=True))


def _resized(subject: Subject, size: int, count: int) -> Callable[[], object]:
    resize = picking(size, [number % size for number in range(count)])

    def work() -> None:
        subject.loss(0, resize, targets=resize, same_noise=False).backward()  # type: ignore[no-untyped-call]

    return work


# --- telling
# ------------------------------------------------------------------------------------------------------------------


def _facts(subject: Subject, found: Found) -> list[Fact]:
    facts: list[Fact] = []
    now, knee = found.workers, found.knee
    if now is not None and knee is not None and now in found.fed and not found.contended:
        facts += feeding_facts(found, now, knee)
    larger = found.samples.get(2 * subject.steps[0].size)
    if larger is not None and subject.device.type == "cuda":
        times = larger.median / found.samples[subject.steps[0].size].median
        sentence = (
            f"Forward and backward of twice the samples ({2 * subject.steps[0].size}) take {times:.2f} times as long"
        )
        free = times < FREE and gain(larger, found.samples[subject.steps[0].size]).high < 2 / WORTH
        facts.append(
            Fact(
                "larger-batch-free",
                free,
                f"{sentence}.",
                clarity=clarity(FREE - times, 0, FREE - PLAIN_FREE) if free else 1.0,
            )
        )
    return facts


def feeding_facts(found: Found, now: int, knee: int) -> list[Fact]:
    if found.served is not None:
        sentence = f"{found.served[0].upper()}{found.served[1:]} ({num(found.own_wait)} s)."
        return [Fact(symptom, False, sentence) for symptom in ("more-workers-help", "loader-at-its-limit")]
    share, seconds = found.waiting(now), found.fed[now].median
    sentence = f"With {now} workers a step takes {num(seconds)} s, of which {percent(share)} is waiting for data"
    if share < IN_TIME or seconds < LEAST_SECONDS:
        return [Fact(symptom, False, f"{sentence}.") for symptom in ("more-workers-help", "loader-at-its-limit")]
    better = gain(found.fed[now], found.fed[knee])
    clear = clarity(share, STARVED, PLAIN_STARVED)
    if share >= STARVED and knee > now and better.low >= WORTH:
        return [
            Fact(
                "more-workers-help", True, f"{sentence}; with {knee} workers a step is {better} as fast.", clarity=clear
            )
        ]
    tried = [count for count in found.fed if count > now]
    vain = all(found.waiting(count) >= STARVED for count in tried) and better.times < WORTH
    if share >= STARVED and len(tried) >= LEAST_TRIED and vain:
        most = max(tried)
        rest = f"with {most} still {percent(found.waiting(most))}"
        return [Fact("loader-at-its-limit", True, f"{sentence}; {rest}. More workers do not cure it.", clarity=clear)]
    return []


def _summary(subject: Subject, found: Found) -> str:
    size = subject.steps[0].size
    text = f"A step of {size} samples takes {num(found.step.median)} s on the {subject.device.type}"
    now, knee = found.workers, found.knee
    if found.served is not None:
        text += f"; {found.served}."
    elif now is None or knee is None or now not in found.fed:
        text += "."
    elif found.waiting(now) < IN_TIME:
        text += f", and data arrives in time with {now} workers."
    else:
        better = gain(found.fed[now], found.fed[knee])
        text += (
            f"; with loading by {now} workers {num(found.fed[now].median)} s, {percent(found.waiting(now))} of it "
            f"waiting for data."
        )
        text += (
            f" {knee} workers: {better} as fast."
            if knee != now and better.low > 1
            else " Another number of workers is not clearly faster."
        )
    if found.elsewhere is not None and found.own is not None:
        share = percent(found.elsewhere / found.own.median)
        text += (
            f" The script itself needs {num(found.own.median)} s a step; {share} of it goes elsewhere{_read(found)}."
        )
    if found.busy is not None:
        text += f" The device computes {percent(found.busy)} of the time."
    for what, better_by in (("bfloat16", found.half), ("torch.compile", found.compiled)):
        if better_by is not None and better_by.low > 1:
            text += f" {what} would make forward and backward {better_by} as fast."
    return text


def _read(found: Found) -> str:
    """The places where the script makes Python wait for a number."""
    places = [f"{place} {count:.0f} times" if count >= 1.5 else place for place, count in found.reads if count >= 0.1]
    return f" (it reads numbers at {', '.join(places[:3])})" if places else ""


def _tables(subject: Subject, found: Found) -> Iterator[Table]:
    yield Table("Where the time of a step goes", ("part", "ms"), tuple(_parts_of_a_step(found)))
    if found.fed:
        fed = tuple(
            (count, 1e3 * found.fed[count].median, 100 * found.waiting(count),
             _note(count, found)) for count in sorted(found.fed)
        )  # fmt: skip
        yield Table(
            f"Workers that load data ({available_cores()} cores)", ("workers", "ms a step", "% waiting", ""), fed
        )
    if found.samples:
        rates = tuple((size, 1e3 * t.median, size / t.median) for size, t in found.samples.items())
        yield Table("Batch size, forward and backward", ("batch", "ms", "samples a second"), rates)
    ways = _faster_ways(found)
    if ways:
        yield Table("Faster ways", ("what", "times as fast, or where"), tuple(ways))


def _parts_of_a_step(found: Found) -> list[tuple[Cell, ...]]:
    whole, both, forward = found.step.median, found.parts["forward and backward"].median, found.parts["forward"].median
    rows: list[tuple[Cell, ...]] = [
        ("forward and loss", 1e3 * forward),
        ("backward", 1e3 * max(both - forward, 0.0)),
        ("update", 1e3 * max(whole - both, 0.0)),
    ]
    rows.append(("whole step, data at hand", 1e3 * whole))
    if found.busy is not None:
        rows.append(("of it the device computes", 1e3 * found.busy * whole))
    if found.copies is not None:
        rows.append(("copying the batch to the device, from ordinary memory", 1e3 * found.copies[0]))
    if found.own is not None:
        rows += [
            ("the script's own step", 1e3 * found.own.median),
            ("of it waiting for data", 1e3 * found.own_wait),
            ("of it elsewhere", None if found.elsewhere is None else 1e3 * found.elsewhere),
        ]
    return rows


def _faster_ways(found: Found) -> list[tuple[Cell, ...]]:
    ways: list[tuple[Cell, ...]] = []
    if found.half is not None:
        ways.append(("bfloat16 autocast", str(found.half)))
    if found.compiled is not None:
        ways.append(("torch.compile", str(found.compiled)))
    if found.copies is not None:
        ways.append(("pinned memory, for the copy", str(found.copies[1])))
    if found.waits:
        ways.append((f"{len(found.waits)} synchronisations", ", ".join(dict.fromkeys(found.waits))[:200]))
    if found.reads:
        ways.append(("numbers read between steps", _read(found)[2:-1]))
    return ways


def _note(count: int, found: Found) -> str:
    words = ["yours"] if count == found.workers else []
    words += ["enough"] if count == found.knee else []
    return ", ".join(words)


def _charts(subject: Subject, found: Found) -> Iterator[Chart]:
    if len(found.fed) > 1:
        counts = sorted(found.fed)
        line = Line("step with loading", tuple(map(float, counts)), tuple(1e3 * found.fed[c].median for c in counts))
        marks = (
            Mark(1e3 * found.step.median, "the step alone", "y"),
            *((Mark(float(found.workers), "yours"),) if found.workers is not None else ()),
        )
        yield Chart("Time of a step by the number of workers", "workers", "ms", (line,), marks)
    if found.samples:
        sizes = tuple(map(float, found.samples))
        rates = Line("forward and backward", sizes, tuple(size / t.median for size, t in found.samples.items()))
        yield Chart(
            "Throughput by batch size",
            "batch size",
            "samples a second",
            (rates,),
            (Mark(float(subject.steps[0].size), "yours"),),
        )


PROBE = Probe(ID, "where the time goes", measure, seconds=8.0, alone=60.0)
