"""slow-transfer: the loop stands still while batches are copied to the GPU."""

from __future__ import annotations

from statistics import median

from traindx.diagnosis import Observation, State
from traindx.measurements import BatchTransfers, Measured
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "slow-transfer"
BATCHES = Threshold(3, "batches timed", "the fewest whose median is not moved by one that was late")
SHARE = fitted(f"{ID}.share", 0.1, unit="of a step", strong=0.3)
SECONDS = fitted(f"{ID}.seconds", 1e-3, unit="s from the loader to the model")
CHEAP = fitted(f"{ID}.absent-share", 0.05, unit="of a step, to be called absent", side="below")
CLEAR = 0.8  # clarity of a finding that is not strong


def judge(measured: Measured) -> Observation | None:
    looks = [one for one in measured.all(BatchTransfers) if BATCHES.reached(len(one.seconds))]
    slow = [one for one in looks if SHARE.reached(_share(one)) and SECONDS.reached(median(one.seconds))]
    if slow:
        worst = max(slow, key=_share)
        memory = "from pinned memory" if worst.pinned else "from memory that is not pinned"
        step = f"{percent(_share(worst))} of the {worst.step_seconds * 1e3:.3g} ms of a step"
        clarity = max(CLEAR, SHARE.clarity(_share(worst)))
        return seen(ID, True, f"{_way(worst)}, {memory}: {step}.", at=slow[0], clarity=clarity)
    fast = [one for one in looks if CHEAP.reached(_share(one))]
    return seen(ID, False, f"{_way(fast[-1])}, {percent(_share(fast[-1]))} of a step.", at=fast[-1]) if fast else None


def _share(look: BatchTransfers) -> float:
    return median(look.seconds) / look.step_seconds


def _way(look: BatchTransfers) -> str:
    took = f"{median(look.seconds) * 1e3:.3g} ms"
    return f"A batch of {look.size / 1e6:.3g} MB takes {took} from the loader to the model on the GPU"


def _case(story: str, state: State, *seconds: float) -> Case:
    """Batches of 77 MB, in steps of 60 ms."""
    look = BatchTransfers(seconds=seconds, step_seconds=0.06, size=77_000_000, pinned=False)
    return Case(story, state, measured=(look,))


SYMPTOM = Symptom(
    id=ID,
    title="copying batches to the GPU takes a good part of the step",
    severity="problem",
    family="waiting",
    background=0.002,
    needs=("a recording on a GPU (traindx run)",),
    doc="""
## What is observed
Between the loader and the model the batch is copied to the GPU, and the loop waits for the copy.

## How it is measured
On a few steps that a recording looks at closely: the time from the moment the loader hands out a batch in host memory
to the call of the model with a tensor of the same shape and type on the GPU. The GPU is idle when the clock starts,
so that earlier work is not waited for by the copy, and the recorder's own time is left out. Present when the median
of these times is a tenth of a step or more, and a millisecond at least; absent below a twentieth of a step. Code of
the loop between the two counts too: it stands between the batch and the GPU like the copy. Before three batches, or
without CUDA, it is unknown.

## Healthy range
Below a few per cent. From pinned memory a GPU takes 10 to 50 GB/s, from other memory a few GB/s.

## What it usually means
No `pin_memory=True` in the loader and no `non_blocking=True` in `.to(device)`; batches sent as float32 that could
travel as uint8 and be scaled on the GPU; augmentation in the loop instead of in the workers.
""",
    detect=from_measurements(ID, judge),
    cases=(
        _case("a third of the step", "present", 0.02, 0.021, 0.022),
        _case("next to nothing", "absent", 1e-4, 1e-4, 1e-4, 0.02),
        _case("between cheap and costly", "unknown", 0.005, 0.005, 0.005),
        _case("two batches are too few", "unknown", 0.02, 0.02),
        Case("a log alone", "unknown"),
    ),
)
