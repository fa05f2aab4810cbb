"""logits-growing: the scores before a softmax grow far beyond what they need."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import LogitSizes, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "logits-growing"
MIN_LOOKS = Threshold(10, "updates looked at", "fewer have no first and last part")
ATTENTION = Threshold(
    50.0,
    "the largest attention score",
    "above about 50 a softmax is one-hot in half precision; Dehghani et al. 2023 saw divergence beyond some hundred",
    strong=200.0,
)
OUTPUT = Threshold(
    100.0,
    "the largest output score",
    "a probability of 1e-40 needs 92; runs with z-loss stay near 10 (Wortsman et al. 2023)",
    strong=300.0,
)
GROWTH = fitted(f"{ID}.growth", 4.0, unit="times the first looks")


def judge(measured: Measured) -> Observation | None:
    latest = {one.scores: one for one in measured.all(LogitSizes) if MIN_LOOKS.reached(one.looks)}
    if not latest:
        return None
    for kind, limit in (("attention", ATTENTION), ("output", OUTPUT)):
        look = latest.get(kind)
        if look is not None and limit.reached(look.last) and GROWTH.reached(look.last / max(look.first, 1.0)):
            return seen(
                ID,
                True,
                f"The largest {kind} score grew from {look.first:.3g} to {look.last:.3g} over the checked updates "
                f"(below {limit.value:g} in a stable training).",
                at=look,
                clarity=limit.clarity(look.last),
            )
    last = next(iter(latest.values()))
    return seen(ID, False, f"The largest {last.scores} score is {last.last:.3g}, at first {last.first:.3g}.", at=last)


CALM = LogitSizes(scores="attention", looks=40, first=1.2, last=9.0, peak=10.0, step=400)

SYMPTOM = Symptom(
    id=ID,
    title="scores before a softmax grow without end",
    severity="problem",
    family="logits",
    background=0.005,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The largest score between queries and keys, or of the outputs that cross-entropy takes, grows many times over.

## How it is measured
On close looks: the largest absolute score of some heads and places of every call of `scaled_dot_product_attention`, and
of some rows of what cross-entropy is given. The median of the last five looks is compared with that of the first five.

## Healthy range
Attention scores of a few tens, outputs of 10 to 30. Both grow in the first part of a training and then settle.

## What it usually means
A rate that is too high for attention without normalised queries and keys, no z-loss or weight decay on a large
vocabulary, tokens that never occur as targets. The update norm rises before loss and gradient do.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("attention runs away", "present", measured=(replace(CALM, last=300.0, peak=310.0),)),
        Case("outputs run away", "present", measured=(replace(CALM, scores="output", first=2.0, last=400.0),)),
        Case("grows and settles", "absent", measured=(CALM,)),
        Case("large from the start", "absent", measured=(replace(CALM, first=60.0, last=70.0),)),
        Case("too few looks", "unknown", measured=(replace(CALM, looks=4, last=300.0),)),
        Case("a log alone", "unknown"),
    ),
)
