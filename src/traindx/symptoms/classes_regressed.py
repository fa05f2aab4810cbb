"""classes-regressed: regression loss on class labels."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.loss_functions import REGRESSION
from traindx.measurements import Measured, RegressionTargets
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.loss_calls import clearest, other_loss
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "classes-regressed"
CODED = fitted(f"{ID}.coded", 50, unit="targets that are class numbers")
MAX_CLASSES = fitted(f"{ID}.classes", 20, unit="different whole numbers; more are counts", side="below")
BALANCE = fitted(f"{ID}.balance", 0.4, unit="of an equal share, the rarest of three classes or more")
TOGETHER = Threshold(
    2, "classes in one call", "a call with one value only may be a constant target, as for real and fake"
)
# clarity of class numbers: 0 and 1 behind a sigmoid, two without, and more, which may be ratings
BEHIND_SIGMOID, TWO_CLASSES, MORE_CLASSES = 0.9, 0.75, 0.8


def judge(measured: Measured) -> Observation | None:
    found = [_judge_targets(one) for one in measured.all(RegressionTargets)]
    return clearest([*found, other_loss(ID, measured, REGRESSION)])


def _judge_targets(one: RegressionTargets) -> Observation | None:
    if one.one_hot == 1 and one.hot_classes:
        text = (
            f"The targets of {one.loss} are one-hot rows, of {one.hot_classes} classes in one call: a classification "
            "trained with a regression loss."
        )
        return seen(ID, True, text, at=one)
    if _are_classes(one):
        text = (
            f"The targets of {one.loss} are class numbers, 0 to {len(one.codes) - 1} and nothing else in "
            f"{sum(one.codes)} samples: a classification trained with a regression loss."
        )
        return seen(ID, True, text, at=one, clarity=_clarity(one))
    if one.one_hot is not None or one.uncoded:
        return seen(ID, False, f"The targets of {one.loss} are no class codes.", at=one)
    return None


def _are_classes(one: RegressionTargets) -> bool:
    """Whole numbers from 0 on without a gap, few different ones, and about as often each where there are more than
    two."""
    total, classes = sum(one.codes), len(one.codes)
    if not CODED.reached(total) or classes < 2 or not all(one.codes) or not MAX_CLASSES.reached(classes):
        return False
    balanced = classes == 2 or BALANCE.reached(min(one.codes) * classes / total)
    return balanced and TOGETHER.reached(one.most_codes)


def _clarity(one: RegressionTargets) -> float:
    if len(one.codes) > 2:
        return MORE_CLASSES
    return BEHIND_SIGMOID if one.made_by == "Sigmoid" else TWO_CLASSES


SYMPTOM = Symptom(
    id=ID,
    title="regression loss on class labels",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "targets",
    ),
    doc="""
## What is observed
A squared or absolute error is trained on class labels: on one-hot rows, or on class numbers with a single output.

## How it is measured
A recording looks at the targets of regression losses. Plain: every row holds one 1 and zeros else. Less plain: at
least 50 targets, all of them whole numbers from 0 to K - 1 with K up to 20, each about as frequent as the others,
more than one in a call, and one output a sample.

## Healthy range
Targets of a regression are rarely all small whole numbers that start at 0. Ratings and counts are not counted unless
they look like balanced classes.

## What it usually means
A classification with `MSELoss`: gradients vanish where the model is confidently wrong, and class numbers get an order
that does not exist.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "one-hot rows",
            "present",
            measured=(RegressionTargets(loss="mse_loss", one_hot=1.0, hot_classes=10, where="train.py:42"),),
        ),
        Case(
            "class numbers", "present", measured=(RegressionTargets(loss="mse_loss", codes=(20, 18, 22), most_codes=3),)
        ),
        Case(
            "yes and no, one of them rare",
            "present",
            measured=(RegressionTargets(loss="mse_loss", made_by="Sigmoid", codes=(55, 5), most_codes=2),),
        ),
        Case(
            "49 class numbers: too few",
            "unknown",
            measured=(RegressionTargets(loss="mse_loss", codes=(16, 16, 17), most_codes=3),),
        ),
        Case(
            "one class a call",
            "unknown",
            measured=(RegressionTargets(loss="mse_loss", codes=(64, 64), most_codes=1),),
        ),
        Case(
            "counts, few of them large",
            "unknown",
            measured=(RegressionTargets(loss="mse_loss", codes=(60, 30, 5), most_codes=3),),
        ),
        Case(
            "counts with a gap",
            "unknown",
            measured=(RegressionTargets(loss="mse_loss", codes=(30, 0, 30), most_codes=2),),
        ),
        Case("rows of numbers", "absent", measured=(RegressionTargets(loss="mse_loss", one_hot=0.2, hot_classes=10),)),
        Case("one row for all samples", "absent", measured=(RegressionTargets(loss="mse_loss", one_hot=1.0),)),
        Case("real numbers", "absent", measured=(RegressionTargets(loss="mse_loss", uncoded=3),)),
        Case("a log alone", "unknown"),
    ),
)
