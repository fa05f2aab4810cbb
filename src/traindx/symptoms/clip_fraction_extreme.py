"""clip-fraction-extreme: clipping cuts most of the updates, or none although the policy moves far."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import Measured, RatioSpread
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.policy import NOT_RL, enough, late, named, risen, span
from traindx.symptoms.recipes import flat, ramp
from traindx.thresholds import Threshold

ID = "clip-fraction-extreme"
MAX_SHARE = Threshold(
    0.5, "share of terms", "Huang et al. 2022 (37 details of PPO) see 0.1 to 0.3 in runs that learn", strong=0.8
)
FAR = Threshold(0.1, "nats an update", "a ratio of 0.8 to 1.2, PPO's usual clip range, is about 0.02", strong=0.5)

MIN_LOOKS = Threshold(6, "looks", "the first updates on a batch have ratios of 1")


def judge(measured: Measured) -> Observation | None:
    """By the ratios themselves."""
    for one in measured.latest(RatioSpread):
        if not MIN_LOOKS.reached(one.looks) or not MAX_SHARE.reached(one.outside):
            continue
        return seen(
            ID, True, f"{percent(one.outside)} of the ratios are further than {num(one.clip)} from 1 and "
                      f"give no gradient (usual: 0.1 to 0.3).", at=one, clarity=MAX_SHARE.clarity(one.outside),
        )  # fmt: skip
    return None


def detect(signals: Signals) -> Observation:
    series = named(signals, "clip_fraction", ("",))
    if signals.kind != "rl":
        return Observation(ID, "unknown", NOT_RL)
    if series is None or not enough(series):
        return Observation(ID, "unknown", "No clip fraction is logged in 20 rows.")
    share = late(series)
    if MAX_SHARE.reached(share):
        return Observation(
            ID,
            "present",
            f"{series.name} is {num(share)}: {percent(share)} of the terms are clipped and "
            f"give no gradient (usual: 0.1 to 0.3).",
            span(series),
            series.name,
            MAX_SHARE.clarity(share),
        )
    moved = named(signals, "kl", ("update",))
    if moved is not None and enough(moved) and not np.any(series.values) and FAR.reached(late(moved)):
        return Observation(
            ID,
            "present",
            f"{series.name} is 0 in every row although {moved.name} is {num(late(moved))}: clipping does not act.",
            span(series),
            series.name,
            FAR.clarity(late(moved)),
        )
    return Observation(ID, "absent", f"{series.name} is {num(share)} lately.")


SYMPTOM = Symptom(
    id=ID,
    title="clipping cuts most updates, or never acts",
    severity="problem",
    family="ratio",
    background=0.03,
    needs=("clip fraction",),
    doc="""
## What is observed
More than half of the terms of the policy loss are clipped, or none is while the policy moves far in each update.

## How it is measured
The median of the last quarter of at least 20 rows. Present from 0.5, plain from 0.8; also where it is exactly 0 in
every row and an update moves the policy by more than 0.1 nats.

## Healthy range
0.05 to 0.3 for PPO with several passes, 0 for GRPO with one update a batch, below 0.01 for language models at small
learning rates.

## What it usually means
Too high: learning rate or number of passes too large, samples of another policy, advantages that are not normalised.
Never: the clip range is far too wide, or the ratio is not the one that is clipped.
""",
    detect=from_measurements(ID, judge, detect, risen),
    cases=(
        Case(
            "a recording saw most ratios clipped",
            "present",
            measured=(RatioSpread(looks=9, reused=8, pinned=0, fresh=1, lowest=0, highest=90, outside=0.9, clip=0.2),),
        ),
        Case(
            "two thirds",
            "present",
            lambda: {
                "ep_rew_mean": flat(40, 10.0, 0.2),
                "ep_len_mean": flat(40, 9.0),
                "clip_fraction": flat(40, 0.66, 0.1),
            },
        ),
        Case(
            "none, and far",
            "present",
            lambda: {
                "ep_rew_mean": flat(40, 10.0, 0.2),
                "ep_len_mean": flat(40, 9.0),
                "clip_fraction": flat(40, 0.0),
                "approx_kl": flat(40, 0.8, 0.2),
            },
        ),
        Case(
            "usual",
            "absent",
            lambda: {
                "ep_rew_mean": ramp(40, 10.0, 90.0),
                "ep_len_mean": flat(40, 9.0),
                "clip_fraction": flat(40, 0.15, 0.2),
            },
        ),
        Case(
            "none in GRPO",
            "absent",
            lambda: {
                "reward": ramp(40, 0.1, 0.5),
                "reward_std": flat(40, 0.1),
                "clip_ratio/region_mean": flat(40, 0.0),
            },
        ),
        Case("not logged", "unknown", lambda: {"reward": flat(40, 0.3, 0.2), "reward_std": flat(40, 0.1)}),
    ),
)
