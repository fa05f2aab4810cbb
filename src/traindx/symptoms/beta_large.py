"""beta-large: a preference loss weighs log ratios so much that pairs count as learned before anything has changed."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, PreferencePairs
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "beta-large"
PAIRS = Threshold(8, "pairs beside a reference", "without a reference the factor has another scale (SimPO: 2 to 2.5)")
WHOLE = Threshold(
    10.0,
    "nats that a chosen answer costs",
    "the logarithm of a vocabulary of 22,000: smaller numbers may be means over tokens, whose factor is larger",
)
LARGE = Threshold(
    2.0, "of a log ratio of whole answers", "Rafailov et al. 2023 and the defaults of trainers: 0.01 to 0.5", strong=5.0
)


def judge(measured: Measured) -> Observation | None:
    found: Observation | None = None
    for one in measured.latest(PreferencePairs):
        if one.beta is None or not PAIRS.reached(one.later) or not WHOLE.reached(-one.chosen):
            continue
        if LARGE.reached(one.beta):
            return seen(
                ID, True,
                f"beta is {num(one.beta)} (usual: 0.01 to 0.5): a log ratio of {num(1 / one.beta)} nats already counts "
                f"as a clear preference. Chosen and rejected answers are {num(one.margin)} nats apart.", at=one,
                clarity=LARGE.clarity(one.beta),
            )  # fmt: skip
        found = found or seen(ID, False, f"beta is {num(one.beta)}, as usual.", at=one)
    return found


def _pairs(beta: float | None, *, chosen: float = -80.0, later: int = 90) -> tuple[PreferencePairs, ...]:
    return (
        PreferencePairs(
            looks=12, pairs=100, identical=0, margin=0.6, first_margin=0.1, right=0.9, later=later, on_reference=0,
            beta=beta, chosen=chosen, where="dpo.py:40",
        ),
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="a preference loss with a large beta",
    severity="problem",
    family="preference",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The factor of the log ratio in a preference loss with a reference is far above the usual range.

## How it is measured
The factor is read from the operations between the two log-probabilities and log-sigmoid, or from a variable named
beta. It is judged only where a reference was seen and log-probabilities are sums over whole answers: losses on means
over tokens, or without a reference, have scales of their own.

## Healthy range
0.01 to 0.5.

## What it usually means
A beta of another method (SimPO's is 2 to 10), or a factor that is applied twice. The gradient of a pair vanishes as
soon as its log ratio reaches a few times 1 / beta, so that the policy stays next to the reference.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("ten instead of a tenth", "present", measured=_pairs(10.0)),
        Case("usual", "absent", measured=_pairs(0.1)),
        Case("just below", "absent", measured=_pairs(1.9)),
        Case("means over tokens", "unknown", measured=_pairs(10.0, chosen=-2.3)),
        Case("no reference", "unknown", measured=_pairs(2.5, later=0)),
        Case("not known", "unknown", measured=_pairs(None)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
