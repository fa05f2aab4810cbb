"""underfitting: training and validation both stay high."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.recipes import falling, flat, then

ID = "underfitting"
HIGH = 0.55  # of chance level; 0.8 is plain
LOW_SKILL = 0.45  # accuracy above chance, as a share of what is above chance
GAP = 0.2  # validation may be this much above train


def detect(signals: Signals) -> Observation:
    train, val, score = signals.train, signals.val, signals.score
    if signals.kind != "supervised" or train is None or len(train) < 6:
        return Observation(ID, "unknown", "No training loss long enough to judge the fit.")
    if train.x[0] > 0.2 * train.x[-1] and train.series.axis == "step":
        return Observation(ID, "unknown", "The log begins in the middle of the run.")
    if signals.classes is None or train.series.meaning.kind != "loss":
        return Observation(ID, "unknown", "What loss would be good is not known (give --classes N for a classifier).")
    chance = float(np.log(signals.classes[0]))
    level = train.now / chance
    close = val is None or len(val) < 2 or val.now < train.now * (1 + GAP)
    skill = 0.0
    if score is not None and len(score) >= 3:
        value = score.logged(score.best)
        top = 100.0 if value > 1.5 else 1.0
        base = top / signals.classes[0]
        skill = (value - base) / (top - base)
    language = signals.classes[0] > 2000  # next-token losses of 40 % of ln(vocabulary) are ordinary
    stalled = (
        train.tail_trend(0.3)[0] > -0.05 * max(train.progress, 1e-12) or train.clock_share(train.reached(0.9)) < 0.9
    )
    unfitted = level > HIGH and close and skill < LOW_SKILL
    if not language and unfitted and train.reduction > 0.035 and stalled:
        beside = f", {score.name} {num(score.logged(score.best))}" if score is not None and len(score) else ""
        return Observation(
            ID, "present", f"{train.name} ends at {num(train.now)}, {percent(level)} of chance level "
                           f"{num(chance)}{beside}, "
            f"and {'validation is no better: neither is fitted' if signals.val is not None else 'it no longer falls'}.",
            (float(train.x[0]), float(train.x[-1])), train.name, clarity(level, HIGH, 0.8),
        )  # fmt: skip
    return Observation(ID, "absent", f"{train.name} ends at {percent(level)} of chance level {num(chance)}.")


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
20 % above it, the accuracy has less than 45 % of what is above chance, and the descent has slowed. Without knowing what
a good value is, a high loss cannot be told from a hard task, and traindx says unknown.

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
        Case("classes unknown", "unknown", lambda: {"train_loss": falling(70, 2.3, 1.7)}),
    ),
)  # fmt: skip
