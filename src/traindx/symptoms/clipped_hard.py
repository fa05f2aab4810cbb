"""clipped-hard: nearly every gradient is cut to a small part of itself."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "clipped-hard"

SYMPTOM = Symptom(
    id=ID,
    title="gradients are clipped to a fraction",
    severity="problem",
    family="clipping",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Nearly every gradient is longer than the clipping norm, by twenty times or more: what is left of it has the same tiny
length at every step.

## How it is measured
The norm that clip_grad_norm_ found before it cut, by the norm it was given: above it in 95 % of the steps, thirty at
least, and twenty times above it in the middle, or six times, as a less clear sign, for SGD with a rate below 1: there
the update is as short as what is left of the gradient. Clipping by value counts when it leaves a twentieth of the norm or less.

## Healthy range
Clipping that acts on a few per cent of the steps. Language models are often clipped at most steps, by a factor of two
or three.

## What it usually means
A clipping norm far too small for this loss, a summed loss, or gradients that explode and should be cured where they
come from. With Adam the length matters little.
""",
    detect=from_fact(ID),
    cases=(
        Case("norm 1e-3", "present",
             facts=(Fact(ID, True, "Gradients are clipped to a norm of 0.001 in 100 % of 60 steps; their norm is 900 times that in the middle."),)),
        Case("now and then", "absent",
             facts=(Fact(ID, False, "Gradients are clipped to a norm of 1 in 4 % of 60 steps; their norm is 0.3 times that in the middle."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
