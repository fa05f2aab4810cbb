"""momentum-extreme: an update is the sum of hundreds of gradients."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, OptimizerSettings
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import FromMeasurements, seen
from traindx.symptoms.recipes import falling
from traindx.thresholds import Threshold, fitted

ID = "momentum-extreme"
MOMENTUM = Threshold(
    0.995, "momentum of SGD", "0.99 is in use with Nesterov's correction; this adds up twice as many gradients, 200"
)
LONG_MOMENTUM = Threshold(
    0.99, "momentum of SGD", "where the usual 0.9 needs ten steps to get up to speed, this needs a hundred: 1/(1 - m)"
)
LENGTH = fitted(f"{ID}.length", 10, unit="times as many updates as one update adds up", side="below")
FIRST_BETA = fitted(f"{ID}.first-beta", 0.98, unit="first beta, where it is above the second")
CLEAR = 0.5  # clarity of a momentum that is too long for the run only


def judge(measured: Measured) -> Observation | None:
    found = [one for look in measured.all(OptimizerSettings) for one in (_of_sgd(look), _of_betas(look)) if one]
    return next((one for one in found if one.state == "present"), found[-1] if found else None)


def _of_sgd(look: OptimizerSettings) -> Observation | None:
    momentum = look.momentum
    if look.optimizer != "SGD" or momentum is None or look.dampening:
        return None
    extreme = MOMENTUM.reached(momentum) and momentum < 1
    sums = f": each update adds up the gradients of about {1 / (1 - momentum):.0f} steps" if extreme else ""
    return seen(ID, extreme, f"SGD has a momentum of {momentum:g}{sums}.", at=look)


def _of_betas(look: OptimizerSettings) -> Observation | None:
    if len(look.betas) != 2 or not 0 < look.betas[1] < 1:
        return None
    first, second = look.betas
    extreme = first > second and FIRST_BETA.reached(first)
    longer = ": gradients are remembered for longer than their squares, as if the two were swapped" if extreme else ""
    return seen(ID, extreme, f"{look.optimizer} has betas of {first:g} and {second:g}{longer}.", at=look)


class _Detector(FromMeasurements):
    """Asks, where the settings alone say nothing, whether the run was long enough for them."""

    def __call__(self, signals: Signals) -> Observation:
        found, train = super().__call__(signals), signals.train
        if found.state != "absent" or train is None or train.series.axis != "step" or not signals.run.measured:
            return found
        first = next(iter(signals.run.measured[0].all(OptimizerSettings)), None)
        if first is None or first.optimizer != "SGD" or first.nesterov or first.momentum is None:
            return found
        if not LONG_MOMENTUM.reached(first.momentum) or first.momentum >= 1:
            return found
        memory, updates = 1 / (1 - first.momentum), float(train.x[-1] - train.x[0]) + 1
        if not LENGTH.reached(updates / memory):
            return found
        return seen(
            ID,
            True,
            f"SGD has a momentum of {first.momentum:g}: each update adds up the gradients of about {memory:.0f} steps, "
            f"and the run has {updates:.0f}.",
            clarity=CLEAR,
        )


SGD = OptimizerSettings(optimizer="SGD", momentum=0.9)
LONG = OptimizerSettings(optimizer="SGD", momentum=0.99)

SYMPTOM = Symptom(
    id=ID,
    title="momentum next to one",
    severity="problem",
    family="momentum",
    background=0.002,
    needs=("recording from the inside",),
    doc="""
## What is observed
The optimiser is plain SGD with a momentum so close to one that it adds up the gradients of two hundred steps and more,
or Adam with betas that seem to be swapped.

## How it is measured
The momentum of the optimiser's first group, without dampening. Present from 0.995 on, and, for less, from 0.99 on
without Nesterov's correction where the run has fewer than ten times as many updates as one update adds up. Adam and its
kin show it when the first of two betas is above the second, and 0.98 or more.

## Healthy range
0.9, or up to 0.99 with Nesterov's correction and long runs. A momentum of m makes steps 1/(1 − m) times as long as the
rate says: ten times at 0.9, a hundred times at 0.99, a thousand times at 0.999.

## What it usually means
A decay meant for an average of weights (0.999) was given as momentum, or Adam's second coefficient was. The loss swings
slowly and widely, or overshoots once and does not come back within the run.
""",
    detect=_Detector(ID, judge),
    cases=(
        Case("0.999", "present", measured=(OptimizerSettings(optimizer="SGD", momentum=0.999),)),
        Case("0.9", "absent", measured=(SGD,)),
        Case(
            "0.999 with dampening",
            "unknown",
            measured=(OptimizerSettings(optimizer="SGD", momentum=0.999, dampening=0.9),),
        ),
        Case("swapped betas", "present", measured=(OptimizerSettings(optimizer="Adam", betas=(0.999, 0.9)),)),
        Case("usual betas", "absent", measured=(OptimizerSettings(optimizer="Adam", betas=(0.9, 0.999)),)),
        Case("two betas of 0.95", "absent", measured=(OptimizerSettings(optimizer="Adam", betas=(0.95, 0.95)),)),
        Case("one of two optimisers", "present", measured=(OptimizerSettings(optimizer="SGD", momentum=0.999), SGD)),
        Case("0.99 in a short run", "present", lambda: {"train_loss": falling(400, 2.3, 0.5)}, measured=(LONG,)),
        Case("0.99 in a long run", "absent", lambda: {"train_loss": falling(4000, 2.3, 0.5)}, measured=(LONG,)),
        Case(
            "0.99 with Nesterov's correction",
            "absent",
            lambda: {"train_loss": falling(400, 2.3, 0.5)},
            measured=(OptimizerSettings(optimizer="SGD", momentum=0.99, nesterov=True),),
        ),
        Case("a log alone", "unknown"),
    ),
)
