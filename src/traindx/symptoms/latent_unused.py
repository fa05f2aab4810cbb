"""latent-unused: the code of a variational autoencoder says nothing about its input."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import LatentCode, Measured
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "latent-unused"
ACTIVE = Threshold(
    0.01,
    "variance of a mean over the samples",
    "Burda, Grosse and Salakhutdinov, Importance Weighted Autoencoders, ICLR 2016, count units above it as active",
)
WIDE = Threshold(
    0.9, "median width of the code", "that of the prior is 1; at 0.9 the divergence of a dimension is 0.01 nats"
)
UPDATES = Threshold(
    100, "updates", "an untrained code says nothing either; it is used or lost within hundreds (Bowman et al. 2016)"
)
MIN_LOOKS = Threshold(3, "looks at the code", "the first ones are at the untrained model")


def judge(measured: Measured) -> Observation | None:
    last = measured.last(LatentCode)
    if last is None:
        return None
    active = sum(map(ACTIVE.reached, last.spreads))
    widest = max(last.spreads, default=0.0)
    if active:
        text = f"The means of the code differ from sample to sample (variance up to {num(widest)})."
        return seen(ID, False, text, at=last)
    if not (UPDATES.reached(last.updates) and MIN_LOOKS.reached(last.looks)) or not WIDE.reached(last.width):
        return None
    text = (
        f"After {last.updates} updates none of the {last.dimensions} dimensions of the code depends on the input: "
        f"their means vary by {num(widest)} over {last.samples} samples (active from 0.01 on) and their width is "
        f"{num(last.width)}, that of the prior."
    )
    return seen(ID, True, text, at=last)


def _code(widest: float, width: float = 0.99, updates: int = 400) -> LatentCode:
    return LatentCode(
        looks=5, updates=updates, dimensions=16, samples=64, spreads=(widest, widest / 4), width=width, noise=1.0
    )


SYMPTOM = Symptom(
    id=ID,
    title="the latent code ignores the input",
    severity="problem",
    family=ID,
    background=0.001,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The encoder of a variational autoencoder gives every input the same code, the prior: the decoder works without it.

## How it is measured
A recording finds the code in the graph of the loss: a mean plus noise times the exp of something, whose mean is squared
in the divergence. Present when, after a hundred updates, the mean of no dimension varies by 0.01 or more over the
samples of a batch and the width is 0.9 or more (1 is the prior).

## Healthy range
Some dimensions are active, some are not. Early in a training none is.

## What it usually means
The divergence weighs too much, from the first update on or beside a reconstruction that is averaged instead of summed;
or the decoder is strong enough to do without the code (an autoregressive one).
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("every code is the prior", "present", measured=(_code(0.0004),)),
        Case("some dimensions are used", "absent", measured=(_code(0.6, 0.4),)),
        Case("just active", "absent", measured=(_code(0.011),)),
        Case("narrow and all the same", "unknown", measured=(_code(0.0004, 0.2),)),
        Case("a few updates: too early to say", "unknown", measured=(_code(0.0004, updates=20),)),
        Case("a log alone", "unknown"),
    ),
)
