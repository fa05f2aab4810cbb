"""value-loss-grows: the critic's loss grows by orders of magnitude while the return does not."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.policy import NOT_RL, early, enough, late, named, rewarded, span
from traindx.symptoms.recipes import flat, ramp
from traindx.thresholds import Threshold

ID = "value-loss-grows"
GREW = Threshold(
    100.0, "times its early level", "a squared error: returns that grow tenfold make it a hundredfold", strong=1e4
)
PARTS = ("value", "vf", "critic", "value/function", "v", "qf", "qf1", "q")


def detect(signals: Signals) -> Observation:
    if signals.kind != "rl":
        return Observation(ID, "unknown", NOT_RL)
    series = named(signals, "loss", PARTS)
    if series is None or not enough(series):
        return Observation(ID, "unknown", "No loss of a value function is logged in 20 rows.")
    first, now = early(series), late(series, 0.1)
    times = now / first if first > 0 else 0.0
    text = f"{series.name} was {num(first)} early on and is {num(now)} now"
    if not GREW.reached(times):
        return Observation(ID, "absent", f"{text}.")
    if rewarded(signals):
        return Observation(ID, "absent", f"{text}, and the return rose: larger returns are harder to predict.")
    sentence = named(signals, "explained_variance")
    also = f"; {sentence.name} is {num(late(sentence))}" if sentence is not None and enough(sentence) else ""
    return Observation(
        ID,
        "present",
        f"{text}, {times:.0f} times as much, while the return did not rise{also}.",
        span(series),
        series.name,
        GREW.clarity(times),
    )


SYMPTOM = Symptom(
    id=ID,
    title="value loss grows without end",
    severity="problem",
    family="value",
    background=0.03,
    needs=("loss of the value function",),
    doc="""
## What is observed
The loss of the critic grows by orders of magnitude and the return does not rise with it.

## How it is measured
The median of the last tenth over that of the first quarter, on at least 20 rows: present from 100, plain from 10 000.
Where the return clearly rose it is no fault: squared errors grow with the square of the returns.

## Healthy range
It rises and falls with the returns, by a factor of ten to a hundred in the course of learning.

## What it usually means
Rewards or observations that are not scaled, targets that feed on themselves (no target network, bootstrapping through
ends of episodes), a learning rate that is too high, actions beyond their bounds.
""",
    detect=detect,
    cases=(
        Case(
            "explodes",
            "present",
            lambda: {
                "ep_rew_mean": flat(60, -200.0, 0.1),
                "ep_len_mean": flat(60, 200.0),
                "value_loss": 10.0 ** ramp(60, 0, 6),
                "explained_variance": flat(60, -0.5, 0.3),
            },
        ),
        Case(
            "grows with the return",
            "absent",
            lambda: {
                "ep_rew_mean": ramp(60, 10.0, 900.0, 0.03),
                "ep_len_mean": flat(60, 200.0),
                "value_loss": 10.0 ** ramp(60, 0, 4),
            },
        ),
        Case(
            "calm",
            "absent",
            lambda: {
                "ep_rew_mean": ramp(60, 10.0, 90.0),
                "ep_len_mean": flat(60, 200.0),
                "value_loss": flat(60, 40.0, 0.4),
            },
        ),
        Case("not logged", "unknown", lambda: {"ep_rew_mean": ramp(60, 10.0, 90.0), "ep_len_mean": flat(60, 200.0)}),
        Case("supervised", "unknown", lambda: {"loss": flat(60, 2.0)}),
    ),
)
