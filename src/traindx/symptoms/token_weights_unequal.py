"""token-weights-unequal: tokens of short micro-batches count more than those of long ones."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import CountedTokens, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "token-weights-unequal"
UPDATES = Threshold(3, "updates of several passes", "one may end an epoch with a smaller batch")
RATIO = fitted(f"{ID}.ratio", 3.0, unit="times as many counted tokens in the longest pass of an update", strong=8.0)
SHIFT = fitted(f"{ID}.shift", 1.05, unit="times the token-weighted loss, or its inverse", strong=1.3)
EQUAL = Threshold(0.9, "of the updates weigh every pass the same", "the rest may be rounding")


def judge(measured: Measured) -> Observation | None:
    looks = [one for one in measured.all(CountedTokens) if UPDATES.reached(one.updates)]
    if not looks:
        return None
    last = looks[-1]
    unweighted = EQUAL.reached(last.equal / last.updates)
    present = unweighted and RATIO.reached(last.ratio) and SHIFT.reached(last.shift)
    if not present:
        how = "weighs every pass the same" if unweighted else "weighs passes by what they count"
        return seen(
            ID, False,
            f"An update {how}; its passes count {last.ratio:.1f} times as many tokens at most, and the loss is "
            f"{last.shift:.2f} times off its token-weighted value.", at=last,
        )  # fmt: skip
    return seen(
        ID,
        True,
        f"Each of {last.passes} passes before an update weighs the same, although the longest counts {last.ratio:.1f} "
        f"times as many tokens as the shortest: a token of the shortest weighs {last.ratio:.1f} times as much, and the "
        f"loss is {last.shift:.2f} times off its token-weighted value.",
        at=last,
        clarity=min(RATIO.clarity(last.ratio), SHIFT.clarity(last.shift)),
    )


UNEQUAL = CountedTokens(
    updates=20, passes=4, equal=20, ratio=6.5, shift=1.25, largest_shift=1.4, step=20, where="train.py:30"
)

SYMPTOM = Symptom(
    id=ID,
    title="tokens weigh more in short micro-batches",
    severity="problem",
    family="token-weights",
    background=0.004,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Gradients of several backward passes add up to one update, each pass on the mean over its own counted tokens, and the
passes count very different numbers of tokens. The mean of means is not the mean over tokens.

## How it is measured
On close looks: the targets of cross-entropy that are not ignored, the mean loss and the number that `backward` ran on,
for every pass before an update. Where the factor between the two is the same in all passes, each pass weighs the same.
The mean of means is compared with the token-weighted mean.

## Healthy range
Passes of about equal length (packed sequences), or losses summed and divided by the counted tokens of the whole update,
as the Hugging Face Trainer does with `num_items_in_batch`.

## What it usually means
`loss / accumulation_steps` on batches of very different lengths.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("short and long micro-batches", "present", measured=(UNEQUAL,)),
        Case("divided by all counted tokens", "absent", measured=(replace(UNEQUAL, equal=0),)),
        Case("packed to one length", "absent", measured=(replace(UNEQUAL, ratio=1.02, shift=1.001),)),
        Case("lengths differ, losses do not", "absent", measured=(replace(UNEQUAL, shift=1.02),)),
        Case("one update", "unknown", measured=(replace(UNEQUAL, updates=1, equal=1),)),
        Case("a log alone", "unknown"),
    ),
)
