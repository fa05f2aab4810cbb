"""Ways to evidence: the commands, logs and trials that show what is not known yet, what each shows and what it costs.

Evidence comes in bundles: one recording shows dozens of symptoms at once, a probe its own few, a flag on the command
line one number. A symptom's `needs` say which bundle it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from traindx import commands
from traindx.symptoms.base import Symptom

Kind = Literal["recording", "probe", "question", "log", "trial"]
MACHINE_SHARE = 0.25  # what a machine's second costs against a person's, who does something else meanwhile
ANSWERED = 0.69  # clarity of what a person tells: just below what counts as proof (words.PROVES)


@dataclass(frozen=True)
class Way:
    """`person` and `machine` are seconds of either's time; `command` may name {script} and {source}; `sees` is what
    part of a symptom's `needs` it satisfies; `clarity` is how plainly it speaks."""

    id: str
    kind: Kind
    evidence: str
    command: str
    person: float
    machine: float = 0.0
    sees: tuple[str, ...] = ()
    clarity: float = 1.0

    @property
    def cost(self) -> float:
        return self.person + MACHINE_SHARE * self.machine

    def shows(self, symptom: Symptom) -> bool:
        return any(mark in need for mark in self.sees for need in symptom.needs)


_INSIDE = (
    "traindx run", "from the inside", "loss function", "targets", "by layer", "by parameter", "by rank",
    "activation statistics",
    "update-to-weight ratio", "weight norm", "spread of predictions", "gradient norm", "step time", "data time",
    "loss scale",
    "skipped steps", "throughput", "learning rate", "loss from the first step",
    "reward", "entropy of the policy", "KL divergence", "clip fraction", "margin between", "length of answers",
    "share of cut answers", "trainer and sampler", "value function", "mixture of experts",
)  # fmt: skip
_VALIDATION = f"log a validation loss once per epoch and run `{commands.DIAGNOSE}` again"
_FEW_STEPS = f"log the training loss every few steps and run `{commands.DIAGNOSE}` again"
_RATE = f"log scheduler.get_last_lr()[0] with each loss and run `{commands.DIAGNOSE}` again"

# Probes: the script's start (imports, data) and the probe's own share of time. Logging something anew: an edit and most
# of a training. A recording shows most within minutes, while the training does its work anyway.
WAYS: tuple[Way, ...] = (
    Way("recording", "recording", "gradients and weights", commands.RUN, 10, 180, _INSIDE),
    Way("sanity", "probe", "whether it can learn one batch", commands.SANITY, 10, 40, ("traindx sanity",)),
    Way("gradients", "probe", "gradients layer by layer", commands.GRADIENTS, 10, 25,
        ("traindx gradients", "gradient norm", "gradient norms by layer", "gradient norms by parameter")),
    Way("activations", "probe", "activations layer by layer", commands.ACTIVATIONS, 10, 25,
        ("traindx activations", "units by layer", "activation statistics")),
    Way("lr-range", "probe", "which learning rates work", commands.LR_RANGE, 10, 25, ("traindx lr-range",)),
    Way("curvature", "probe", "which learning rates are stable", commands.CURVATURE, 10, 25,
        ("traindx curvature",)),
    Way("speed", "probe", "where the time goes", commands.SPEED, 10, 25,
        ("traindx speed", "data time", "step time")),
    Way("checkpoint", "probe", "the weights themselves", commands.CHECKPOINT, 20, 5,
        ("traindx checkpoint",)),
    Way("ask", "question", "your answers about the script", commands.ASK, 90, 0,
        ("traindx run", "from the inside", "loss function"),
        ANSWERED),
    Way("classes", "log", "number of classes", commands.CLASSES, 10, 0, ("number of classes",)),
    Way("config", "log", "planned steps and other settings", commands.CONFIG, 20, 0,
        ("planned steps or epochs", "settings")),
    Way("validation loss", "log", "validation loss", _VALIDATION, 120, 1800, ("validation",)),
    Way("learning rate", "log", "learning rate", _RATE, 120,
        1800, ("learning rate",)),
    Way("training loss", "log", "training loss", _FEW_STEPS, 120, 1800, ("loss",)),
    Way("step time", "log", "step time", "log the seconds each step takes, and those spent waiting for data", 120, 600,
        ("step time", "data time")),
)  # fmt: skip

# A trial: the likeliest cause's first fix on a copy of the script, a short run before and after.
TRIAL = Way("trial", "trial", "whether the fix of {cause} helps", commands.FIX, 10, 300)
TRIAL_HELPS: Mapping[bool, float] = {True: 0.8, False: 0.15}  # P(a fix helps | its cause is at work or not)


def cheapest(symptom: Symptom) -> Way:
    """The least costly way that sees the symptom for itself; a recording where no other is known to."""
    seeing = [way for way in WAYS if way.shows(symptom) and way.kind != "question"]
    return min(seeing or WAYS[:1], key=lambda way: way.cost)
