"""val-left-behind: training all but solved its task, validation hardly began."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.score import Score
from traindx.signals.started import fine_tuning
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.recipes import falling, flat, then
from traindx.symptoms.val_at_chance import came_late

ID = "val-left-behind"
MIN_POINTS = 4
SOLVED = 0.9  # of the first training loss gone
BEHIND = 0.3  # of the first validation loss gone at most; small data sets with ordinary overfitting lose half
STRONG_BEHIND = 0.1
AHEAD = 0.5  # of the validation loss: a training loss above that solved nothing, however high it began
# Ends far apart: in points of the scale of a score, or as a multiple of the training loss where validation kept more
# than a fifth of its own first value. None of the 28 open logs labelled healthy (benchmarks/logs) is beyond either;
# what people asked about were 30 points and 85-fold.
POINTS, POINTS_PLAIN = 0.25, 0.6
TIMES, CARRIED = 20.0, 0.8
APART_CLEAR = 0.4
HALF = 0.45  # of all answers still wrong: whatever was learnt, it does not carry over


def detect(signals: Signals) -> Observation:
    train, val = signals.train, signals.val
    if signals.kind != "supervised" or train is None or val is None or len(train) < MIN_POINTS or len(val) < MIN_POINTS:
        return Observation(ID, "unknown", "No training and validation loss to compare.")
    weighted = val.y[0] > TIMES * max(train.initial, float(train.y[0]))  # apart before anything was learnt
    if train.best <= 0 or val.best <= 0 or weighted or train.x[0] > 0.2 * train.x[-1] > 0:
        return Observation(
            ID, "unknown", "The losses have no common scale, or the log begins in the middle of the run."
        )
    start = max(
        float(val.y[0]), min(train.initial, float(train.y[0]))
    )  # the first evaluation comes after some learning
    gained = 1 - val.now / start
    solved = 1 - train.now / train.initial
    fell = f"{val.name} fell by {percent(gained)} and ends near {val.now:.2g}"
    if gained <= 0:
        fell = f"{val.name} ends near {val.now:.2g}, no lower than it began"
    text = f"{train.name} fell by {percent(max(solved, 0))}, to about {train.now:.2g}, but {fell}"
    if solved < SOLVED or gained > BEHIND or train.now > AHEAD * val.now:
        return _apart(signals, train, val, gained) or Observation(ID, "absent", f"{text}.")
    carried = _score_learnt(signals.score)
    if not carried and came_late(train, val) and fine_tuning(signals):
        carried = f"the first evaluation came when {train.name} had fallen already: {fine_tuning(signals)}"
    if carried:
        return _apart(signals, train, val, gained) or Observation(ID, "absent", f"{text}; {carried}.")
    return Observation(
        ID, "present", f"{text}: what was learnt does not carry over.", (float(val.x[0]), float(val.x[-1])), val.name,
        clarity(-gained, -BEHIND, -STRONG_BEHIND),
    )  # fmt: skip


def _apart(signals: Signals, train: Curve, val: Curve, gained: float) -> Observation | None:
    """Training and validation end far apart, though both got better."""
    score, trained = signals.score, signals.train_score
    span = (float(val.x[0]), float(val.x[-1]))
    if (
        score is not None
        and trained is not None
        and min(len(score), len(trained)) >= MIN_POINTS
        and _alike(score, trained)
    ):
        fit, now, top = trained.logged(trained.now), score.logged(score.now), Score(trained).top
        if 0 <= now <= fit <= top and fit - now >= POINTS * top:
            text = (
                f"{trained.name} ends at {num(fit)}, {score.name} at {num(now)}, {percent((fit - now) / top)} of "
                f"the scale apart."
            )
            return Observation(ID, "present", text, span, score.name, clarity((fit - now) / top, POINTS, POINTS_PLAIN))
    ratio = val.now / train.now
    if ratio < TIMES or gained > CARRIED or _score_learnt(score):
        return None
    return Observation(
        ID,
        "present",
        f"{val.name} ends at {num(val.now)}, {ratio:.0f} times {train.name} ({num(train.now)}).",
        span,
        val.name,
        APART_CLEAR,
    )


def _alike(score: Curve, trained: Curve) -> bool:
    """The same measure on validation and on training data."""
    one, other = score.series.meaning, trained.series.meaning
    return one.split in ("val", "test") and other.split in ("train", "") and one.part == other.part


def _score_learnt(score: Curve | None) -> str:
    """A validation score that lost a good part of its mistakes and is still at its best: only the confidence is off."""
    if score is None or len(score) < MIN_POINTS or score.series.meaning.split not in ("val", "test"):
        return ""
    first, now, top = score.logged(float(score.y[0])), score.logged(score.now), Score(score).top
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
The training loss falls to next to nothing while the validation loss stays near its beginning, whether it rises, rests
or still creeps down.

## How it is measured
The share of its first value that each loss has lost by the end. Present when training lost nine tenths of its own and
validation less than three tenths, plain below one tenth, and training ends below half of the validation loss (what
falls from an explosion to chance solved nothing). The higher of the first values of the two losses is taken as
validation's beginning, since the first evaluation comes after some learning. A validation score that lost three tenths
of its mistakes, gets more than half of all answers right and is still at its best speaks against it: the predictions
carry over, only their confidence does not. Present with less weight where both got better and end far apart: the same
score 25 points of its scale lower on validation, or a validation loss of 20 times the training loss that kept a fifth
of its first value.

## Healthy range
Both fall together. Over a small data set validation stops earlier than training, usually after half of its first value
has gone.

## What it usually means
Memorised training data, or validation that is another task: other preprocessing, other labels, another mode of the
model, or weights that are not those in training (an average that is too slow).
""",
    detect=detect,
    cases=(
        Case("memorised, validation rests", "present",
             lambda: {"train_loss": falling(60, 2.3, 0.04), "val_loss": falling(60, 2.3, 2.0)}),
        Case("thirty points apart", "present",
             lambda: {"train_loss": falling(30, 2.2, 0.05), "val_loss": falling(30, 2.2, 1.05),
                      "train_acc": 1 - falling(30, 0.7, 0.01),
                      "val_acc": 0.7 - falling(30, 0.4, 0.01)}),
        Case("thirty points apart though the score rose by fifty", "present",
             lambda: {"train_loss": falling(30, 2.3, 0.04), "val_loss": falling(30, 2.3, 1.7),
                      "train_acc": 1 - falling(30, 0.9, 0.001),
                      "val_acc": 1 - falling(30, 0.81, 0.31)}),
        Case("85 times the training loss", "present",
             lambda: {"train_loss": falling(30, 2.2, 0.0101), "val_loss": falling(30, 2.2, 0.86)}),
        Case("a hundred times next to nothing", "absent",
             lambda: {"train_loss": falling(30, 2.2, 0.0003), "val_loss": falling(30, 2.2, 0.03)}),
        Case("both fall", "absent", lambda: {"train_loss": falling(60, 2.3, 0.04), "val_loss": falling(60, 2.3, 0.4)}),
        Case("both fell from an explosion to chance", "absent",
             lambda: {"train_loss": then(flat(6, 200.0, 5.0), flat(54, 1.39, 0.01)), "val_loss": flat(12, 1.4, 0.02)}),
        Case("class weights shrink the training loss a thousandfold", "unknown",
             lambda: {"train_loss": falling(60, 4e-4, 4e-5), "val_loss": falling(12, 0.4, 0.2)}),
        Case("neither falls", "absent", lambda: {"train_loss": flat(60, 2.3, 0.01), "val_loss": flat(60, 2.3, 0.01)}),
        Case("the score carries over", "absent",
             lambda: {"train_loss": falling(60, 0.5, 0.02), "val_loss": flat(12, 0.28, 0.02),
                      "val_accuracy": 1 - falling(12, 0.11, 0.05, 0.01)}),
        Case("half of the answers are wrong all the same", "present",
             lambda: {"train_loss": falling(60, 2.3, 0.01), "val_loss": falling(12, 2.4, 1.75),
                      "val_accuracy": 1 - falling(12, 0.9, 0.52, 0.01)}),
        Case("no validation", "unknown", lambda: {"train_loss": falling(60, 2.3, 0.04)}),
    ),
)  # fmt: skip
