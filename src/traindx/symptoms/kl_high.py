"""kl-high: the policy is far from the one it began from, or moves far in one update."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Series
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.policy import NOT_RL, early, enough, late, named, rewarded, span
from traindx.symptoms.recipes import flat, ramp
from traindx.thresholds import Threshold

ID = "kl-high"
_GAO = "Gao et al. 2023 (reward model overoptimization): the true score turns between 10 and 100 nats an answer"
TOKEN = Threshold(1.0, "nats a token", f"{_GAO}, and answers hold hundreds of tokens", strong=5.0)
ANSWER = Threshold(100.0, "nats an answer", _GAO, strong=400.0)
UPDATE = Threshold(
    0.5,
    "nats an update",
    "Spinning Up stops a PPO update at 0.015, RLlib aims at 0.01 to 0.2; far beyond both",
    strong=2.0,
)
RUNAWAY_ROWS = 2
GREW = Threshold(3.0, "times its early level", "a policy that drifts away, not one that began there")
LIMITS = {"reference": TOKEN, "answer": ANSWER, "update": UPDATE}
OF = {"reference": "from the reference", "answer": "from the reference", "update": "in one update"}


def detect(signals: Signals) -> Observation:
    if signals.kind != "rl":
        return Observation(ID, "unknown", NOT_RL)
    found: list[Observation] = []
    for part, limit in LIMITS.items():
        series = named(signals, "kl", (part, "kl") if part == "reference" else (part,))
        if series is not None and _runaway(series, limit):
            text = f"{series.name} is {num(float(series.values[-1]))} {limit.unit} {OF[part]} in the last rows"
            text += f" (far from {num(limit.value)} on)."
            found.append(Observation(ID, "present", text, span(series), series.name, 1.0, conclusive=True))
            continue
        if series is None or not enough(series):
            continue
        first, now = early(series), late(series, 0.1)
        text = f"{series.name} is {num(now)} {limit.unit} {OF[part]}, {num(first)} early on"
        if limit.reached(now) and (GREW.reached(now / max(first, 1e-300)) or now >= (limit.strong or 0)):
            good = rewarded(signals)
            why = " The reward rose all the same: check it on data that is not trained on." if good else ""
            found.append(
                Observation(
                    ID,
                    "present",
                    f"{text} (far from {num(limit.value)} on).{why}",
                    span(series),
                    series.name,
                    limit.clarity(now) * (0.5 if good else 1.0),
                )
            )
        else:
            found.append(Observation(ID, "absent", f"{text}."))
    if not found:
        return Observation(ID, "unknown", "No KL divergence of the policy is logged in 20 rows.")
    return max(found, key=lambda one: (one.state == "present", one.clarity))


def _runaway(series: Series, limit: Threshold) -> bool:
    """A handful of rows, the last of which are beyond any doubt and far above the first."""
    last = series.values[-RUNAWAY_ROWS:]
    if enough(series) or len(last) < RUNAWAY_ROWS or limit.strong is None or not np.isfinite(series.values).all():
        return False
    return bool(last.min() >= limit.strong and GREW.reached(float(last.min()) / max(float(series.values[0]), 1e-300)))


SYMPTOM = Symptom(
    id=ID,
    title="policy is far from where it began",
    severity="problem",
    family="kl",
    background=0.02,
    needs=("KL divergence of the policy",),
    doc="""
## What is observed
The KL divergence between the policy and its reference, or between two policies one update apart, grows beyond what
such trainings bear.

## How it is measured
The median of the last tenth against 1 nat a token (TRL's GRPO, verl), 100 nats an answer (TRL's PPO, open-instruct) or
0.5 nats an update (approx_kl). Present where it also grew threefold, or is five times beyond. A reward that rises all
the same halves the weight. Of less than 20 rows the last two must be several times beyond and three times the first.

## Healthy range
0.001 to 0.1 nats a token to the reference; 0.003 to 0.03 an update for PPO. Runs without a KL term drift further.

## What it usually means
A KL coefficient that is zero, too small or of the wrong sign, a learning rate that is too high, a reference that is not
the starting model, samples of an older policy, or a reward that pays for strange text.
""",
    detect=detect,
    cases=(
        Case(
            "far gone in the last two of four rows",
            "present",
            lambda: {
                "reward": [0.9, 0.7, -0.5, -0.5],
                "reward_std": [0.8, 0.7, 0.0, 0.0],
                "kl": [1e-4, 1e-4, 22.0, 27.0],
            },
        ),
        Case(
            "runs away",
            "present",
            lambda: {"reward": flat(80, 0.3, 0.2), "reward_std": flat(80, 0.1), "kl": 0.01 * 1.1 ** ramp(80, 0, 79)},
        ),
        Case(
            "one update goes far",
            "present",
            lambda: {
                "ep_rew_mean": flat(80, 30.0, 0.2),
                "ep_len_mean": flat(80, 30.0),
                "approx_kl": ramp(80, 0.02, 3.0),
            },
        ),
        Case(
            "usual",
            "absent",
            lambda: {"reward": ramp(80, 0.1, 0.5), "reward_std": flat(80, 0.1), "kl": ramp(80, 0.0, 0.08)},
        ),
        Case(
            "summed over the answer",
            "absent",
            lambda: {"objective/scores": ramp(80, 0.1, 0.5), "objective/kl": ramp(80, 2.0, 14.0)},
        ),
        Case("of a latent variable", "unknown", lambda: {"loss": flat(80, 90.0), "kl": flat(80, 20.0)}),
    ),
)
