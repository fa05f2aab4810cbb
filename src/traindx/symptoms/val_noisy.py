"""val-noisy: validation scatters while training is calm."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.recipes import falling

ID = "val-noisy"
MIN_POINTS = 10
SCATTER = 0.25  # of the level, between neighbouring evaluations
MORE_THAN_TRAIN = 4.0
CALM = 0.01  # of its level: where the score hardly moves, the loss was logged for single batches


def detect(signals: Signals) -> Observation:
    val, train = signals.val, signals.train_epochs
    if signals.kind != "supervised" or val is None or len(val) < MIN_POINTS:
        return Observation(ID, "unknown", "Too few validation losses to judge their scatter.")
    scatter = val.noise / max(abs(val.now), 1e-300)
    ordinary, also = 0.0, ""
    if train is not None and len(train) >= MIN_POINTS:
        ordinary = train.level_noise / max(abs(train.now), 1e-300)
        also = f"; the training loss by {percent(ordinary)}"
    text = f"{val.name} scatters by {percent(scatter)} of its level from one evaluation to the next"
    score = signals.score
    if scatter > SCATTER and score is not None and len(score) >= MIN_POINTS:
        calm = score.noise / max(abs(score.now), 1e-300)
        if calm < CALM:
            return Observation(ID, "absent", f"{text}, but {score.name} by {percent(calm)} only.")
    if scatter > SCATTER and scatter > MORE_THAN_TRAIN * ordinary and val.noise > 0.1 * max(val.progress, 0.0):
        return Observation(
            ID, "present", f"{text}{also}.", (float(val.x[0]), float(val.x[-1])), val.name,
            clarity(scatter, SCATTER, 1.0),
        )  # fmt: skip
    return Observation(ID, "absent", f"{text} (level {num(val.logged(val.now))}).")


SYMPTOM = Symptom(
    id=ID,
    title="validation scatters while training is calm",
    severity="problem",
    family="validation",
    background=0.08,
    needs=("validation loss",),
    doc="""
## What is observed
Every evaluation gives another value; the trend drowns in it.

## How it is measured
The robust point-to-point noise of the validation loss as a share of its level: present above 25 % when that is four
times the scatter of the training loss and a tenth of the whole progress. A validation score that scatters by less than
1 % of its level speaks against it: some scripts log the loss of one validation batch beside the score of all of them.

## Healthy range
A few per cent, falling with the square root of the size of the validation set.

## What it usually means
A validation set that is too small, BatchNorm running statistics that lag, evaluation with dropout or augmentation left
on, or a learning rate that still throws the weights about between evaluations.
""",
    detect=detect,
    cases=(
        Case("scatters", "present", lambda: {"train_loss": falling(60, 2.3, 0.3, 0.01),
                                             "val_loss": falling(60, 2.2, 0.6, 0.6)}),
        Case("calm", "absent", lambda: {"train_loss": falling(60, 2.3, 0.3), "val_loss": falling(60, 2.2, 0.6, 0.05)}),
        Case("one batch beside the accuracy of all", "absent",
             lambda: {"train_loss": falling(60, 2.3, 0.3, 0.01), "val_loss": falling(60, 2.2, 0.6, 0.6),
                      "val_acc": 1 - falling(60, 0.5, 0.05, 0.01)}),
        Case("too few", "unknown", lambda: {"val_loss": falling(5, 2.2, 0.6, 0.05)}),
    ),
)  # fmt: skip
