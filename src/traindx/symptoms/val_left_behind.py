"""val-left-behind: training all but solved its task, validation hardly began."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.recipes import falling, flat

ID = "val-left-behind"
MIN_POINTS = 4
SOLVED = 0.9  # of the first training loss gone
BEHIND = 0.3  # of the first validation loss gone at most; small data sets with ordinary overfitting lose half
PLAIN = 0.1
HALF = 0.45  # of all answers still wrong: whatever was learnt, it does not carry over


def detect(signals: Signals) -> Observation:
    train, val = signals.train, signals.val
    if signals.kind != "supervised" or train is None or val is None or len(train) < MIN_POINTS or len(val) < MIN_POINTS:
        return Observation(ID, "unknown", "No training and validation loss to compare.")
    if train.best <= 0 or val.best <= 0 or train.x[0] > 0.2 * train.x[-1] > 0:
        return Observation(
            ID, "unknown", "The losses have no common scale, or the log begins in the middle of the run."
        )
    start = max(
        float(val.y[0]), min(train.initial, float(train.y[0]))
    )  # the first evaluation comes after some learning
    gained = 1 - val.now / start
    solved = 1 - train.now / train.initial
    text = (
        f"{train.name} lost {percent(max(solved, 0))} of its first value and is {num(train.now)} now, {val.name} lost "
        f"{percent(max(gained, 0))} and is {num(val.now)}"
    )
    if solved < SOLVED or gained > BEHIND:
        return Observation(ID, "absent", f"{text}.")
    carried = _score_learnt(signals.score)
    if carried:
        return Observation(ID, "absent", f"{text}, but {carried}.")
    return Observation(
        ID, "present", f"{text}: what was learnt does not carry over.", (float(val.x[0]), float(val.x[-1])), val.name,
        clarity(-gained, -BEHIND, -PLAIN),
    )  # fmt: skip


def _score_learnt(score: Curve | None) -> str:
    """A validation score that lost a good part of its mistakes and is still at its best: only the confidence is off."""
    if score is None or len(score) < MIN_POINTS or score.series.meaning.split not in ("val", "test"):
        return ""
    first, now = score.logged(float(score.y[0])), score.logged(score.now)
    top = 100.0 if now > 1.5 else 1.0
    if not 0 <= first < now <= top or top - now > min((1 - BEHIND) * (top - first), HALF * top):
        return ""
    if score.rise > 0.1 * (now - first):
        return ""
    return f"{score.name} went from {num(first)} to {num(now)}"


SYMPTOM = Symptom(
    id=ID,
    title="validation left behind",
    severity="problem",
    family="generalisation",
    background=0.03,
    needs=("training loss", "validation loss"),
    doc="""
## What is observed
The training loss falls to next to nothing while the validation loss stays near its beginning, whether it rises, rests or still
creeps down.

## How it is measured
The share of its first value that each loss has lost by the end. Present when training lost nine tenths of its own and
validation less than three tenths, plain below one tenth. The higher of the first values of the two losses is taken as
validation's beginning, since the first evaluation comes after some learning. A validation score that lost three tenths of
its mistakes, gets more than half of all answers right and is still at its best speaks against it: the predictions carry over, only
their confidence does not.

## Healthy range
Both fall together. Over a small data set validation stops earlier than training, usually after half of its first value has
gone.

## What it usually means
Memorised training data, or validation that is another task: other preprocessing, other labels, another mode of the model, or
weights that are not those in training (an average that is too slow).
""",
    detect=detect,
    cases=(
        Case("memorised, validation rests", "present",
             lambda: {"train_loss": falling(60, 2.3, 0.04), "val_loss": falling(60, 2.3, 2.0)}),
        Case("both fall", "absent", lambda: {"train_loss": falling(60, 2.3, 0.04), "val_loss": falling(60, 2.3, 0.4)}),
        Case("neither falls", "absent", lambda: {"train_loss": flat(60, 2.3, 0.01), "val_loss": flat(60, 2.3, 0.01)}),
        Case("the score carries over", "absent",
             lambda: {"train_loss": falling(60, 0.5, 0.02), "val_loss": flat(12, 0.28, 0.02), "val_accuracy": 1 - falling(12, 0.11, 0.05, 0.01)}),
        Case("half of the answers are wrong all the same", "present",
             lambda: {"train_loss": falling(60, 2.3, 0.01), "val_loss": falling(12, 2.4, 1.75), "val_accuracy": 1 - falling(12, 0.9, 0.52, 0.01)}),
        Case("no validation", "unknown", lambda: {"train_loss": falling(60, 2.3, 0.04)}),
    ),
)  # fmt: skip
