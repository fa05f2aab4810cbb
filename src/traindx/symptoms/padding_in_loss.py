"""padding-in-loss: padding counted in the loss."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, PaddedTargets
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import fitted

ID = "padding-in-loss"
SHARE = fitted(f"{ID}.share", 0.3, unit="of all targets")
ROWS = fitted(f"{ID}.rows", 0.5, unit="of the sequences end in padding")
FILLED = fitted(f"{ID}.filled", 0.7, unit="of the share of padded targets is the share of padded tokens")
CLARITY = 0.9  # the end of a sequence may mean something


def judge(measured: Measured) -> Observation | None:
    looks = measured.all(PaddedTargets)
    for one in looks:
        if _is_padded(one) and not _is_masked(one):
            text = (
                f"{percent(one.share)} of the targets of {one.loss} are token {one.target} at the ends of the "
                f"sequences, where the input is padding too, and it is not ignore_index ({one.ignored})."
            )
            return seen(ID, True, text, at=one, clarity=CLARITY)
    for one in looks:
        text = f"The targets of {one.loss} do not end in long runs of one token."
        if _is_padded(one):
            text = f"{percent(one.share)} of the targets of {one.loss} are padding, and they do not count."
        return seen(ID, False, text, at=one)
    return None


def _is_padded(look: PaddedTargets) -> bool:
    """Most rows end in runs of one target, of different length, where the input is constant too."""
    long = SHARE.reached(look.share) and ROWS.reached(look.padded)
    return long and look.uneven and FILLED.reached(look.filled / look.share)


def _is_masked(look: PaddedTargets) -> bool:
    return look.target == look.ignored or look.weightless


def _padded(share: float, *, filled: float = 0.45, ignored: int = -100, uneven: bool = True) -> PaddedTargets:
    return PaddedTargets(
        loss="cross_entropy",
        share=share,
        padded=0.9,
        uneven=uneven,
        filled=filled,
        target=0,
        ignored=ignored,
        weightless=False,
        where="train.py:20",
    )


SYMPTOM = Symptom(
    id=ID,
    title="padding counted in the loss",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "targets",
        "input tokens",
    ),
    doc="""
## What is observed
A large part of the targets is padding that the loss does not ignore.

## How it is measured
A recording compares targets of sequences with the tokens that went into the embedding: rows end in runs of one
target, of different length, where the input is constant too; they make up at least 30 % of all targets, at least
half of the rows end so, and the value is not `ignore_index` and not weighted with 0.

## Healthy range
Padding is ignored (`ignore_index`), masked by hand, or rare.

## What it usually means
`ignore_index` was not set to the padding token, or labels were not replaced by -100.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("padding counts", "present", measured=(_padded(0.43),)),
        Case("ignore_index is the padding", "absent", measured=(_padded(0.43, ignored=0),)),
        Case("little padding", "absent", measured=(_padded(0.29, filled=0.3),)),
        Case("the input goes on", "absent", measured=(_padded(0.43, filled=0.1),)),
        Case("all sequences end at one place", "absent", measured=(_padded(0.43, uneven=False),)),
        Case("a log alone", "unknown"),
    ),
)
