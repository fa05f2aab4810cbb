"""parameters-not-optimized: parameters receive gradients that no optimiser uses."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import LoadedWeights, Measured, UnheldParameters
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.learning import listed, pretrained, since
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import fitted

ID = "parameters-not-optimized"
SHARE = fitted(f"{ID}.share", 0.01, unit="of the weights that a loss reaches, to be plain")
NAMED = 2  # parameters in the sentence
FEW_CLEAR = 0.6  # clarity where it is fewer
HEAD_CLEAR = 0.4  # an optimiser over the head alone saves the trouble of freezing the rest: wasteful, but often meant


def judge(measured: Measured) -> Observation | None:
    looks = measured.all(UnheldParameters)
    if not looks:
        return None
    last = looks[-1]
    if not last.unheld:
        text = f"All {last.reached} parameters with a gradient belong to an optimiser."
        return seen(ID, False, text, at=since(looks, lambda look: not look.unheld))
    first = since(looks, lambda look: look.unheld > 0)  # at the end the optimisers and their lines may be gone
    share = last.unheld_weights / max(last.reached_weights, 1)
    plain = "." if last.registered else "; they are not registered in the model (a plain list of layers?)."
    names = tuple(dict.fromkeys(last.names))[:NAMED]
    return seen(
        ID,
        True,
        f"{last.unheld} of {last.reached} parameters ({share * 100:.3g} % of the weights) receive a gradient, but no "
        f"optimiser holds them: {listed(names, last.unheld)}{plain}",
        at=first,
        where=first.built_at or last.built_at or last.names[0],
        clarity=_clarity(last, share, measured),
    )


def _clarity(look: UnheldParameters, share: float, measured: Measured) -> float:
    if look.registered and look.head_only and pretrained(measured):
        return HEAD_CLEAR
    return 1.0 if SHARE.reached(share) else FEW_CLEAR


SYMPTOM = Symptom(
    id=ID,
    title="parameters that no optimiser updates",
    severity="problem",
    family="not-optimized",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
A loss reaches parameters, they receive a gradient at every step, and no optimiser holds them: they never move.

## How it is measured
On the first steps the graph of each loss is followed to its parameters, registered in a model or not, and compared
with the groups of every optimiser that exists. A parameter counts only if its numbers stand still as well, so that
updates by hand and moving averages are left alone. The last look counts. Plain where they are more than 1 % of the
weights that a loss reaches.

## Healthy range
None. Two optimisers that share the work (generator and discriminator) hold all parameters between them. An optimiser
over the head of a model with loaded weights is often meant; that is reported with less weight.

## What it usually means
Layers in a plain list or dict, an optimiser built before the head was replaced or the model changed, a filter on
names that matches too little, or only one of two models passed.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "a list of layers",
            "present",
            measured=(
                UnheldParameters(reached=6, reached_weights=500, unheld=4, unheld_weights=400, names=("0.weight",)),
            ),
        ),
        Case(
            "the optimiser holds the head of a model with loaded weights",
            "present",
            measured=(
                LoadedWeights(loaded=True),
                UnheldParameters(
                    reached=6,
                    reached_weights=500,
                    unheld=4,
                    unheld_weights=400,
                    registered=4,
                    names=("0.weight",),
                    head_only=True,
                ),
            ),
        ),
        Case("all are held", "absent", measured=(UnheldParameters(reached=6, reached_weights=500),)),
        Case(
            "added to the optimiser later",
            "absent",
            measured=(
                UnheldParameters(reached=6, reached_weights=500, unheld=2, unheld_weights=80, names=("4.weight",)),
                UnheldParameters(reached=6, reached_weights=500, step=9),
            ),
        ),
        Case("a log alone", "unknown"),
    ),
)
