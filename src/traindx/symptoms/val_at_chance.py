"""val-at-chance: validation never improves while training learns."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.score import Score
from traindx.symptoms.base import Case, Symptom, clarity, num
from traindx.symptoms.recipes import falling, flat, ramp

ID = "val-at-chance"
MIN_POINTS = 4
LEARNT = 0.3  # reduction of the training loss that proves learning
LEARNT_SLOWLY = 0.12  # enough where loss and score of many evaluations agree that nothing carries over
MANY = 8  # evaluations
REST = 0.05  # of the validation loss, within which nothing was gained
LEAST_LOSS = 0.66  # of guessing between two classes that are about equally frequent
NO_SKILL = 1.3  # times exp(-loss): an accuracy of validation sets of a few hundred samples scatters
NO_SKILL_CLEAR = 0.7
FITTED = 0.6  # reduction that proves a good fit, where chance is not known
MOSTLY_RIGHT = 0.55  # an accuracy that guessing between two does not reach; the first evaluation came late
GONE = 0.2  # of the first training loss left: what carries over shows by then
STUCK = 0.07  # share of the first validation value within which nothing was gained


def detect(signals: Signals) -> Observation:
    train = signals.train
    if signals.kind != "supervised" or train is None or len(train) < 6:
        return Observation(ID, "unknown", "No training loss to compare validation with.")
    stuck = _never_improved(signals)
    if stuck is not None:
        return stuck
    unskilled = _no_skill(signals) if signals.classes is None else None
    if unskilled is not None:
        return unskilled
    if signals.classes is None or signals.classes[0] > 2000:
        return Observation(ID, "unknown", "The number of classes is not known (give --classes N).")
    if train.reduction < (LEARNT_SLOWLY if _worse_than_guessing(signals, signals.classes[0]) else LEARNT):
        return Observation(ID, "absent", f"Training itself has not learnt ({train.name} {num(train.now)}).")
    count = signals.classes[0]
    score, val = signals.score, signals.val
    if score is not None and len(score) >= MIN_POINTS and score.series.meaning.split in ("val", "test"):
        value, scale = score.logged(score.best), Score(score)
        base = scale.top / count
        skill = scale.above_chance(count)
        text = f"the best {score.name} is {num(value)}; guessing gives {num(base)}"
        if skill < 0.06:
            return Observation(ID, "present", f"Training learns ({train.name} {num(train.now)}), but {text}.",
                               (float(score.x[0]), float(score.x[-1])), score.name,
                               clarity(-skill, -0.06, -0.02))  # fmt: skip
        return Observation(ID, "absent", f"Validation beats chance: {text}.")
    if val is not None and len(val) >= MIN_POINTS and val.series.meaning.kind == "loss":
        goal = float(np.log(count))
        if val.best > 0.97 * goal and train.now < 0.6 * goal:
            return Observation(
                ID, "present", f"Training is at {num(train.now)}, {val.name} never got below {num(val.best)}; chance "
                               f"is {num(goal)}.",
                (float(val.x[0]), float(val.x[-1])), val.name, 0.8,
            )  # fmt: skip
        return Observation(ID, "absent", f"The best {val.name} is {num(val.best)}; chance is {num(goal)}.")
    return Observation(ID, "unknown", "No validation loss or score was logged.")


def _no_skill(signals: Signals) -> Observation | None:
    """Without knowing chance: a validation loss L and an accuracy near exp(-L) both stay where they began. Who knows
    nothing and gives every class its share is right so often; whoever knows something more often."""
    train, val, score = signals.train, signals.val, signals.score
    if train is None or val is None or score is None or min(len(val), len(score)) < MANY or val.sign < 0:
        return None
    if "acc" not in score.name.lower() or val.series.meaning.kind != "loss" or train.reduction < LEARNT_SLOWLY:
        return None
    level, right = float(np.median(val.y)), float(np.median(score.series.values)) / Score(score).top
    rests = float(val.y[0] - val.y.min()) <= REST * level and float(np.ptp(val.y)) <= 2 * REST * level
    if not rests or level < LEAST_LOSS or not 0 < right <= NO_SKILL * float(np.exp(-level)):
        return None
    text = f"Training learns ({train.name} {num(train.now)}), but {val.name} rests at {num(level)} and {score.name} at "
    text += f"{num(float(np.median(score.series.values)))}, as where the inputs tell nothing."
    return Observation(ID, "present", text, (float(val.x[0]), float(val.x[-1])), val.name, NO_SKILL_CLEAR)


def _worse_than_guessing(signals: Signals, classes: int) -> bool:
    """A validation loss that never came below chance and a score that never came above it, over many evaluations."""
    val, score = signals.val, signals.score
    if val is None or score is None or min(len(val), len(score)) < MANY or val.series.meaning.kind != "loss":
        return False
    return val.best > 0.97 * float(np.log(classes)) and Score(score).best < 1.1 / classes


def _never_improved(signals: Signals) -> Observation | None:
    """Without knowing chance: training fits its data, and neither validation loss nor score ever got better."""
    train, val, score = signals.train, signals.val, signals.score
    if train is None or val is None or len(val) < MIN_POINTS or train.reduction < FITTED:
        return None
    gained = (float(val.y[0]) - float(val.y.min())) / max(abs(float(val.y[0])), 1e-300)
    if gained > STUCK or val.now < 2 * abs(train.now) or train.sign * val.sign < 0:
        return None
    also = ""
    right = score is not None and len(score) >= MIN_POINTS and "acc" in score.name.lower()
    if right and score is not None and Score(score).now > MOSTLY_RIGHT:
        return None
    if came_late(train, val):
        return None
    if score is not None and len(score) >= MIN_POINTS and score.series.meaning.split in ("val", "test"):
        if float(score.y[0]) - float(score.y.min()) > STUCK * Score(score).top:
            return None
        also = f" and {score.name} stayed at {num(score.logged(score.now))}"
    return Observation(
        ID, "present", f"{train.name} fell to {num(train.now)}, but {val.name} never got better than at its first "
                       f"evaluation "
        f"({num(float(val.y[0]))}, now {num(val.now)}){also}.",
        (float(val.x[0]), float(val.x[-1])), val.name, 0.9 if also else 0.5,
    )  # fmt: skip


def came_late(train: Curve, val: Curve) -> bool:
    """The first evaluation, after which nothing was gained, came when most of the training loss was gone."""
    before = train.y[train.x <= val.x[0]] if train.series.axis == val.series.axis else train.y[:0]
    return len(before) >= MIN_POINTS and float(before[-1]) < GONE * float(train.y[0])


SYMPTOM = Symptom(
    id=ID,
    title="validation never improves while training learns",
    severity="problem",
    family="generalisation",
    background=0.01,
    needs=("validation loss or score", "number of classes"),
    doc="""
## What is observed
The training loss falls by a third or more; validation never beats guessing.

## How it is measured
With K classes known: the best validation score has less than 6 % of what lies above 1/K, or the validation loss never
fell below ln(K) while the training loss is at 60 % of it or less. Without K: the training loss lost 60 % or more, the
validation loss never gained 7 % on its first value and is twice the training loss, and no validation score moved.
Training that learns slowly (12 % of its first loss) is enough where loss and score of eight evaluations or more stay at
chance. Where K is not known, eight evaluations or more whose loss L rests within 5 % and whose accuracy is at most 1.3
times exp(-L), which is all that guessing by frequency reaches, while the training loss lost 12 %.

## Healthy range
Whatever is learnt in training should show in validation within the first epochs, if less of it.

## What it usually means
Validation is another task: other preprocessing, other label encoding, labels shuffled against inputs, evaluation with
stale BatchNorm statistics, or a split that shares nothing with training. Pure memorisation looks like this only with
random labels.
""",
    detect=detect,
    cases=(
        Case("validation guesses", "present", lambda: {"train_loss": falling(50, 2.3, 0.2),
                                                       "val_acc": flat(20, 0.1, 0.02)}, {"num_classes": 10}),
        Case("validation never moves, classes unknown", "present",
             lambda: {"train_loss": falling(8, 0.9, 0.02), "val_loss": flat(8, 4.2, 0.05),
                      "val_acc": flat(8, 0.09, 0.02)}),
        Case("both rest where guessing among six gives them, classes unknown", "present",
             lambda: {"train_loss": falling(9, 2.3, 1.7), "val_loss": flat(9, 1.80, 0.01),
                      "val_acc": np.round(flat(9, 0.2, 0.1), 3)}),
        Case("next tokens: an accuracy far above exp(-loss)", "unknown",
             lambda: {"train_loss": falling(9, 3.6, 3.0), "val_loss": flat(9, 3.1, 0.005),
                      "val_acc": flat(9, 0.4, 0.01)}),
        Case("slow memorising, validation guesses", "present",
             lambda: {"train_loss": ramp(50, 0.71, 0.54), "val_loss": ramp(20, 0.70, 0.79),
                      "val_acc": flat(20, 0.49, 0.01)}, {"num_classes": 2}),
        Case("validation learns", "absent", lambda: {"train_loss": falling(50, 2.3, 0.2),
                                                     "val_acc": ramp(20, 0.1, 0.8)}, {"num_classes": 10}),
        Case("classes unknown", "unknown", lambda: {"train_loss": falling(50, 2.3, 0.2),
                                                    "val_acc": flat(20, 0.1, 0.02)}),
    ),
)  # fmt: skip
