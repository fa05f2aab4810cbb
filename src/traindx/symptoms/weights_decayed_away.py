"""weights-decayed-away: weight decay has shrunk the weights to a small part of their start."""

from __future__ import annotations

from statistics import median

from traindx.diagnosis import Observation
from traindx.measurements import DecayedWeights, Measured
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "weights-decayed-away"
# without norm layers the output shrinks with every matrix; where a norm layer follows, the size of the weights does not
# matter
SHRUNK = fitted(f"{ID}.shrunk", 0.3, unit="of the initial norm, median matrix", strong=0.1, side="below")
SHRUNK_NORMALISED = fitted(
    f"{ID}.shrunk-normalised", 0.03, unit="of the initial norm, median matrix of a model with norm layers", side="below"
)
BEYOND = Threshold(5.0, "weight decay", "published recipes go up to 1 (grokking, Power et al. 2022)")
DECAY = fitted(f"{ID}.decay", 0.01, unit="weight decay")
CLEAR = 0.8  # clarity of a finding that is not strong


def judge(measured: Measured) -> Observation | None:
    looks = [one for one in measured.all(DecayedWeights) if one.ratios]
    if not looks:
        return None
    shrunk = [one for one in looks if _has_shrunk(one)]
    worst = min(shrunk, key=lambda one: median(one.ratios)) if shrunk else looks[-1]
    ratio = median(worst.ratios)
    sentence = (
        f"With a weight decay of {worst.decay:g} the median of {len(worst.ratios)} weight matrices has shrunk to "
        f"{percent(ratio)} of its initial norm."
    )
    return seen(
        ID, bool(shrunk), sentence, at=shrunk[0] if shrunk else worst, clarity=max(CLEAR, SHRUNK.clarity(ratio))
    )


def _has_shrunk(look: DecayedWeights) -> bool:
    limit = SHRUNK_NORMALISED if look.normalised and not BEYOND.reached(look.decay) else SHRUNK
    return DECAY.reached(look.decay) and limit.reached(median(look.ratios))


SYMPTOM = Symptom(
    id=ID,
    title="weight decay shrinks the weights away",
    severity="problem",
    family="decay",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The weight matrices have shrunk to a small part of their initial size under weight decay: the pull to zero is stronger
than what the loss asks for.

## How it is measured
The norms of the matrices in groups with weight decay, before the first update and on later steps that are looked at
closely: present when the middle one is below 30 % of its start in a model without norm layers, below 3 % in one with
them, where the size of weights has no effect on the output. With a weight decay that no recipe uses, five and more, it
is 30 % there, too: heads and embeddings have no norm layer behind them.

## Healthy range
Weights that grow or keep their size. Scale-free layers in front of a norm may shrink to a third.

## What it usually means
A weight decay hundreds of times too large for this rate, often a value meant for another optimiser.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("decay of 5", "present", measured=(DecayedWeights(decay=5.0, ratios=(0.03, 0.04, 0.2), normalised=False,
                                                               step=40),)),
        Case("decay of 5 that the loss undoes later", "present",
             measured=(DecayedWeights(decay=5.0, ratios=(0.04,), normalised=False),
                       DecayedWeights(decay=5.0, ratios=(0.5,), normalised=False))),
        Case("decay of 100 beside norm layers", "present",
             measured=(DecayedWeights(decay=100.0, ratios=(0.1, 0.14, 0.2), normalised=True),)),
        Case("decay of 1 beside norm layers, as for grokking", "absent",
             measured=(DecayedWeights(decay=1.0, ratios=(0.1, 0.14, 0.2), normalised=True),)),
        Case("decay of 1e-4", "absent", measured=(DecayedWeights(decay=1e-4, ratios=(0.9, 1.1, 1.3), normalised=False),
                                                  )),
        Case("a fifth left before a norm layer", "absent",
             measured=(DecayedWeights(decay=0.5, ratios=(0.2, 0.2), normalised=True),)),
        Case("next to nothing left before a norm layer", "present",
             measured=(DecayedWeights(decay=0.5, ratios=(0.02, 0.02), normalised=True),)),
        Case("shrinks under a tiny decay: not the decay's doing", "absent",
             measured=(DecayedWeights(decay=1e-4, ratios=(0.05,), normalised=False),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
