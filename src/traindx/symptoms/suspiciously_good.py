"""suspiciously-good: better than the task allows."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Fact, Floats
from traindx.signals import Signals, choose
from traindx.signals.disguise import hidden_nan
from traindx.signals.score import top_of
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import state_of
from traindx.symptoms.recipes import falling, flat, ramp

ID = "suspiciously-good"
EARLY = 0.15  # of the run
PERFECT = 0.9995
NOTHING = 1e-6
FALLS_ON = 10.0
# what a recording sees of a leak itself: without any of them a perfect score may be an easy task as well
LEAKS = ("validation-seen-in-training", "sees-the-future", "targets-not-next-token")
APART = 0.15  # of the full score, between validation and test


def detect(signals: Signals) -> Observation:
    if signals.kind != "supervised":
        return Observation(ID, "unknown", "There is no ceiling to compare with in this kind of training.")
    score = signals.score
    if score is not None and len(score) >= 4 and score.series.meaning.split in ("val", "test"):
        values = score.series.values[np.isfinite(score.series.values)]
        top = top_of(values)
        early = values[: max(2, int(len(values) * EARLY))]
        bounded = values.min() >= 0 and values.max() <= top
        perfect = bool(bounded and early.min() >= PERFECT * top)
        if perfect and signals.run.seen_inside and not any(state_of(signals, leak) == "present" for leak in LEAKS):
            return Observation(
                ID, "unknown", f"{score.name} is perfect from the first evaluations on, and the recording saw no leak."
            )
        if perfect:
            return Observation(
                ID, "present", f"{score.name} is {num(float(early.min()))} from the first evaluations on: perfect "
                               f"before it could be learnt.",
                (float(score.x[0]), float(score.x[-1])), score.name, 0.8,
            )  # fmt: skip
    contradicted = _test_disagrees(signals)
    if contradicted is not None:
        return contradicted
    train = signals.train
    if train is not None and len(train) >= 20 and train.series.meaning.kind == "loss":
        # a first loss of a million makes any later one look like nothing
        start = min(abs(train.initial), float(np.median(np.abs(train.y[: max(3, len(train) // 20)]))))
        zero = np.flatnonzero((train.y >= 0) & (train.y < NOTHING * max(start, 1e-300)))
        if (
            len(zero) > 0.3 * len(train)
            and not _falls_on(train.y[zero])
            and train.clock_share(float(train.x[zero[0]])) < EARLY
            and hidden_nan(signals) is None
        ):
            return Observation(
                ID, "present", f"{train.name} is (almost) exactly zero from {train.at(float(train.x[zero[0]]))} on: "
                "nothing real is fitted that fast.",
                (float(train.x[zero[0]]), float(train.x[-1])), train.name, 0.6,
            )  # fmt: skip
    if score is None and train is None:
        return Observation(ID, "unknown", "Neither a loss nor a score was logged.")
    return Observation(ID, "absent", "Neither score nor loss is better than training could make it.")


def _falls_on(values: Floats) -> bool:
    """Whether what looks like nothing is still on its way down: a loss whose first values were far out of scale."""
    third = max(1, len(values) // 3)
    return float(np.median(values[:third])) > FALLS_ON * float(np.median(values[-third:])) > 0


def _test_disagrees(signals: Signals) -> Observation | None:
    """A validation score far above the test score of the same run was not measured on unseen data."""
    val, test = choose.best_score(signals.run, ("val",)), choose.best_score(signals.run, ("test",))
    if val is None or test is None or not np.isfinite(val.values[-1:]).all() or not np.isfinite(test.values[-1:]).all():
        return None
    if not all("acc" in one.name.lower() for one in (val, test)):
        return None  # a rank among candidates depends on which ones were drawn
    top = top_of(val.values)
    if val.values[-1] - test.values[-1] < APART * top or np.nanmax(test.values) > top:
        return None
    return Observation(
        ID, "present", f"{val.name} is {num(float(val.values[-1]))}, {test.name} only {num(float(test.values[-1]))}: "
        "validation knows something that the test does not.",
        (float(val.steps[0]), float(val.steps[-1])), val.name, 0.8,
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="better than the task allows",
    severity="problem",
    family="leak",
    background=0.01,
    needs=("validation score or loss",),
    doc="""
## What is observed
A perfect validation score in the first evaluations, or a loss of practically zero after a moment.

## How it is measured
A bounded validation score above 99.95 % throughout the first 15 % of the evaluations, or a training loss below a
millionth of its start within the first 15 % of the run that stays there (NaN hidden as zero is excluded). A validation
accuracy that ends 15 points above the test accuracy of the same run counts too. A recording looks at the samples
themselves: where it saw neither shared samples nor a look ahead, a perfect score is left open.

## Healthy range
Scores climb. Validation below train is normal with dropout and averaged training losses and is not meant here.

## What it usually means
A leak: the label or something that determines it is in the input, the same samples are in both splits, future tokens
are visible. Or a task that is trivial; look at ten examples.
""",
    detect=detect,
    cases=(
        Case("perfect at once", "present", lambda: {"train_loss": falling(50, 0.7, 0.1),
                                                    "val_accuracy": flat(20, 1.0, 0)}),
        Case("perfect at once, and the recording saw no leak", "unknown",
             lambda: {"train_loss": falling(50, 0.7, 0.1), "val_accuracy": flat(20, 1.0, 0)},
             facts=(Fact("validation-seen-in-training", False, "None is."),)),
        Case("perfect at once, and the recording saw a leak", "present",
             lambda: {"train_loss": falling(50, 0.7, 0.1), "val_accuracy": flat(20, 1.0, 0)},
             facts=(Fact("validation-seen-in-training", True, "90 of 100 are."),)),
        Case("perfect in validation, poor in the test", "present",
             lambda: {"train_loss": falling(30, 0.7, 0.02), "val_acc": ramp(30, 0.7, 1.0), "test acc": [0.7]}),
        Case("climbs to 99.8 %", "absent", lambda: {"train_loss": falling(50, 1.4, 0.04),
                                                    "val_accuracy": ramp(20, 0.9, 0.998)}),
        Case("nothing logged", "unknown", lambda: {"lr": [0.1, 0.1]}),
    ),
)  # fmt: skip
