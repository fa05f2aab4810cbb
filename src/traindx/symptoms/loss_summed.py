"""loss-summed: loss summed over the batch."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import ClippedGradients, LossReduction, Measured
from traindx.signals import Signals
from traindx.signals.inside import objective
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.clipped_hard import TIMES, clipped_hard
from traindx.symptoms.loss_calls import clearest
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.recipes import falling
from traindx.thresholds import Threshold, fitted

ID = "loss-summed"
PASSES = Threshold(2, "backward passes", "the first one may be a trial of the code")
SAMPLES = fitted(f"{ID}.samples", 4, unit="samples summed")
STEP = fitted(f"{ID}.step", 0.1, unit="learning rate times summed samples", strong=0.5)
NOT_SCALE_FREE = ("SGD", "ASGD")  # Adam and its kin divide the gradient by its own size
FALLEN = Threshold(0.25, "of the first loss gone", "a rate beyond what the loss bears brings no descent")
BLOWN_UP = Threshold(1.5, "times the first loss", "at such a rate the loss leaps up before it falls, if it does")
OFF_BEST = Threshold(3.0, "of its noise above its best level", "three standard deviations, the usual limit of chance")
DOUBTFUL = 0.6  # clarity of a rate that could still be one for a mean


def judge(measured: Measured) -> Observation | None:
    clipped = clipped_hard(measured)
    return clearest(_judge_loss(one, clipped) for one in measured.all(LossReduction) if PASSES.reached(one.passes))


def _judge_loss(one: LossReduction, clipped: ClippedGradients | None) -> Observation | None:
    if not one.samples:
        how = "averaged over the batch" if one.form == "mean" else "summed and then scaled"
        return seen(ID, False, f"{one.loss} is {how}.", at=one)
    if clipped is not None and SAMPLES.reached(one.samples) and not TIMES.reached(clipped.times / one.samples):
        text = (
            f"{_how(one)} The median norm of the gradients is {clipped.times:.3g} times the clipping norm; that of a "
            f"mean would be {clipped.times / one.samples:.2g} times it."
        )
        return seen(ID, True, text, at=one)
    step = one.rate * one.samples
    if one.optimizer not in NOT_SCALE_FREE or not SAMPLES.reached(one.samples) or not STEP.reached(step):
        return None
    text = f"{_how(one)} With {one.optimizer} this multiplies the learning rate of {num(one.rate)} by {one.samples}."
    return seen(ID, True, text, at=one, clarity=max(DOUBTFUL, STEP.clarity(step)))


def _taken(signals: Signals) -> str:
    """Somebody may have chosen the rate for the sum: then the loss falls at once, never leaps up and stays down."""
    curve = objective(signals)
    if curve is None or not FALLEN.reached(curve.reduction) or BLOWN_UP.reached(curve.top / curve.initial):
        return ""
    if OFF_BEST.reached((curve.now - curve.best) / max(curve.level_noise, 1e-12)):
        return ""
    return f"{curve.name} fell by {percent(curve.reduction)} without a leap and stays there: the rate may suit the sum."


def _how(one: LossReduction) -> str:
    if not one.loss:
        return f"The loss is a sum over {one.samples} samples and is never divided."
    added = "added to the loss and " if one.form == "added sum" else ""
    joint = ", " if added else " and "
    return f"{one.loss} is called with reduction='sum' over {one.samples} samples{joint}{added}never divided."


def _clipped(times: float) -> ClippedGradients:
    return ClippedGradients(by="norm", limit=1.0, looks=100, cut=1.0, times=times, sgd=False, rate=0.003)


SYMPTOM = Symptom(
    id=ID,
    title="loss summed over the batch",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "optimiser",
    ),
    doc="""
## What is observed
The loss is a sum over the samples of a batch and is not divided by anything before `backward`, so gradients and steps
grow with the batch.

## How it is measured
A recording follows the graph from the loss function's result (`reduction='sum'`), or from a `sum()` over the batch,
to the loss that `backward` gets, from the second pass on. A division or a factor on the way is a scaling, and it is
absent. It counts for optimisers whose step grows with the gradient (SGD) when four samples or more are summed and
rate times samples reaches 0.1, plainly from 0.5 on; Adam and its kin divide the gradient by its own size. It counts for
every optimiser where clipping cuts the gradients of the sum to a fraction and would not do so with those of the mean.
It is doubtful where the loss lost a quarter or more, never rose to one and a half of its first value and ends at its
best level: the rate may have been chosen for the sum.

## Healthy range
A mean, a sum that is divided by a count, a sum with a rate that was chosen for it, or any sum with an optimiser that
does not care.

## What it usually means
`reduction='sum'` or `.sum()` with a learning rate that was meant for a mean.
""",
    detect=from_measurements(ID, judge, doubt=_taken),
    cases=(
        Case(
            "a sum with a rate for a mean",
            "present",
            measured=(
                LossReduction(
                    loss="cross_entropy",
                    form="sum",
                    samples=64,
                    rate=0.05,
                    optimizer="SGD",
                    passes=3,
                    where="train.py:42",
                ),
            ),
        ),
        Case(
            "a sum that is written out",
            "present",
            measured=(LossReduction(form="sum", samples=64, rate=0.002, optimizer="SGD", passes=3),),
        ),
        Case(
            "a sum that the training takes",
            "present",
            lambda: {"train_loss": falling(60, 22.0, 14.0)},
            measured=(LossReduction(loss="bce", form="sum", samples=32, rate=0.1, optimizer="SGD", passes=3),),
        ),
        Case(
            "a sum after which the loss rests where it began",
            "present",
            lambda: {"train_loss": falling(60, 22.0, 20.0)},
            measured=(LossReduction(loss="bce", form="sum", samples=32, rate=0.1, optimizer="SGD", passes=3),),
        ),
        Case(
            "a sum with a rate made for it",
            "unknown",
            measured=(LossReduction(loss="mse_loss", form="sum", samples=64, rate=0.0015, optimizer="SGD", passes=3),),
        ),
        Case(
            "a sum with Adam",
            "unknown",
            measured=(LossReduction(loss="mse_loss", form="sum", samples=64, rate=0.05, optimizer="Adam", passes=3),),
        ),
        Case(
            "a sum with Adam that clipping cuts to a fraction",
            "present",
            measured=(
                LossReduction(loss="cross_entropy", form="sum", samples=384, rate=0.003, optimizer="AdamW", passes=3),
                _clipped(577.0),
            ),
        ),
        Case(
            "a sum whose mean would be cut to a fraction, too",
            "unknown",
            measured=(
                LossReduction(loss="cross_entropy", form="sum", samples=16, rate=0.003, optimizer="AdamW", passes=3),
                _clipped(577.0),
            ),
        ),
        Case(
            "a sum over three samples",
            "unknown",
            measured=(LossReduction(loss="mse_loss", form="sum", samples=3, rate=0.1, optimizer="SGD", passes=3),),
        ),
        Case(
            "a mean",
            "absent",
            measured=(LossReduction(loss="mse_loss", form="mean", rate=0.1, optimizer="SGD", passes=2),),
        ),
        Case(
            "a sum that is divided",
            "absent",
            measured=(LossReduction(loss="mse_loss", form="scaled sum", rate=0.1, optimizer="SGD", passes=2),),
        ),
        Case(
            "one backward pass: too few to say",
            "unknown",
            measured=(LossReduction(loss="mse_loss", form="sum", samples=64, rate=0.1, optimizer="SGD", passes=1),),
        ),
        Case("a log alone", "unknown"),
    ),
)
