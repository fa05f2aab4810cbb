"""high-initial-loss: the first loss is far above chance."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Fact
from traindx.signals import Signals
from traindx.signals.chance import variance_of_targets
from traindx.signals.curve import Curve
from traindx.signals.score import Score
from traindx.symptoms.base import Case, Symptom, clarity, num
from traindx.symptoms.observed import from_fact, state_of
from traindx.symptoms.plateau import GOOD_SCORE
from traindx.symptoms.recipes import falling, then

ID = "high-initial-loss"
OVER_CHANCE = 1.6  # times ln K; twice that is plain
OVER_REACH = 10.0  # times the square of the largest target: the untrained answers are far beyond all of them
WIDE = 5.0  # times the scatter of the targets that of the first answers is,
LARGE_ANSWERS = 3.0  # and itself: normalised inputs and usual weights give less than one
QUICK_FALL = 30.0  # where K is unknown: how many times the level after a twentieth of the run
CLIFF = 10.0  # and how many times the next few values: a descent that takes its time is learning, not a bad start
OVERCOME = 0.4  # how much a bad start counts that the score has left behind
GOES_ON = 0.5  # of the cliff's factor, as a power: what falls that much further was a descent from the start
ABSURD = 1e4  # no descent within a twentieth of a run is that long, however smooth
SKILLED = (
    0.5  # of the way from guessing to all right: a loss that still rests near ln K then is more than a cross entropy
)


def detect(signals: Signals) -> Observation:
    curve = signals.train
    if signals.kind != "supervised" or curve is None or len(curve) < 5 or curve.series.meaning.kind != "loss":
        return Observation(ID, "unknown", "No training loss from the beginning of the run.")
    if curve.x[0] > 0.2 * curve.x[-1]:
        return Observation(
            ID, "unknown", f"The log begins at {curve.at(float(curve.x[0]))}, after the start of the run."
        )
    first = float(curve.y[0])
    place = (float(curve.x[0]), float(curve.x[0]))
    if signals.classes is not None and curve.series.meaning.scale != "epoch":
        goal = float(np.log(signals.classes[0]))
        if _more_than_cross_entropy(signals, goal):
            return Observation(
                ID, "unknown", f"{curve.name} rests at {num(curve.best)} although the score is good: it is more than a "
                "cross entropy and has no chance level.",
            )  # fmt: skip
        if first > OVER_CHANCE * goal:
            return Observation(
                ID, "present", f"The first {curve.name} is {num(first)}; chance level for {signals.classes[0]} classes "
                               f"is {num(goal)}.",
                place, curve.name, clarity(first / goal, OVER_CHANCE, 2 * OVER_CHANCE),
            )  # fmt: skip
        return Observation(ID, "absent", f"The first {curve.name} is {num(first)}; chance level is {num(goal)}.")
    reach = _reach(signals)
    if reach is not None and curve.series.meaning.scale != "epoch" and first > OVER_REACH * reach:
        return Observation(
            ID, "present", f"The first {curve.name} is {num(first)}; an answer of 0 would cost at most {num(reach)}, "
                           f"the square of the "
            "largest target.", place, curve.name, clarity(first / reach, OVER_REACH, 10 * OVER_REACH),
        )  # fmt: skip
    wide = _wide_answers(signals)
    if wide is not None:
        return Observation(
            ID, "present", f"The first answers scatter {num(wide)} times as far as the targets, and the first "
                           f"{curve.name} is {num(first)}.",
            place, curve.name, clarity(wide, WIDE, 2 * WIDE),
        )  # fmt: skip
    if len(curve) < 20:
        return Observation(ID, "unknown", "Neither the number of classes nor enough early values are known.")
    early = float(np.median(curve.y[len(curve) // 20 : len(curve) // 10 + 2]))
    next_values = float(np.median(curve.y[1:4]))
    sudden = (first > CLIFF * next_values and not _goes_on(curve, next_values)) or first > ABSURD * early
    if early > 0 and first > QUICK_FALL * early and sudden:
        clear = clarity(first / early, QUICK_FALL, 10 * QUICK_FALL)
        return _arrived(signals, curve) or Observation(
            ID, "present", f"The first {curve.name} is {num(first)}, {first / early:.0f} times its level after a "
                           f"twentieth of the run.",
            place, curve.name, min(clear, OVERCOME if _overcome(signals) else 1.0),
        )  # fmt: skip
    return Observation(ID, "absent", f"The first {curve.name} is {num(first)} and falls in proportion.")


def _wide_answers(signals: Signals) -> float | None:
    """How much further than the targets the answers of the untrained model scatter, where they are large by themselves
    too."""
    answers, targets = (signals.run.config.get(name) for name in ("first_output_std", "first_target_std"))
    if not isinstance(answers, float) or not isinstance(targets, float) or targets <= 0:
        return None
    return answers / targets if answers > LARGE_ANSWERS and answers > WIDE * targets else None


def _reach(signals: Signals) -> float | None:
    """What the answer 0 costs at most in a regression by averaged squares, where a recording looked at the targets."""
    variance = variance_of_targets(signals)
    ends = [signals.run.config.get(name) for name in ("target_min", "target_max")]
    if variance is None or state_of(signals, "loss-summed") != "absent":
        return None
    return max(variance, *(float(end) ** 2 for end in ends if isinstance(end, (int, float))))


def _goes_on(curve: Curve, next_values: float) -> bool:
    """After the cliff the loss falls by a like factor again: rows far apart show the first steps of a descent as
    one."""
    end = curve.best
    return 0 < end < next_values and np.log(next_values / end) > GOES_ON * np.log(float(curve.y[0]) / next_values)


def _more_than_cross_entropy(signals: Signals, goal: float) -> bool:
    """A classifier that is mostly right has a cross entropy far below ln K; a loss that does not carries other
    terms."""
    score = signals.score if signals.score is not None else signals.train_score
    if score is None or signals.train is None or not len(score) or "acc" not in score.name.lower():
        return False
    guessing = float(np.exp(-goal))
    skilled = Score(score).best - guessing > SKILLED * (1 - guessing)
    return skilled and signals.train.best > (1 - SKILLED) * goal


def _arrived(signals: Signals, curve: Curve) -> Observation | None:
    """Whatever the start was, the model is right in nine of ten cases now."""
    good = signals.score
    if good is None or len(good) < 3 or not Score(good).bounded or not GOOD_SCORE.reached(Score(good).now):
        return None
    text = f"The first {curve.name} is {num(float(curve.y[0]))}, but {good.name} is {num(good.logged(good.now))} now."
    return Observation(ID, "absent", text, noted=True)


def _overcome(signals: Signals) -> bool:
    """A validation score that rose far beyond its noise and ends near its best: whatever the start was, it is
    behind."""
    score = signals.score
    if score is None or len(score) < 5 or score.clock_share(score.best_at) < 0.5:
        return False
    return score.progress > 5 * max(score.level_noise, score.rise)


SYMPTOM = Symptom(
    id=ID,
    title="first loss far above chance",
    severity="problem",
    family="start",
    background=0.08,
    needs=("loss from the first step", "number of classes"),
    doc="""
## What is observed
The first value of the loss is far larger than that of a predictor that knows nothing.

## How it is measured
With K classes known, the first batch loss against ln(K): present above 1.6 times, plain above 3.2 times. In a
regression by averaged squares whose targets a recording has seen, ten times the square of the largest target, which is
what the answer 0 costs at most, or first answers that scatter five times as far as the targets. Without either, the
first value must be 30 times the level reached after a twentieth of the run and ten times the values right after it: a
descent over many values is learning, however long, and so is one that goes on after it by at least the square root of
that factor (a log with a row every hundred steps shows the first of them at once). A ratio above ten thousand counts
either way. A loss that rests near ln(K) while the accuracy is good has other terms in it and cannot be compared.

## Healthy range
Close to ln(K) for a classifier, the variance of the targets for a mean squared error. Pretrained models with a new head
and very large vocabularies start a little higher.

## What it usually means
Inputs or targets on a raw scale, initial weights too large, a summed instead of averaged loss, or a head whose labels
are wrong: the model is confidently wrong before it has learnt anything.
""",
    detect=from_fact(ID, otherwise=detect),
    cases=(
        Case("an absurd first loss of a fine-tuning that is right in nine of ten", "absent",
             lambda: {"loss": then(np.array([20.0, 4.0]), falling(40, 0.3, 0.13)), "eval_acc": [0.93, 0.94, 0.945]}),
        Case("raw pressure values as inputs", "present",
             lambda: {"train_loss": then(np.array([1.7e6, 3e4]), falling(200, 9, 2))}),
        Case("ten classes, starts at 9", "present", lambda: {"train_loss": falling(100, 9.0, 0.5)},
             {"num_classes": 10}),
        Case("a regression that learns", "absent", lambda: {"train_loss": 200.0 / np.arange(1.0, 400.0) ** 1.5}),
        Case("a row every hundred steps", "absent",
             lambda: {"train_loss": (range(0, 40_000, 100),
                                     then(np.array([0.9]), 0.08 / np.arange(1.0, 400.0) ** 0.7))}),
        Case("several terms in one loss", "unknown",
             lambda: {"train_loss": falling(60, 10.0, 2.4), "val_acc": 1 - falling(60, 0.9, 0.02)},
             {"num_classes": 14}),
        Case("starts at chance", "absent", lambda: {"train_loss": falling(100, 2.31, 0.5)}, {"num_classes": 10}),
        Case("answers far beyond all targets", "present", lambda: {"train_loss": falling(200, 670.0, 5.0)},
             {"mse_target_variance": 1.0, "target_min": -2.9, "target_max": 3.4},
             facts=(Fact("loss-summed", False, "It is averaged."),)),
        Case("answers that scatter far beyond the targets", "present", lambda: {"train_loss": falling(200, 150.0, 5.0)},
             {"first_output_std": 12.0, "first_target_std": 1.1}),
        Case("answers near the targets", "absent", lambda: {"train_loss": falling(200, 9.0, 1.0)},
             {"mse_target_variance": 1.0, "target_min": -2.9, "target_max": 3.4},
             facts=(Fact("loss-summed", False, "It is averaged."),)),
        Case("starts in the middle", "unknown", lambda: {"train_loss": (range(5000, 6000, 10), falling(100, 9, 0.5))}),
    ),
)  # fmt: skip
