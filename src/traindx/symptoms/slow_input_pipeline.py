"""slow-input-pipeline: steps wait for their data."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Floats, Series
from traindx.signals import Signals
from traindx.signals.curve import MAX_BINS
from traindx.signals.speed import START_UP, crowded, data_seconds, step_seconds
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.recipes import falling, flat, put

ID = "slow-input-pipeline"
MIN_ROWS = 5
LEAST_SECONDS = 0.003  # of a whole step: below, the loop itself takes the time
SLOW = 0.3  # of the step time
VERY_SLOW = 0.6
FINE = 0.15
ROWS_A_PIECE = 16  # with several workers the wait falls on every k-th step: a piece must hold some of each


def detect(signals: Signals) -> Observation:
    wait, step = data_seconds(signals), step_seconds(signals)
    if wait is None or step is None:
        missing = "time spent waiting for data" if wait is None else "step time beside the data time"
        return Observation(ID, "unknown", f"No {missing} was logged.")
    steps, waits, whole = _together(wait, step)
    skip = START_UP if len(steps) >= 4 * START_UP else 1
    steps, waits, whole = steps[skip:], waits[skip:], whole[skip:]
    if len(steps) < MIN_ROWS or whole.sum() <= 0:
        return Observation(ID, "unknown", f"Data time and step time stand together in fewer than {MIN_ROWS} rows.")
    # pix2pix and its kin count the wait beside the step time, the others inside it
    separate = signals.kind == "gan" or float(np.mean(waits > whole)) > 0.02 or waits.sum() > whole.sum()
    total = whole + waits if separate else whole
    share = _usual_share(waits, total)
    overall = float(waits.sum() / total.sum())
    seconds = f"on average {num(float(waits.mean()))} of {num(float(total.mean()))} s"
    summary = f"{wait.name} is usually {percent(share)} of the step time, {seconds}"
    if overall > share + 0.1:
        summary += f", {percent(overall)} over the whole run"
    if float(np.median(total)) < LEAST_SECONDS:
        return Observation(ID, "absent", f"{summary}; steps this short are not worth feeding faster.")
    share = max(share, _without_the_longest(waits, total))
    slow = VERY_SLOW if signals.run.config.get("device") == "cpu" else SLOW  # nothing idles while the CPU itself loads
    if share >= slow and (why := crowded(signals)) is not None:
        return Observation(ID, "unknown", f"{summary}. {why}")
    if share < slow:
        fine = "" if share < FINE else f"; a problem from {percent(slow)} on"
        return Observation(ID, "absent", f"{summary}{fine}.")
    return Observation(
        ID, "present", f"{summary} (healthy below {percent(FINE)}).", (float(steps[0]), float(steps[-1])), wait.name,
        clarity(share, SLOW, VERY_SLOW),
    )  # fmt: skip


def _together(wait: Series, step: Series) -> tuple[Floats, Floats, Floats]:
    """Steps, waits and step times of the rows that have both."""
    if np.array_equal(wait.steps, step.steps):
        return wait.steps, wait.values, step.values
    steps, first, second = np.intersect1d(wait.steps, step.steps, return_indices=True)
    return steps, wait.values[first], step.values[second]


def _without_the_longest(waits: Floats, total: Floats) -> float:
    """The share of all the time, less the one longest wait: a pause that came once is no habit."""
    rest = np.arange(len(waits)) != int(np.argmax(waits))
    return float(waits[rest].sum() / max(float(total[rest].sum()), 1e-12))


def _usual_share(waits: Floats, total: Floats) -> float:
    """The median over pieces of the run of the share of time spent waiting."""
    pieces = max(1, min(MAX_BINS, len(waits) // ROWS_A_PIECE))
    edges = np.linspace(0, len(waits), pieces + 1).astype(int)
    sums = [(waits[a:b].sum(), total[a:b].sum()) for a, b in pairwise(edges)]
    if pieces == 1:
        return float(np.median(waits / np.maximum(total, 1e-12)))
    return float(np.median([wait / max(whole, 1e-12) for wait, whole in sums]))


SYMPTOM = Symptom(
    id=ID,
    title="steps wait for data",
    severity="problem",
    family="speed",
    background=0.015,
    needs=("data time", "step time"),
    doc="""
## What is observed
A good part of every step is spent waiting for the next batch while the accelerator idles.

## How it is measured
Data time by step time where both are logged for training, in whatever unit, first rows left out. The share is taken
over pieces of at least sixteen rows, since with k workers the wait often falls on every k-th step, and the median
piece counts, or the share of all the time without its one longest wait where that is more: a long wait that comes
seldom costs as much. Present above 30 %, plain from 60 %, fine below 15 %. A training on the CPU has no accelerator
that idles: there it is present from 60 % on. Where other programs had the CPU for a tenth of the time, nothing is said.
Most tools count the wait inside the step time, pix2pix and its kin beside it; where waits are longer than steps, they
are added up.

## Healthy range
Below a few per cent with enough workers. Checklists call it a bottleneck when loading takes longer than computing, a
share of 50 %; a third of the time is already worth the two settings it takes.

## What it usually means
No or too few loader workers (or far more than there are cores), decoding and augmenting on the CPU, small files on a
slow or remote disk, worker processes restarted every epoch. Of twelve threads about low GPU use, ten ended at the
input pipeline.
""",
    detect=detect,
    cases=(
        Case("nine tenths waiting", "present", lambda: {"time": flat(200, 7.5, 0.1), "data_time": flat(200, 6.9, 0.1),
                                                        "loss": falling(200, 0.42, 0.08)}),
        Case("in milliseconds, wait beside the step", "present",
             lambda: {"step_time_ms": flat(100, 200.0, 0.1), "data_time_ms": flat(100, 400.0, 0.1)}),
        Case("every fourth step stalls", "present",
             lambda: {"batch_time": [0.1, 0.1, 0.1, 0.9] * 80, "data_time": [0.001, 0.001, 0.001, 0.8] * 80}),
        Case("every hundredth step waits half a minute", "present",
             lambda: {"batch_time": ([0.05] * 99 + [31.0]) * 4, "data_time": ([0.002] * 99 + [30.9]) * 4}),
        Case("one pause", "absent", lambda: {"batch_time": put(flat(400, 0.05, 0.1), 200, 600.0),
                                             "data_time": put(flat(400, 0.002, 0.1), 200, 599.0)}),
        Case("only the start is slow", "absent",
             lambda: {"time": put(flat(200, 0.5, 0.05), 0, 9.0, 3.0),
                      "data_time": put(flat(200, 0.01, 0.1), 0, 8.5, 2.5)}),
        Case("adversarial training, data beside time", "absent",
             lambda: {"time": flat(100, 2.4, 0.05), "data": flat(100, 0.152, 0.1), "G_GAN": flat(100, 1.0, 0.2),
                      "D_real": flat(100, 0.5, 0.2)}),
        Case("a fifth", "absent", lambda: {"time": flat(100, 1.0, 0.05), "data_time": flat(100, 0.2, 0.05)}),
        Case("no data time", "unknown", lambda: {"time": flat(100, 1.0, 0.05)}),
    ),
)  # fmt: skip
