"""same-batch-repeated: every update is trained on the same one or two batches, although there are more data."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import BatchVariety, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "same-batch-repeated"
MIN_LOOKS = fitted(f"{ID}.looks", 8, unit="updates looked at that see one batch")
LOOKS_OF_TWO = fitted(f"{ID}.looks-of-two", 16, unit="updates looked at that see two batches")
SPAN = fitted(f"{ID}.span", 20, unit="updates from the first look to the last, where no loader draws the batches")
MORE = Threshold(2, "times the samples of the batches seen", "else the data make less than one other batch")
TABLE = fitted(f"{ID}.table", 8, unit="times the samples of the batches seen: a smaller table may be split in parts")
SEEDED = fitted(f"{ID}.seeded", 0.9, unit="calls that set the same seed again, by update")
FRESH = fitted(f"{ID}.fresh", 0.9, unit="of the looks at which the model is given a tensor that was made anew")
SMALL = fitted(f"{ID}.small", 256, unit="samples of a batch, where the size of the data is not known", side="below")


def judge(measured: Measured) -> Observation | None:
    look = measured.last(BatchVariety)
    if look is None or not MIN_LOOKS.reached(look.looks):
        return None
    if look.loader and look.distinct > 2 and look.given == 1 and MIN_LOOKS.reached(look.given_looks):
        text = (
            f"The loader draws different batches, but models and losses were given the same numbers at each of "
            f"{look.given_looks} checked updates"
        )
        return seen(ID, True, f"{text}.", at=look)
    if look.distinct > 2:
        return seen(ID, False, f"{look.distinct} different batches were seen at {look.looks} checked updates.", at=look)
    if look.distinct == 2 and not LOOKS_OF_TWO.reached(look.looks):
        return None
    if look.loader and 0 < look.data <= look.distinct * look.rows:
        return seen(ID, False, f"The data are {look.data} samples: every batch holds all of them.", at=look)
    if not (_loader_has_more(look) or _drawn_again(look)):
        return None
    what = "the same batch" if look.distinct == 1 else "one of the same two batches"
    more = f"; there are {look.data}" if look.data else ""
    text = f"Each of {look.looks} checked updates saw {what} ({look.rows} samples{more})"
    if _seeded(look):
        return seen(ID, True, f"{text}; the same seed was set {look.seeded} times.", at=look, where=look.seeded_at)
    return seen(ID, True, f"{text}.", at=look)


def _loader_has_more(look: BatchVariety) -> bool:
    return look.loader and MORE.reached(look.data / (look.distinct * look.rows))


def _drawn_again(look: BatchVariety) -> bool:
    """Without a loader: the batch is drawn anew at each update and comes out the same. One tensor that is held and used
    at each is all the data, or one batch on purpose."""
    if look.loader or not (SPAN.reached(look.span) and FRESH.reached(look.fresh / look.looks)):
        return False
    part = TABLE.reached(look.data / (look.distinct * look.rows))
    return (look.slice and part) or (_seeded(look) and (part or (not look.data and SMALL.reached(look.rows))))


def _seeded(look: BatchVariety) -> bool:
    return SEEDED.reached(look.seeded / max(1, look.span - 2))


def _look(
    distinct: int = 1, looks: int = 12, rows: int = 32, data: int = 1000, loader: bool = True, span: int = 60,
    *, fresh: int = 0, slice: bool = False, seeded: int = 0, given: int = 0,
) -> tuple[BatchVariety, ...]:  # fmt: skip
    return (
        BatchVariety(
            looks=looks, distinct=distinct, span=span, rows=rows, data=data, loader=loader, fresh=fresh, slice=slice,
            seeded=seeded, seeded_at="train.py:20" if seeded else "", where="train.py:21",
            given=given, given_looks=looks if given else 0,
        ),
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="every update sees the same batch",
    severity="problem",
    family="order",
    background=0.001,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The updates that were looked at were all trained on one and the same batch, or on two, while there are more data.

## How it is measured
By the indices that a DataLoader's sampler draws together with fingerprints of the samples, over the updates looked at;
without a loader, by fingerprints of what the model and the loss are given. Present from 8 updates with one batch on, or
16 with two, where the loader can draw at least twice as many samples. Without a loader it takes a batch that is cut
anew at every update from a tensor with eight times as many rows, or a line that sets the same seed at every update.
Augmented samples with the same indices and the same labels are the same samples. Where a loader draws different
batches, it is present if models and loss functions were given the same numbers at 8 updates all the same.

A batch that is all the data (full-batch training, a data set of one batch) is no finding, and one tensor that is held
and used at every update is none either: whether that was meant cannot be seen.

## Healthy range
As many batches as the data make. A test of whether the model can memorise one batch does this on purpose.

## What it usually means
A seed is set inside the loop, the iterator of an unshuffled loader is made anew at each step, or an index does not
move.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("next(iter(loader)) without shuffling", "present", measured=_look()),
        Case("two batches in turn of many", "present", measured=_look(2, looks=16)),
        Case("two batches, too few looks", "unknown", measured=_look(2, looks=15)),
        Case("seven looks", "unknown", measured=_look(looks=7)),
        Case("a shuffled loader", "absent", measured=_look(12)),
        Case("a shuffled loader, and a variable of another loop", "present", measured=_look(12, given=1)),
        Case("a shuffled loader, whose batches the model gets", "absent", measured=_look(12, given=12)),
        Case("four batches are all the data", "absent", measured=_look(4, looks=40, data=128)),
        Case("full batch", "absent", measured=_look(rows=1000)),
        Case("two batches are all the data", "absent", measured=_look(2, looks=40, data=64)),
        Case("a loader that does not know its length", "unknown", measured=_look(data=0)),
        Case("a constant slice", "present", measured=_look(loader=False, fresh=12, slice=True)),
        Case("a slice that is a large part", "unknown", measured=_look(loader=False, fresh=12, slice=True, rows=800)),
        Case("rows chosen once from a table", "unknown", measured=_look(loader=False, fresh=12)),
        Case("one tensor that is held", "unknown", measured=_look(loader=False, fresh=1, slice=True)),
        Case("a seed at every step", "present", measured=_look(loader=False, fresh=12, seeded=58)),
        Case("the same, of data made on the way", "present", measured=_look(loader=False, fresh=12, seeded=58, data=0)),
        Case("a seed now and then", "unknown", measured=_look(loader=False, fresh=12, seeded=6, data=0)),
        Case("several steps on one batch", "unknown", measured=_look(loader=False, fresh=12, slice=True, span=12)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
