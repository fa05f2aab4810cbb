"""error-misses-layers: layers that a penalty trains and the error does not."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "error-misses-layers"

SYMPTOM = Symptom(
    id=ID,
    title="layers trained by a penalty alone, cut off from the error",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "loss given to backward",
    ),
    doc="""
## What is observed
The model rebuilds its input, and the error of that reaches some of its layers only. The ones that take in the input are reached by
another term of the loss alone, such as the divergence of a variational autoencoder: every parameter has a gradient, and the encoder
learns to say nothing.

## How it is measured
A recording compares the parameters behind the loss that `backward` gets with those behind the loss function whose target is the
model's own input, on steps that are looked at closely. Present when parameters of the same model that take in the input are among the
former and not the latter in two of them, one loss function was called, and the rest of the loss holds an exponential, as the divergence
of a Gaussian does, and no error of its own.

## Healthy range
None: an autoencoder's encoder is there to be trained by the error. A decoder that is trained on the detached features of another task
is left alone, since that task has a loss function, too.

## What it usually means
`.detach()`, `.data` or `torch.no_grad()` around the code, or one that is drawn with `Normal(mean, std).sample()` instead of `rsample()`.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "The error that mse_loss gives reaches dec.0.weight and not enc.0.weight, which takes in the data: a penalty alone trains it.",
        "The error reaches every layer.",
    ),
)
