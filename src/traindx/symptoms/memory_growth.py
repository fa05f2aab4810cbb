"""memory-growth: memory grows with every step."""

from __future__ import annotations

from itertools import takewhile

from traindx.diagnosis import Observation, State
from traindx.measurements import Measured, MemoryTrend, MemoryUse
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "memory-growth"
READINGS = fitted(f"{ID}.readings", 24, unit="readings")
GROWN = fitted(f"{ID}.grown", 64 << 20, unit="bytes more than after the warm-up")
GROWN_SHARE = fitted(f"{ID}.grown-share", 0.1, unit="of the memory after the warm-up")
STRAIGHT = fitted(f"{ID}.straight", 0.95, unit="of the variance on a straight line over the updates")
GRAPHS = Threshold(3, "graphs of earlier losses, all alive", "one or two may be held by a loop that compares losses")
SMALLEST_MB = 1e5  # bytes from which a size is written in MB


def judge(measured: Measured) -> Observation | None:
    """The newest measurement counts: memory that fills up may still come to rest."""
    looks = measured.all(MemoryUse)
    if not looks:
        return None
    newest = looks[-1]
    growing = _growing(newest)
    if growing is not None:
        where = "on the GPU" if growing is newest.device else "of the process"
        kept = GRAPHS.reached(newest.graphs) and newest.graphs_alive == newest.graphs
        why = "; the graphs of earlier losses are still alive, so a loss or output is kept without .item() or .detach()"
        text = (
            f"Memory {where} grows by {_amount(growing.slope)} with every update, "
            f"{_amount(growing.slope * growing.updates)} so far{why if kept else ''}."
        )
        return seen(ID, True, text, at=list(takewhile(_growing, reversed(looks)))[-1])
    longest = max(filter(None, (newest.host, newest.device)), key=lambda trend: trend.readings)
    if READINGS.reached(longest.readings):
        return seen(ID, False, f"Memory stays near {_amount(longest.last)}.", at=newest)
    return None


def _growing(look: MemoryUse) -> MemoryTrend | None:
    """The memory that climbs on a straight line, the host's first."""
    for trend in filter(None, (look.host, look.device)):
        grown = trend.slope * trend.updates
        enough = READINGS.reached(trend.readings) and trend.updates > 0
        straight = enough and STRAIGHT.reached(trend.explained)
        if straight and GROWN.reached(grown) and GROWN_SHARE.reached(grown / max(trend.first, 1.0)):
            return trend
    return None


def _amount(size: float) -> str:
    return f"{size / 1e6:.3g} MB" if size >= SMALLEST_MB else f"{size / 1e3:.2g} kB"


def _case(
    story: str, state: State, slope: float, explained: float = 0.99, readings: int = 48, *, alive: int = 0
) -> Case:
    """A process of 1 GB over a thousand updates."""
    trend = MemoryTrend(
        readings=readings, updates=1000, first=1e9, last=1e9 + 1000 * slope, slope=slope, explained=explained
    )
    return Case(story, state, measured=(MemoryUse(host=trend, graphs=8, graphs_alive=alive, step=1000),))


SYMPTOM = Symptom(
    id=ID,
    title="memory grows with every step",
    severity="note",
    family=ID,
    background=0.01,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The memory of the process, or what tensors take on the GPU, climbs steadily after the training has warmed up.

## How it is measured
Resident memory and allocated GPU memory four times a second. Present when a straight line through the last three
quarters of the readings explains them (95 %) and climbs by at least 64 MB and a tenth; before 24 readings nothing is
said. Whether graphs of earlier losses are still alive is seen by a marker that dies with them.

## Healthy range
A level after the first steps; caches of workers and allocators fill up and stop.

## What it usually means
Losses or outputs are kept with their graphs: `total += loss` or `outputs.append(out)` where `loss.item()` or
`out.detach()` is meant.
""",
    detect=from_measurements(ID, judge),
    cases=(
        _case("a loss kept with its graph", "present", 4e5, alive=8),
        _case("something else is kept", "present", 4e5),
        _case("less than a tenth", "absent", 9e4),
        _case("a cache that fills up and stays", "absent", 4e5, 0.7),
        _case("too few readings", "unknown", 4e5, readings=23),
        Case("a log alone", "unknown"),
    ),
)
