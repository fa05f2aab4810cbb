"""general-loss-rises: the loss on other data rises from the start while that of the task falls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traindx.diagnosis import Observation
from traindx.meaning import tokens_of
from traindx.run import Floats, Series
from traindx.signals import Signals
from traindx.signals.choose import held_out_scores, usable
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.recipes import falling
from traindx.thresholds import Threshold, fitted

ID = "general-loss-rises"
POINTS = Threshold(4, "evaluations of each", "fewer have no trend")
RISE = fitted(f"{ID}.rise", 1.15, unit="times its first value at the end", strong=1.6)
FALL = fitted(f"{ID}.fall", 0.97, unit="of its first value, the task's loss", side="below")
GONE = Threshold(
    0.3, "of the first score on other data", "two standard deviations of a score on 50 questions", strong=0.6
)
# data that the training is not about, by the names people give it
KNOWN_BEFORE = frozenset("general old previous earlier original pretrain pretraining base mmlu hellaswag arc".split())
EARLY = Threshold(
    0.25, "of the evaluations", "a loss that overfits falls first; one that is forgotten never does", side="below"
)
# losses that are parts of one objective and not losses on several data sets
_PARTS = frozenset(
    "kl kld reg aux auxiliary balance router z rec recon reconstruction l1 l2 box cls obj dfl giou seg adv commit vq "
    "policy value entropy contrastive perceptual smooth penalty distill mlm nsp bbox".split()
)  # fmt: skip


def detect(signals: Signals) -> Observation:
    sets = _data_sets(signals)
    forgotten = _score_falls(signals)
    if forgotten is not None:
        return forgotten
    if len(sets) < 2:
        return Observation(ID, "unknown", "Only one loss of held-out data is logged.")
    rising = [(one, change) for one in sets if RISE.reached(change := _change(one)) and EARLY.reached(_best_at(one))]
    falling_ones = [one for one in sets if FALL.reached(_change(one))]
    if not falling_ones and signals.train is not None and rising:
        train = signals.train
        falling_ones = [train.series] if len(train) and FALL.reached(train.now / float(train.y[0])) else []
    if not rising or not falling_ones:
        sentence = ", ".join(f"{one.name} {num(_change(one))} times its first value" for one in sets[:3])
        return Observation(ID, "absent", f"No held-out loss rises while another falls: {sentence}.")
    worst, change = max(rising, key=lambda one: one[1])
    task = min(falling_ones, key=_change)
    values, steps = _finite(worst)
    text = (
        f"{worst.name} rose from {num(values[0])} to {num(values[-1])} ({change:.2f} times) while {task.name} fell to "
        f"{num(_change(task))} of its first value."
    )
    return Observation(
        ID, "present", text, (float(steps[0]), float(steps[-1])), worst.name, RISE.clarity(change)
    )  # fmt: skip


def _score_falls(signals: Signals) -> Observation | None:
    """A score of what the model knew before, by its name, that was best at first and is lost while the task is
    learnt."""
    train = signals.train
    if train is None or not len(train) or train.y[0] <= 0 or not FALL.reached(train.now / float(train.y[0])):
        return None
    for one in held_out_scores(signals.run):
        values, steps = _finite(one)
        if not set(tokens_of(one.name)) & KNOWN_BEFORE or not POINTS.reached(len(values)) or values[0] <= 0:
            continue
        lost = 1 - _change(one)
        if GONE.reached(lost) and float(np.argmax(values)) <= EARLY.value * (len(values) - 1):
            text = (
                f"{one.name} fell from {num(values[0])} to {num(values[-1])} while {train.name} fell to "
                f"{num(train.now)}: what the model knew before is overwritten."
            )
            place = (float(steps[0]), float(steps[-1]))
            return Observation(ID, "present", text, place, one.name, GONE.clarity(lost))
    return None


def _data_sets(signals: Signals) -> list[Series]:
    """Held-out losses by data set: those with a name of their own that is no part of the training loss."""
    losses = usable(signals.run, "loss")
    trained = {series.meaning.part for series in losses if series.meaning.split in ("train", "")}
    held = [series for series in losses if series.meaning.split in ("val", "test") and POINTS.reached(len(series))]
    named = [
        one for one in held
        if one.meaning.part and one.meaning.part not in trained and not set(tokens_of(one.meaning.part)) & _PARTS
    ]  # fmt: skip
    # a total beside its data sets is their mean; beside one of them it is the task's. Validation and test data that
    # have no other name are one kind of data.
    return named if len(named) > 1 else [*named, *[one for one in held if not one.meaning.part][:1]]


def _finite(series: Series) -> tuple[Floats, Floats]:
    known = np.isfinite(series.values)
    return series.values[known], series.steps[known]


def _change(series: Series) -> float:
    values, _ = _finite(series)
    if len(values) < 2 or values[0] <= 0:
        return 1.0
    return float(np.median(values[-max(1, len(values) // 5) :]) / values[0])


def _best_at(series: Series) -> float:
    """Where in the run it was lowest."""
    values, _ = _finite(series)
    return float(np.argmin(values)) / max(len(values) - 1, 1)


def _rising(first: float, last: float) -> Sequence[float]:
    return list(np.linspace(first, last, 12))


SYMPTOM = Symptom(
    id=ID,
    title="loss on other data rises while the task's falls",
    severity="problem",
    family="forgetting",
    background=0.005,
    needs=("validation loss",),
    doc="""
## What is observed
The same run evaluates two data sets. The loss of one (the task) falls, the loss of the other (general text, an earlier
task) rises from the first evaluation on.

## How it is measured
A score of held-out data whose name says that it is of something else than the task (`general_accuracy`, `old_acc`,
`mmlu`) must have been best in the first quarter of the evaluations and have lost three tenths since. Or: held-out
losses that are logged under names of their own (`eval_task_loss`, `eval_general_loss`), parts of one objective
left out. Present when one ends 1.15 times above its first value and was lowest in the first quarter of the evaluations,
while another one, or the training loss, falls.

## Healthy range
The general loss stays within some percent of its first value. A loss that falls first and rises later is overfitting.

## What it usually means
Full fine-tuning at too high a rate, or too many epochs on a narrow task: what the model knew is overwritten.
""",
    detect=detect,
    cases=(
        Case("forgets", "present", lambda: {
            "train_loss": falling(100, 1.4, 0.4), "eval_task_loss": _rising(1.4, 0.5),
            "eval_general_loss": _rising(1.2, 3.0)}),
        Case("questions of before are no longer answered", "present", lambda: {
            "train_loss": falling(100, 8.7, 0.2), "general_accuracy": [0.9, 0.7, 0.4, 0.2, 0.1, 0.05, 0.04]}),
        Case("questions of before are still answered", "unknown", lambda: {
            "train_loss": falling(100, 8.7, 0.2), "general_accuracy": [0.9, 0.85, 0.88, 0.84, 0.86, 0.85]}),
        Case("keeps what it knew", "absent", lambda: {
            "train_loss": falling(100, 1.4, 0.4), "eval_task_loss": _rising(1.4, 0.5),
            "eval_general_loss": _rising(1.2, 1.25)}),
        Case("overfits both", "absent", lambda: {
            "train_loss": falling(100, 1.4, 0.1), "eval_task_loss": [*_rising(1.4, 0.7), *_rising(0.7, 1.1)],
            "eval_general_loss": [*_rising(1.4, 0.8), *_rising(0.8, 1.9)]}),
        Case("parts of one objective", "unknown", lambda: {
            "train_loss": falling(100, 1.4, 0.1), "val_recon_loss": _rising(1.4, 0.7),
            "val_kl_loss": _rising(0.1, 0.7)}),
        Case("validation and test data", "unknown", lambda: {
            "train_loss": falling(100, 1.4, 0.1), "val_loss": _rising(1.4, 1.3), "test_loss": _rising(1.4, 2.7)}),
        Case("one held-out loss", "unknown", lambda: {
            "train_loss": falling(100, 1.4, 0.1), "val_loss": _rising(1.4, 2.7)}),
    ),
)  # fmt: skip
