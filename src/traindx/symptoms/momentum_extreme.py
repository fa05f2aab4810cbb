"""momentum-extreme: an update is the sum of hundreds of gradients."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.run import Fact
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import cases_of, from_fact
from traindx.symptoms.recipes import falling

ID = "momentum-extreme"
LONG = 0.99  # where the usual 0.9 needs ten steps to get up to speed, this needs a hundred
TIMES = 10  # so many times that a run should last for such a momentum to pay
CLEAR = 0.5

_told = from_fact(ID)


def detect(signals: Signals) -> Observation:
    told = _told(signals)
    config, train = signals.run.config, signals.train
    momentum = config.get("momentum")
    if told.state != "absent" or train is None or config.get("optimizer") != "SGD" or config.get("nesterov"):
        return told
    if not isinstance(momentum, float) or not LONG <= momentum < 1 or train.series.axis != "step":
        return told
    memory, updates = 1 / (1 - momentum), float(train.x[-1] - train.x[0]) + 1
    if updates >= TIMES * memory:
        return told
    text = f"SGD has a momentum of {momentum:g}: each update adds up the gradients of about {memory:.0f} steps, and the run has {updates:.0f}."
    return Observation(ID, "present", text, clarity=CLEAR)


SETTINGS = {"optimizer": "SGD", "momentum": 0.99}
TOLD = (Fact(ID, False, "SGD has a momentum of 0.99."),)

SYMPTOM = Symptom(
    id=ID,
    title="momentum next to one",
    severity="problem",
    family="momentum",
    background=0.002,
    needs=("recording from the inside",),
    doc="""
## What is observed
The optimiser is plain SGD with a momentum so close to one that it adds up the gradients of two hundred steps and more.

## How it is measured
The momentum of the optimiser's first group, without dampening. Present from 0.995 on, and, for less, from 0.99 on without
Nesterov's correction where the run has fewer than ten times as many updates as one update adds up.

## Healthy range
0.9, or up to 0.99 with Nesterov's correction and long runs. A momentum of m makes steps 1/(1 − m) times as long as the rate says:
ten times at 0.9, a hundred times at 0.99, a thousand times at 0.999.

## What it usually means
A decay meant for an average of weights (0.999) was given as momentum, or Adam's second coefficient was. The loss swings slowly and
widely, or overshoots once and does not come back within the run.
""",
    detect=detect,
    cases=(
        *cases_of(
            ID,
            "SGD has a momentum of 0.999: each update adds up the gradients of about 1000 steps.",
            "SGD has a momentum of 0.9.",
        ),
        Case("0.99 in a short run", "present", lambda: {"train_loss": falling(400, 2.3, 0.5)}, SETTINGS, facts=TOLD),
        Case("0.99 in a long run", "absent", lambda: {"train_loss": falling(4000, 2.3, 0.5)}, SETTINGS, facts=TOLD),
        Case(
            "0.99 with Nesterov's correction",
            "absent",
            lambda: {"train_loss": falling(400, 2.3, 0.5)},
            {**SETTINGS, "nesterov": True},
            facts=TOLD,
        ),
    ),
)
