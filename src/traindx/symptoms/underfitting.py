"""underfitting: training and validation both stay high."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals, choose
from traindx.signals.curve import Curve
from traindx.signals.progress import MOVED, Progress
from traindx.signals.score import Score
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.loss_calls import summed
from traindx.symptoms.recipes import falling, flat, then
from traindx.thresholds import Threshold

ID = "underfitting"
HIGH = Threshold(
    0.55, "of chance level", "a classifier that fits ends below half of it; one at 0.8 hardly learnt", strong=0.8
)
LOW_SKILL = Threshold(0.45, "of the accuracy above chance", "most mistakes of a guess are still made", side="below")
TERMS = Threshold(3.0, "times chance level at first", "a loss that is added up over positions or tasks")
LEARNT = Threshold(0.5, "of its first value lost", "a sum of terms that falls by half is learning")
GAP = 0.2  # validation may be this much above train
LANGUAGE = Threshold(2000, "classes", "next-token losses of 40 % of ln(vocabulary) are ordinary")
STALLED = 0.05  # of the progress, in the last third of the run
MOST_PROGRESS = 0.9  # of the progress, made before this share of the run
MIN_SCORES = 3
FIRST_LOSS = (0.6, 7.0)  # of a fresh classifier: ln 2 to ln 1000
KNOWN_CLEAR, GUESSED_CLEAR = 1.0, 0.4  # how clear it can be with a known number of classes, and with a guessed one
LEARNT_BEFORE = Threshold(0.85, "of chance level", "a first loss so far below it is no fresh model's", side="below")


def detect(signals: Signals) -> Observation:
    train, val = signals.train, signals.val
    if signals.kind != "supervised" or train is None or len(train) < 6:
        return Observation(ID, "unknown", "No training loss long enough to judge the fit.")
    if train.x[0] > 0.2 * train.x[-1] and train.series.axis == "step":
        return Observation(ID, "unknown", "The log begins in the middle of the run.")
    classes, clearest = _classes(signals, train)
    if classes is None or train.series.meaning.kind != "loss":
        return Observation(ID, "unknown", "What loss would be good is not known (give --classes N for a classifier).")
    chance = float(np.log(classes))
    level, course = train.now / chance, Progress(train)
    close = val is None or len(val) < 2 or val.now < train.now * (1 + GAP)
    if level > 1 and summed(signals.run):
        return Observation(ID, "unknown", f"{train.name} is a sum over samples: chance level is that of a mean.")
    if level > 1 and TERMS.reached(train.initial / chance) and LEARNT.reached(train.reduction):
        text = f"{train.name} began at {num(train.initial / chance)} times chance level and fell: a sum of terms."
        return Observation(ID, "unknown", text)
    skilled = not LOW_SKILL.reached(_skill(signals.score, classes))
    unfitted = HIGH.reached(level) and close and not skilled and not LANGUAGE.reached(classes)
    if unfitted and MOVED.reached(course.share) and _stalled(train):
        score = signals.score
        also = f", {score.name} {num(score.logged(score.best))}" if score is not None and len(score) else ""
        return Observation(
            ID, "present", f"{train.name} ends at {num(train.now)}, {percent(level)} of ln({classes:.0f}) = "
                           f"{num(chance)}, the loss of a blind guess{also}, "
            f"and {'validation is no better: neither is fitted' if signals.val is not None else 'it no longer falls'}.",
            (float(train.x[0]), float(train.x[-1])), train.name, min(HIGH.clarity(level), clearest),
        )  # fmt: skip
    return Observation(ID, "absent", f"{train.name} ends at {percent(level)} of ln({classes:.0f}) = {num(chance)}.")


def _classes(signals: Signals, train: Curve) -> tuple[float | None, float]:
    """How many classes there are, and how clear a finding by them can be. Where nobody gave it, or the first loss lies
    far below a guess among those given, an accuracy beside a first loss of ln K gives K."""
    given = None if signals.classes is None else float(signals.classes[0])
    fresh = FIRST_LOSS[0] < train.initial < FIRST_LOSS[1]
    doubted = given is not None and LEARNT_BEFORE.reached(train.initial / float(np.log(given)))
    score = signals.score
    plain = signals.trainer is None or signals.trainer.task == "supervised"  # pairs of answers are no classes
    if (given is not None and not doubted) or not (fresh and plain) or score is None or len(score) < MIN_SCORES:
        return given, KNOWN_CLEAR
    accuracy, guessed = "acc" in score.name.lower(), float(np.exp(train.initial))
    if not accuracy or Score(score).first > 2 / guessed or train.name.startswith(choose.SUM):
        return given, KNOWN_CLEAR
    return round(guessed), GUESSED_CLEAR


def _skill(score: Curve | None, classes: float) -> float:
    return Score(score).above_chance(round(classes)) if score is not None and len(score) >= MIN_SCORES else 0.0


def _stalled(train: Curve) -> bool:
    """Whether the descent has slowed."""
    slow = train.tail_trend(0.3)[0] > -STALLED * max(train.progress, 1e-12)
    return slow or train.clock_share(train.reached(MOST_PROGRESS)) < MOST_PROGRESS


SYMPTOM = Symptom(
    id=ID,
    title="neither training nor validation is fitted",
    severity="problem",
    family="fit",
    background=0.04,
    needs=("training loss", "number of classes"),
    doc="""
## What is observed
Training and validation loss end close to each other and both far too high.

## How it is measured
For classifiers with a known number of classes: the training loss ends above 55 % of ln(K), validation is not more than
20 % above it, the accuracy has less than 45 % of what is above chance, and the descent has slowed. Where the number of
classes is not known, or the first loss lies far below a guess among those that were given, an accuracy that begins near
exp(-first loss) gives it, and the finding weighs less. Without either, a high loss cannot be told from a hard task, and
traindx says unknown; so it does of a loss that begins at three times chance level, loses half of that and is above
chance still: it is added up over several terms.

## Healthy range
Depends on the task. Language models over large vocabularies end at 25 to 45 % of ln(vocabulary) and are left out.

## What it usually means
Too small a model, too few epochs, too much regularisation, a learning rate that is too low, or inputs that do not
contain what the labels ask for. Overfit one batch first: a model that cannot is not too small but wired wrong.
""",
    detect=detect,
    cases=(
        Case("stays near chance", "present",
             lambda: {"train_loss": then(falling(30, 3.1, 1.75, 0.01), flat(40, 1.74, 0.005)),
                      "val_loss": then(falling(30, 2.4, 1.72, 0.01), flat(40, 1.7, 0.005)),
                      "val_acc": np.minimum(0.386, np.linspace(0.1, 0.6, 70))}, {"num_classes": 10}),
        Case("fitted", "absent", lambda: {"train_loss": falling(70, 2.3, 0.3), "val_loss": falling(70, 2.3, 0.5)},
             {"num_classes": 10}),
        Case("classes by the first loss", "present",
             lambda: {"loss": falling(30, 2.3, 1.9, 0.003, pace=12), "val_loss": falling(30, 2.3, 1.92, 0.003, pace=12),
                      "val_accuracy": 1 - falling(30, 0.9, 0.71, 0.003, pace=12)}),
        Case("classes unknown", "unknown", lambda: {"train_loss": falling(70, 2.3, 1.7)}),
    ),
)  # fmt: skip
