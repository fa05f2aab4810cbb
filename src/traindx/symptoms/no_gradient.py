"""no-gradient: trainable parameters that never receive a gradient."""

from __future__ import annotations

import re

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.inside import layers, level, printed_step
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_fact
from traindx.symptoms.recipes import falling, flat, put
from traindx.symptoms.reported import said

ID = "no-gradient"
MIN_POINTS = 3
COARSE = 1e-2  # of a usual norm: a log that prints no finer cannot tell zero from small
NAMED = 4
_BIAS = re.compile(r"(^|\W)bias$")
_MESSAGE = re.compile(
    r"does not require grad and does not have a grad_fn"  # torch: nothing in the graph is trainable
    r"|None of the inputs have requires_grad=True"  # torch: reentrant checkpointing cuts the graph
    r"|parameters that were not used in producing (?:the )?loss"  # torch DistributedDataParallel
    r"|Gradients do not exist for variables \[?'?([\w/.:-]*)"  # Keras
    r"|No gradients provided for any variable",
    re.IGNORECASE,
)


def detect(signals: Signals) -> Observation:
    reported = said(ID, signals.run, _MESSAGE)
    if reported is not None:
        return reported
    series = [one for one in layers(signals.run, "grad_norm") if len(one) >= MIN_POINTS]
    if len(series) < 2:
        return Observation(ID, "unknown", "No gradient norms by parameter were logged.")
    fed = {one.meaning.where for one in series if np.any(one.values)}
    # a bias that cancels out, in a difference of outputs or in front of a norm, is not cut off from the loss
    still = [one for one in series if not np.any(one.values) and _BIAS.sub(r"\1weight", one.meaning.where) not in fed]
    if not still:
        return Observation(
            ID, "absent", f"The layers of all {len(series)} parameters with a logged gradient norm receive one."
        )
    names = ", ".join(one.meaning.where for one in still[:NAMED]) + (" …" if len(still) > NAMED else "")
    moving = [one for one in series if np.any(one.values)]
    usual = level(np.array([level(one.values) for one in moving])) if moving else level(_whole(signals))
    if not usual > 0:
        return Observation(
            ID, "present", f"All {len(series)} logged gradient norms are exactly 0 in every row.",
            (float(still[0].steps[0]), float(still[0].steps[-1])), names, 0.6,
        )  # fmt: skip
    finest = max((printed_step(one.values) for one in moving), default=0.0)
    if finest > COARSE * usual:
        return Observation(
            ID, "unknown", f"{names}: printed as 0, but the log rounds to {num(finest)} of {num(usual)}."
        )
    return Observation(
        ID, "present",
        f"{len(still)} of {len(series)} parameters have a gradient of exactly 0 in every row ({names}); the others have "
        f"{num(usual)}.",
        (float(still[0].steps[0]), float(still[0].steps[-1])), names, 1.0 if len(still[0]) >= 10 else 0.7,
    )  # fmt: skip


def _whole(signals: Signals) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.empty(0) if signals.grad_norm is None else signals.grad_norm.values


SYMPTOM = Symptom(
    id=ID,
    title="parameters get no gradient",
    severity="problem",
    family="wiring",
    background=0.003,
    needs=("gradient norms by parameter",),
    doc="""
## What is observed
Parameters that are meant to learn have a gradient of exactly zero, at every step.

## How it is measured
Gradient norms logged by parameter: present when some are 0 in every row (three rows at least) while others are not.
Where the log prints so coarsely that zero and small look alike, it is unknown. A global norm that is always 0.000
means that it is not measured (Megatron prints it so) and says nothing. Messages count as well: torch's "does not
require grad and does not have a grad_fn", its warning of checkpointing without inputs that require gradients, the
complaint of distributed training about parameters not used in the loss, Keras' "Gradients do not exist for variables".
A recording sees parameters of layers that run and that no gradient reaches, or one of exactly zero behind an operation without a
slope (`sign`, `round`) or a function whose backward pass you wrote.

## Healthy range
None for parameters that should learn, except a bias that cancels out while its weight learns (in the difference of two outputs, or
in front of a norm). Parameters frozen on purpose usually have no norm at all; embeddings of tokens
that do not occur are small, not zero. LoRA's A matrix has zero gradient at the first step only, since B begins at
zero. Zero gradients in more than half of a layer's entries, which checklists look for, are a matter of dead units.

## What it usually means
A detach(), .item(), argmax, sign, round or numpy round trip in the forward pass, a branch that does not reach the loss,
requires_grad switched off, a loss made from a copy of the output, or reentrant gradient checkpointing on a frozen base
model (the adapter then never learns).
""",
    detect=from_fact(ID, otherwise=detect),
    cases=(
        Case("encoder gets nothing", "present",
             lambda: {"grad_norm/encoder.0.weight": flat(50, 0.0), "grad_norm/encoder.1.weight": flat(50, 0.0),
                      "grad_norm/head.weight": flat(50, 0.7, 0.3)}),
        Case("every parameter gets nothing", "present", lambda: {f"grad/fc{i}.weight": flat(20, 0.0) for i in range(3)}),
        Case("zero at the first step only", "absent",
             lambda: {"grad_norm/lora_A": put(flat(50, 0.02, 0.2), 0, 0.0), "grad_norm/lora_B": flat(50, 0.3, 0.2)}),
        Case("all receive one", "absent", lambda: {f"grad_norm/fc{i}": flat(50, 0.1 * i + 0.1, 0.2) for i in range(3)}),
        Case("a bias that cancels out", "absent",
             lambda: {"grad_norm/head.weight": flat(50, 0.1, 0.2), "grad_norm/head.bias": flat(50, 0.0), "grad_norm/body.weight": flat(50, 0.2, 0.2)}),
        Case("the log rounds to one decimal", "unknown",
             lambda: {"grad_norm/fc1": flat(50, 0.0), "grad_norm/fc2": [round(0.3 + 0.1 * (i % 4), 1) for i in range(50)]}),
        Case("only a global norm, never measured", "unknown", lambda: {"grad norm": flat(50, 0.0), "loss": falling(50, 9, 4)}),
    ),
)  # fmt: skip
