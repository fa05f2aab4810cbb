"""length-at-limit: most answers are cut at the maximum length."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import AnswerLengths, Measured
from traindx.run import Series
from traindx.signals import Signals
from traindx.signals.choose import usable
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.policy import NOT_RL, enough, late, named, rewarded, risen, span
from traindx.symptoms.recipes import flat, ramp
from traindx.thresholds import Threshold

ID = "length-at-limit"
CUT = Threshold(
    0.5, "share of answers", "DAPO (Yu et al. 2025, 3.4): cut answers earn noise; here they are the most", strong=0.9
)
SAME = Threshold(0.98, "of the longest answer", "the mean is at the limit only where nearly all are", strong=1.0)

MIN_LOOKS = Threshold(4, "looks", "answers of a few prompts may all be long")


def judge(measured: Measured) -> Observation | None:
    """By the mask that counts the tokens of answers, beside the limit that the script sets."""
    for one in measured.latest(AnswerLengths):
        if not MIN_LOOKS.reached(one.looks) or not one.limit:
            continue
        text = f"{percent(one.at_longest)} of the answers have {one.longest} tokens, and {one.limit} are allowed"
        present = one.longest >= one.limit and CUT.reached(one.at_longest)
        return seen(ID, present, f"{text}.", at=one, clarity=CUT.clarity(one.at_longest) if present else 1.0)
    return None


def detect(signals: Signals) -> Observation:
    if signals.kind != "rl":
        return Observation(ID, "unknown", NOT_RL)
    share = named(signals, "cut_share")
    if share is not None and enough(share):
        return _judged(signals, share)
    mean, longest = named(signals, "length", ("answer",)), _longest(signals)
    if mean is None or longest is None or not enough(mean) or not enough(longest):
        return Observation(ID, "unknown", "Neither the share of cut answers nor mean and longest answer are logged.")
    limit = float(np.nanmax(longest.values))
    if not SAME.reached(late(mean) / max(limit, 1e-300)):
        return Observation(ID, "absent", f"{mean.name} is {num(late(mean))}, the longest answer {num(limit)}.")
    return Observation(
        ID,
        "present",
        f"{mean.name} is {num(late(mean))}, the longest answer {num(limit)}: nearly all answers are cut at the limit.",
        span(mean),
        mean.name,
        SAME.clarity(late(mean) / limit),
    )


def _judged(signals: Signals, share: Series) -> Observation:
    level = late(share)
    text = f"{percent(level)} of the recent answers are cut at the maximum length ({share.name})"
    if not CUT.reached(level):
        return Observation(ID, "absent", f"{text}.")
    if rewarded(signals) and level < (CUT.strong or 1.0):
        return Observation(ID, "absent", f"{text}, but the reward rose.")
    return Observation(
        ID, "present", f"{text} (many from {percent(CUT.value)}).", span(share), share.name, CUT.clarity(level)
    )


def _longest(signals: Signals) -> Series | None:
    found = [s for s in signals.run.of("length") if s.meaning.stat == "max" and s.meaning.part == "answer" and len(s)]
    return max(found, key=len, default=None) if usable(signals.run, "length") else None


SYMPTOM = Symptom(
    id=ID,
    title="most answers are cut at the maximum length",
    severity="problem",
    family="length",
    background=0.05,
    needs=("share of cut answers (clipped_ratio, response_length/clip_ratio)",),
    doc="""
## What is observed
The policy does not finish its answers: they are cut at the maximum length.

## How it is measured
The share of cut answers (`completions/clipped_ratio`, `response_length/clip_ratio`) over the last quarter of at least
20 rows: present from a half, plain from nine tenths. Where it is not logged: the mean length lies within 2 % of the
longest answer ever. Where the reward clearly rose and less than nine tenths are cut, it does no harm yet.

## Healthy range
Below a tenth for short tasks, up to a third for long reasoning.

## What it usually means
The limit is too small for the task, the end-of-sequence token is not produced (wrong template, never a target before),
or the policy has collapsed into endless text.
""",
    detect=from_measurements(ID, judge, detect, risen),
    cases=(
        Case(
            "a recording saw them cut",
            "present",
            measured=(
                AnswerLengths(looks=8, mean=15.9, first_mean=16, longest=16, at_longest=0.97, limit=16, where="mask"),
            ),
        ),
        Case(
            "a recording saw them end",
            "absent",
            measured=(
                AnswerLengths(looks=8, mean=9, first_mean=9, longest=16, at_longest=0.05, limit=16, where="mask"),
            ),
        ),
        Case(
            "nearly all",
            "present",
            lambda: {
                "reward": flat(40, 0.1, 0.3),
                "reward_std": flat(40, 0.1),
                "completions/clipped_ratio": flat(40, 0.96, 0.02),
            },
        ),
        Case(
            "mean is the longest",
            "present",
            lambda: {
                "reward": flat(40, 0.1, 0.3),
                "reward_std": flat(40, 0.1),
                "completions/mean_length": flat(40, 256.0, 0),
                "completions/max_length": flat(40, 256.0, 0),
            },
        ),
        Case(
            "a tenth",
            "absent",
            lambda: {
                "reward": ramp(40, 0.1, 0.5),
                "reward_std": flat(40, 0.1),
                "completions/clipped_ratio": flat(40, 0.1, 0.2),
            },
        ),
        Case(
            "many, and the reward rises",
            "absent",
            lambda: {
                "reward": ramp(60, 0.1, 0.5, 0.02),
                "reward_std": flat(60, 0.1),
                "completions/clipped_ratio": flat(60, 0.6, 0.05),
            },
        ),
        Case("episodes", "unknown", lambda: {"ep_rew_mean": ramp(40, 10.0, 200.0), "ep_len_mean": flat(40, 200.0, 0)}),
        Case("not logged", "unknown", lambda: {"reward": flat(40, 0.3, 0.2), "reward_std": flat(40, 0.1)}),
    ),
)
