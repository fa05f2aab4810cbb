"""outcome-poor: what the script itself measures at the end says that the training did not do what it is for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traindx.diagnosis import Observation
from traindx.meaning import tokens_of
from traindx.measurements import PolicyObjective, TokenCounts
from traindx.run import Series
from traindx.signals import Signals
from traindx.signals.choose import held_out_scores
from traindx.signals.score import top_of
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.recipes import falling
from traindx.thresholds import Threshold

ID = "outcome-poor"
NEAR_ZERO = Threshold(
    0.06,
    "of the top of a score of answers, at the end",
    "of 60 labelled scripts of language models and policies with such a score, the 24 sound ones end at 0.15 and more, "
    "12 of the 36 faulty ones at 0.06 and less",
    side="below",
)
LEARNT = Threshold(0.3, "of the training loss gone", "below it nothing was learnt that a score could show")
LOST = Threshold(
    0.4, "of what it was before the training", "half of 20 questions differ by less than two in five", strong=0.7
)
FELL = Threshold(0.15, "of its top, by which it fell", "two standard deviations of a share of 40 questions")
LATE = 0.9  # of the run: a score of the beginning is none of its outcome
DOUBTFUL = 0.6  # clarity: a task may be harder than its loss
WORKS = Threshold(0.5, "of its top", "what a coin gives where there are two answers, and far more than it where many")
OF_TARGETS = "val_accuracy"  # a recording's own: next tokens beside the right ones before them, which no user sees
ANSWERS = frozenset("acc accuracy right solved correct exact em success pass1 pass5 pass10".split())


@dataclass(frozen=True)
class _Outcome:
    series: Series
    first: float
    last: float
    top: float


def detect(signals: Signals) -> Observation:
    if not signals.run.seen_inside:
        return Observation(ID, "unknown", "Only a recording tells which score a script measured at its end.")
    scores = [one for one in held_out_scores(signals.run) if one.name != OF_TARGETS]
    found = [one for one in (_outcome(signals, series) for series in scores) if one is not None]
    fallen = [one for one in found if len(one.series) == 2 and _fell(one)]
    if fallen:
        worst = max(fallen, key=lambda one: one.first - one.last)
        text = (
            f"{worst.series.name} was {num(worst.first)} before the training and is {num(worst.last)} after it: the "
            "model is worse than the one it began from."
        )
        steps = (float(worst.series.steps[0]), float(worst.series.steps[-1]))
        clear = LOST.clarity(1 - worst.last / worst.first)
        return Observation(ID, "present", text, steps, worst.series.name, clear)
    answers = [one for one in found if set(tokens_of(one.series.name)) & ANSWERS] if _writes(signals) else []
    if not answers:
        return Observation(ID, "unknown", "The script printed no score of its own at the end.")
    best = max(answers, key=lambda one: one.last / one.top)
    said = f"{best.series.name} is {num(best.last)} at the end"
    train = signals.train
    if WORKS.reached(best.last / best.top):
        return Observation(ID, "absent", f"{said}.")
    if not NEAR_ZERO.reached(best.last / best.top):
        return Observation(ID, "unknown", f"{said}, which may be much or little.")
    if train is None or not LEARNT.reached(train.reduction):
        return Observation(ID, "unknown", f"{said}, and the training loss hardly fell.")
    text = f"{said}, although {train.name} fell from {num(train.initial)} to {num(train.now)}."
    at = float(best.series.steps[-1])
    return Observation(ID, "present", text, (at, at), best.series.name, DOUBTFUL)


def _outcome(signals: Signals, series: Series) -> _Outcome | None:
    """A score that was measured when the training was over."""
    values = series.values[np.isfinite(series.values)]
    if len(values) < len(series) or not len(values) or series.steps[-1] < LATE * (signals.run.steps or 0):
        return None
    top = top_of(values)
    bounded = float(values.min()) >= 0 and float(values.max()) <= top
    return _Outcome(series, float(values[0]), float(values[-1]), top) if bounded else None


def _fell(one: _Outcome) -> bool:
    lost = one.first - one.last
    return lost > 0 and LOST.reached(lost / one.first) and FELL.reached(lost / one.top)


def _writes(signals: Signals) -> bool:
    """A model of tokens: of one that sorts pictures into a thousand classes a small share right is no nothing."""
    return any(one.all(TokenCounts) or one.all(PolicyObjective) for one in signals.run.measured)


def _counts() -> TokenCounts:
    return TokenCounts(
        evaluation=False, batches=8, samples=64, tokens=900, padding=0, counted=900, padding_counted=0, same=0,
        next=900, second=0, repeated=0.0, empty=0, empty_batches=0, longest=16, at_limit=0, at_limit_open=0,
        structured=64, known_by="template", without_answer=0, prompt=0, prompt_counted=0, answer=900,
        answer_counted=900, prompt_loss=0.0, answer_loss=1.0, padded_left=0, padded_right=0, with_mask=0,
        padding_attended=0, hidden=0, duplicates=0, vocabulary=80,
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="the script's own score says it failed",
    severity="problem",
    family="outcome",
    background=0.02,
    needs=("a recording of a script that prints its score (traindx run)",),
    doc="""
## What is observed
The loss falls and nothing else looks wrong, but the score that the script prints at its end is next to nothing, or far
below what the same score was before the training.

## How it is measured
Scores that a recorded script prints when the training is over: shares of answers that are right, solved, correct,
exact. Present for a language model or a policy when the best of them is at most 0.06 of its scale and the training loss
lost 30 %. Also present, for any model, when a score that was printed before and after (`solved before 0.88 after 0.15`,
`accuracy 0.9 -> 0.3`, or two lines that say so) lost two fifths of what it was.

## Healthy range
A training that works answers some of the questions it was trained for, and is not worse than before.

## What it usually means
The loss does not measure what the score does: other tokens count (the prompt, no end), the evaluation uses another
template, padding side or adapter than the training, or the loss goes the wrong way (pairs swapped, a penalty paid as a
reward). A rate so high that the model only repeats the commonest answer looks like this, too.
""",
    detect=detect,
    cases=(
        Case("the loss fell and no answer is right", "present",
             lambda: {"train_loss": falling(200, 4.9, 0.1), "answers right": ([199.0], [0.01])}, measured=(_counts(),)),
        Case("worse than before", "present",
             lambda: {"train_loss": falling(200, 0.69, 0.5), "solved": ([0.0, 199.0], [0.88, 0.15])},
             measured=(_counts(),)),
        Case("most answers are right", "absent",
             lambda: {"train_loss": falling(200, 4.9, 0.1), "answers right": ([199.0], [0.84])}, measured=(_counts(),)),
        Case("a little less than before", "absent",
             lambda: {"train_loss": falling(200, 0.69, 0.5), "solved": ([0.0, 199.0], [0.88, 0.80])},
             measured=(_counts(),)),
        Case("some answers are right", "unknown",
             lambda: {"train_loss": falling(200, 4.9, 0.1), "answers right": ([199.0], [0.2])}, measured=(_counts(),)),
        Case("next tokens beside the right ones", "unknown",
             lambda: {"train_loss": falling(200, 4.9, 0.1), "val_accuracy": ([199.0], [0.02])}, measured=(_counts(),)),
        Case("the loss did not fall either", "unknown",
             lambda: {"train_loss": falling(200, 4.9, 4.6), "answers right": ([199.0], [0.01])},
             measured=(_counts(),)),
        Case("a score of the middle of the run", "unknown",
             lambda: {"train_loss": falling(200, 4.9, 0.1), "answers right": ([50.0], [0.01])}, measured=(_counts(),)),
        Case("a log alone", "unknown", lambda: {"train_loss": falling(200, 4.9, 0.1), "accuracy": ([199.0], [0.01])}),
    ),
)  # fmt: skip
