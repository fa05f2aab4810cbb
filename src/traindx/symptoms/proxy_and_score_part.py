"""proxy-and-score-part: the reward rises while an independent score falls."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.run import Series
from traindx.signals import Signals
from traindx.signals.choose import usable
from traindx.signals.curve import Curve
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.outcome_poor import detect as symptom_outcome
from traindx.symptoms.policy import NOT_RL, rewarded, span, trend
from traindx.symptoms.recipes import flat, ramp
from traindx.thresholds import Threshold

ID = "proxy-and-score-part"
ROWS = Threshold(6, "evaluations", "Mann-Kendall cannot reach two standard deviations on fewer than five")
FALLS = Threshold(2.0, "standard deviations (Mann-Kendall)", "one in 40 runs without a trend goes as far", strong=4.0)
LOST = Threshold(0.1, "of its best", "more than the noise of an evaluation on a few hundred questions", strong=0.4)
TRUE = frozenset({"acc", "accuracy", "correct", "correctness", "exact", "solve", "success", "test", "gold"})


def detect(signals: Signals) -> Observation:
    reward = signals.reward
    if signals.kind != "rl" or reward is None:
        return Observation(ID, "unknown", NOT_RL)
    thrown = _worse_than_before(signals, reward)
    if thrown is not None:
        return thrown
    scores = [Curve(one, -1.0) for one in _independent(signals, reward.series) if ROWS.reached(len(one))]
    if not scores:
        return Observation(ID, "unknown", "No score beside the reward is logged (held-out, or a correctness part).")
    if not rewarded(signals):
        return Observation(ID, "absent", f"{reward.name} did not rise, so it cannot part from a score.")
    for curve in scores:
        lost = curve.rise / max(abs(curve.best), 1e-300)
        if FALLS.reached(trend(curve)) and LOST.reached(lost):
            return Observation(
                ID,
                "present",
                f"{reward.name} rose from {num(reward.logged(reward.initial))} to {num(reward.logged(reward.now))} and "
                f"{curve.name} fell from {num(curve.logged(curve.best))} to {num(curve.logged(curve.now))}.",
                span(curve.series),
                curve.name,
                LOST.clarity(lost),
            )
    return Observation(ID, "absent", f"{scores[0].name} did not fall while {reward.name} rose.")


def _worse_than_before(signals: Signals, reward: Curve) -> Observation | None:
    """A score that the script measured before the training and after it."""
    worse = symptom_outcome(signals)
    if worse.state != "present" or worse.steps is None or worse.steps[0] == worse.steps[1] or not rewarded(signals):
        return None
    rose = f"{reward.name} rose from {num(reward.logged(reward.initial))} to {num(reward.logged(reward.now))}"
    return Observation(ID, "present", f"{rose}. {worse.evidence}", worse.steps, worse.where, worse.clarity)


def _independent(signals: Signals, reward: Series) -> list[Series]:
    """Scores and rewards of data that is not trained on, and parts of the reward that name what is really wanted."""
    found = [one for one in usable(signals.run, "score", "reward") if one.meaning.split in ("val", "test")]
    for one in usable(signals.run, "reward"):
        words = set(one.meaning.part.replace("-", "_").replace("/", "_").lower().split("_"))
        if one.name != reward.name and one.meaning.split in ("", "train") and words & TRUE:
            found.append(one)
    return found


SYMPTOM = Symptom(
    id=ID,
    title="reward and score part",
    severity="problem",
    family="proxy",
    background=0.008,
    needs=("a held-out score or a correctness reward beside the reward",),
    doc="""
## What is observed
The reward that is trained on rises while a held-out score, or the part of the reward that checks the answer, falls.

## How it is measured
The reward clearly rose; a score or reward of data that is not trained on, or a part called accuracy, correct, exact or
success, has at least 6 values, a falling trend (Mann-Kendall from 2 standard deviations) and has lost a tenth of its
best.

## Healthy range
Both rise, the held-out score more slowly. A gap that grows while both rise is not this.

## What it usually means
The policy has found a way to earn reward without the task: length, format, phrases the reward model likes, a parser
that accepts wrong answers.
""",
    detect=detect,
    cases=(
        Case(
            "held-out accuracy falls",
            "present",
            lambda: {
                "reward": ramp(80, 0.2, 0.9, 0.03),
                "reward_std": flat(80, 0.2),
                "eval_accuracy": (range(0, 80, 8), ramp(10, 0.6, 0.3, 0.02)),
            },
        ),
        Case(
            "the correctness part falls",
            "present",
            lambda: {
                "reward": ramp(80, 0.2, 0.9, 0.03),
                "reward_std": flat(80, 0.2),
                "rewards/correctness_reward/mean": ramp(80, 0.5, 0.2, 0.05),
                "rewards/format/mean": ramp(80, 0.1, 0.7),
            },
        ),
        Case(
            "both rise",
            "absent",
            lambda: {
                "reward": ramp(80, 0.2, 0.9, 0.03),
                "reward_std": flat(80, 0.2),
                "eval_accuracy": (range(0, 80, 8), ramp(10, 0.3, 0.5, 0.02)),
            },
        ),
        Case("nothing beside it", "unknown", lambda: {"reward": ramp(80, 0.2, 0.9), "reward_std": flat(80, 0.2)}),
    ),
)
