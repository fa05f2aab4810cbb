"""evaluated-in-train-mode: the model is evaluated in train mode."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import DroppedInEvaluation, EvaluationModes, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.modes import CLARITY, layers
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "evaluated-in-train-mode"
CALLS = Threshold(
    2, "calls in one break with a loss", "one batch may be any look at the model; two are a loop over data"
)
BREAKS = Threshold(2, "breaks between updates with such calls", "one may be a look at the model; two are a habit")
EVALUATIONS = Threshold(2, "evaluations in which a function dropped", "one may be an experiment; two are a habit")


def judge(measured: Measured) -> Observation | None:
    modes = measured.all(EvaluationModes)
    in_train, in_eval = (next(filter(None, map(check, modes)), None) for check in (_in_train, _in_eval))
    return in_train or _dropped(measured) or in_eval


def _in_train(modes: EvaluationModes) -> Observation | None:
    """Calls in train mode. One in eval mode before them shows that the script knows of the modes."""
    if modes.in_eval or not (CALLS.reached(modes.most_with_loss) or BREAKS.reached(modes.breaks)):
        return None
    sentence = (
        f"{modes.where} was called {modes.in_train} times with gradients off and in train mode: its {layers(modes)} "
        "acted as in training."
    )
    return seen(ID, True, sentence, at=modes, clarity=CLARITY)


def _dropped(measured: Measured) -> Observation | None:
    """Dropout that model.eval() does not reach. A batch that is answered several times is to show how the answers
    scatter."""
    enough = [one for one in measured.all(DroppedInEvaluation) if EVALUATIONS.reached(one.evaluations)]
    if not enough or enough[0].repeated:
        return None
    sentence = (
        "Dropout that is called as a function with training=True acted while "
        f"{enough[0].where} was evaluated in eval mode: model.eval() does not reach it."
    )
    return seen(ID, True, sentence, at=enough[0])


def _in_eval(modes: EvaluationModes) -> Observation | None:
    if not modes.in_eval:
        return None
    sentence = f"{modes.where} was in eval mode when it was evaluated."
    return seen(ID, False, sentence, at=modes, clarity=CLARITY)


def _modes(in_eval: int, in_train: int, breaks: int, most_with_loss: int) -> EvaluationModes:
    return EvaluationModes(
        in_eval=in_eval,
        in_train=in_train,
        breaks=breaks,
        most_with_loss=most_with_loss,
        dropouts=1,
        batchnorms=4,
        where="Net",
    )


def _dropping(evaluations: int, repeated: bool = False) -> DroppedInEvaluation:
    return DroppedInEvaluation(evaluations=evaluations, repeated=repeated, where="Net")


SYMPTOM = Symptom(
    id=ID,
    title="evaluation in train mode",
    severity="problem",
    family="mode",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Between updates the model is called with gradients off while its dropout or batch-norm layers are in train mode.

## How it is measured
Calls are watched after gradients are switched off or a loss is computed without them. The batch just trained on,
sampling from a generator and models that are not trained do not count. Two calls in train mode in one break between
updates, with a loss computed there, or such calls in two breaks make it present; one call in eval mode before them
settles that there is no fault. Dropout that is called as a function with `training=True` counts where the layer that
calls it is in eval mode and a loss is computed from the answer, in two evaluations, unless one batch is answered
several times to see how far the answers scatter.

## Healthy range
All dropout and batch-norm layers in eval mode while evaluating.

## What it usually means
`model.eval()` is missing before validation, or `F.dropout` is called without `training=self.training`. Scores are noisy
and too low, and batch norm learns from validation data.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("no eval()", "present", measured=(_modes(0, 397, 20, 20),)),
        Case("two batches with a loss", "present", measured=(_modes(0, 2, 1, 2),)),
        Case("one batch with a loss, once", "unknown", measured=(_modes(0, 1, 1, 1),)),
        Case("many calls without a loss, once", "unknown", measured=(_modes(0, 50, 1, 0),)),
        Case("eval() from the second evaluation on", "present", measured=(_modes(0, 20, 1, 20), _modes(1, 20, 1, 20))),
        Case("eval() is called", "absent", measured=(_modes(1, 0, 0, 0),)),
        Case("Monte-Carlo dropout after an evaluation", "absent", measured=(_modes(1, 0, 0, 0), _modes(9, 30, 3, 30))),
        Case("dropout as a function", "present", measured=(_modes(1, 0, 0, 0), _dropping(1), _dropping(2))),
        Case(
            "the scatter of the answers is wanted", "absent", measured=(_modes(1, 0, 0, 0), _dropping(2, repeated=True))
        ),
        Case("dropped in one evaluation", "unknown", measured=(_dropping(1),)),
        Case("a log alone", "unknown"),
    ),
)
