"""tiny-batches: each update sees one or two samples."""

from __future__ import annotations

import math

from traindx.diagnosis import Observation
from traindx.measurements import BatchSize, Measured, RateRange, SmallBatches
from traindx.symptoms import symptoms
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import FromMeasurements, from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "tiny-batches"
USUAL_BATCH = 64  # what usual rates are made for
TINY = fitted(f"{ID}.samples", 2, unit="samples an update", side="below")
MANY = fitted(f"{ID}.many", USUAL_BATCH // 4, unit="samples an update, of which the noise does no harm")
# for the usual batch; no training bears several times the largest usual ones
STEEP_ADAM = fitted(f"{ID}.rate-adam", 0.03, unit=f"rate by the root of {USUAL_BATCH} samples over those of an update")
STEEP_SGD = fitted(
    f"{ID}.rate-sgd", 2.5, unit=f"rate / (1 - momentum) times {USUAL_BATCH} samples over those of an update"
)
UPDATES = fitted(f"{ID}.updates", 500, unit="updates before losses that do not fall are a failure")
LOSSES = fitted(f"{ID}.losses", 60, unit="losses")
LOSSES_ABSENT = fitted(f"{ID}.losses-absent", 30, unit="losses, to be called absent")
NOISY = fitted(f"{ID}.scatter", 0.8, unit="standard deviation of the losses by their mean")
STUCK = fitted(f"{ID}.stuck", 0.2, unit="of the first losses: below, a noisy training has learnt all the same")
DEAD = Threshold(
    0.9, "of the first losses", "a training that learnt anything is further down after hundreds of updates"
)
ROWS_CLEARNESS, OTHER_CLEARNESS = 0.9, 0.7  # for images memory may leave no choice


def judge(measured: Measured) -> Observation | None:
    size = measured.last(BatchSize)
    if size is None:
        return None
    if MANY.reached(size.samples):
        return seen(ID, False, f"Each update sees {size.samples} samples or more.", at=size)
    looks = [one for one in measured.all(SmallBatches) if TINY.reached(size.samples) and not one.accumulated]
    for look in looks:
        found = _failure(look, size, measured)
        if found:
            clarity = ROWS_CLEARNESS if size.table else OTHER_CLEARNESS
            text = f"Each update sees {size.rows} sample{_s(size.rows)} at {found}"
            return seen(ID, True, text, at=look, clarity=clarity)
    last = measured.last(SmallBatches)
    if not looks or last is not looks[-1] or not LOSSES_ABSENT.reached(last.losses) or _steep(last, size):
        return None
    if last.nonfinite and LOSSES.reached(last.losses):
        return None
    text = f"Each update sees {size.samples} sample{_s(size.samples)}, at a rate that is low enough for it."
    return seen(ID, False, text, at=last)


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _failure(look: SmallBatches, size: BatchSize, measured: Measured) -> str:
    """At which rate, and what came of it; empty where nothing failed, or the rate is none that small batches do not
    bear."""
    rate = _steep(look, size)
    if not rate or not LOSSES.reached(look.losses):
        return ""
    if look.nonfinite:
        usual = f"{rate}, which is usual for batches of {USUAL_BATCH}. The weights grew without bound."
        return usual if _bearable(look) and _grew(measured) else ""
    scatter, left = look.std / max(abs(look.mean), 1e-12), look.mean / look.first if look.first else math.inf
    failing = DEAD.reached(left) or (NOISY.reached(scatter) and STUCK.reached(left))
    if not failing or not UPDATES.reached(look.step):
        return ""
    return (
        f"{rate}. The last {look.losses} losses up to update {look.step} scatter by {percent(scatter)} of their mean, "
        f"which is {percent(left)} of the first losses."
    )


def _steep(look: SmallBatches, size: BatchSize) -> str:
    """The rate, where it is made for far larger batches."""
    for one in look.rates:
        if _is_steep(one.optimizer, one.highest_lr, one.highest_momentum, size.samples):
            momentum = f" with momentum {one.highest_momentum:g}" if one.highest_momentum else ""
            return f"a rate of {one.highest_lr:g}{momentum}"
    return ""


def _bearable(look: SmallBatches) -> bool:
    """Batches of the usual size would bear the rate."""

    def borne(one: RateRange) -> bool:
        return not _is_steep(one.optimizer, one.lowest_lr, one.lowest_momentum, MANY.value)

    return any(map(borne, look.rates))


def _is_steep(optimizer: str, lr: float, momentum: float, samples: float) -> bool:
    """The noise of an update grows with the root of the rate for Adam, in proportion for SGD."""
    more = USUAL_BATCH / samples
    if optimizer == "SGD":
        return STEEP_SGD.reached(lr / max(1 - momentum, 1e-3) * more)
    return "Adam" in optimizer and STEEP_ADAM.reached(lr * math.sqrt(more))


def _grew(measured: Measured) -> bool:
    growth = symptoms()["nan-from-growth"].detect
    found = growth.judge(measured) if isinstance(growth, FromMeasurements) else None
    return found is not None and found.state == "present"


def _case(
    *, std: float = 0.6, mean: float = 0.5, rate: float = 0.1, losses: int = 60, step: int = 560, samples: int = 1,
    nonfinite: int = 0, accumulated: bool = False,
) -> tuple[BatchSize | SmallBatches, ...]:  # fmt: skip
    """A training with SGD whose first losses were 1."""
    return (
        BatchSize(rows=samples, samples=samples, table=True, step=2),
        SmallBatches(
            losses=losses, mean=mean, std=std, nonfinite=nonfinite, first=1.0, accumulated=accumulated, step=step,
            rates=(RateRange("SGD", rate, 0.0, rate, 0.0),),
        ),
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="tiny, noisy batches",
    severity="problem",
    family="batch-size",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Each update is computed from one or two samples at a rate made for far larger batches, and the loss scatters by most of
its own size or does not fall at all.

## How it is measured
Rows of the batch where it meets the first layer, one backward pass for each update (accumulated batches are not small),
the rate scaled to batches of 64 (in proportion for SGD, by the root for Adam; from 2.5 and 0.03 on it is too high),
and, from update 500 on, mean and standard deviation of the last 60 losses: above 90 % of the first losses, or above 20
% with a scatter of more than 80 %; or weights that grew without bound at a rate that batches of 16 bear. Clearer for
rows of a table than for images, where memory may leave no choice.

## Healthy range
16 and more samples for each update, or a rate that is lower in proportion.

## What it usually means
A batch size of 1 left over from debugging, or a loop over samples. The noise, not the data, sets how low the loss gets
at the given learning rate. """,
    detect=from_measurements(ID, judge),
    cases=(
        Case("a loop over samples", "present", measured=_case()),
        Case("ordinary batches", "absent", measured=(BatchSize(rows=32, samples=32, table=True),)),
        Case("small batches", "unknown", measured=(BatchSize(rows=8, samples=8, table=True),)),
        Case("a rate that is low enough", "absent", measured=_case(rate=0.01)),
        Case("a rate just low enough", "absent", measured=_case(rate=0.039)),
        Case("a rate just too high", "present", measured=_case(rate=0.04)),
        Case("noisy, but learnt all the same", "unknown", measured=_case(mean=0.19)),
        Case("not noisy, and learning", "unknown", measured=_case(std=0.1)),
        Case("not noisy, and nothing is learnt", "present", measured=_case(std=0.1, mean=0.95)),
        Case("too early", "unknown", measured=_case(step=60)),
        Case("a few losses", "unknown", measured=_case(losses=29, rate=0.01, step=29)),
        Case("accumulated", "unknown", measured=_case(accumulated=True)),
        Case("not finite, from another origin", "unknown", measured=_case(nonfinite=60)),
        Case("a log alone", "unknown"),
    ),
)
