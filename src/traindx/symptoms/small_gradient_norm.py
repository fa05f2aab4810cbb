"""small-gradient-norm: gradient norm near zero while the loss rests."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.progress import Progress
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.recipes import falling, flat, then
from traindx.thresholds import Threshold

ID = "small-gradient-norm"
SMALL = Threshold(
    0.01, "gradient norm", "the usual checklist figure for gradients that vanish", strong=1e-4, side="below"
)
STANDS = Threshold(0.4, "of the run without progress", "as for a plateau")
LEFT = Threshold(0.4, "of the first loss left", "a loss that is nearly gone has small gradients in good health")
ROWS = 10  # norms


def detect(signals: Signals) -> Observation:
    norm, curve = signals.grad_norm, signals.train
    if norm is None or curve is None or len(norm) < ROWS or len(curve) < ROWS:
        return Observation(ID, "unknown", f"No loss with {ROWS} gradient norms beside it.")
    late = norm.values[len(norm) // 2 :]
    middle = float(np.median(late[np.isfinite(late)])) if np.isfinite(late).any() else np.nan
    course = Progress(curve)
    text = f"{norm.name} is {num(middle)} in the second half of the run"
    rests = STANDS.reached(course.rest) and LEFT.reached(1 - max(course.share, 0.0)) and not course.still_falls
    if middle > 0 and SMALL.reached(middle) and rests:
        ending = f"below {num(SMALL.value)}, while {curve.name} rests at {num(curve.now)}."
        place = (float(norm.steps[len(norm) // 2]), float(norm.steps[-1]))
        return Observation(ID, "present", f"{text}, {ending}", place, norm.name, SMALL.clarity(middle))
    return Observation(ID, "absent", f"{text}.")


SYMPTOM = Symptom(
    id=ID,
    title="gradient norm near zero while the loss rests",
    severity="note",
    kind="setting",
    family="setting gradient size",
    background=0.02,
    needs=("gradient norm",),
    doc="""
## What is observed
The gradient norm of the whole model is tiny although the loss stands far from zero.

## How it is measured
The median norm of the second half of the run is below 0.01 (plain from 1e-4), 40 % of the first loss is left and
nothing was gained for 40 % of the run.

## Healthy range
The absolute size scales with loss, batch and model; it only tells something beside a loss that rests.

## What it usually means
Gradients that vanish on their way, saturated outputs, weights that begin too small: a rest without a force, unlike
the rest of steps that cancel each other.
""",
    detect=detect,
    cases=(
        Case("a plateau without gradients", "present",
             lambda: {"loss": then(falling(60, 2.3, 2.0, 0.005), flat(240, 2.0, 0.005)),
                      "grad_norm": flat(300, 2e-3, 0.1)}),
        Case("a plateau with gradients", "absent",
             lambda: {"loss": then(falling(60, 2.3, 2.0, 0.005), flat(240, 2.0, 0.005)),
                      "grad_norm": flat(300, 0.4, 0.1)}),
        Case("small and falling", "absent",
             lambda: {"loss": falling(300, 2.3, 0.1), "grad_norm": flat(300, 2e-3, 0.1)}),
        Case("no norm", "unknown", lambda: {"loss": falling(300, 2.3, 0.1)}),
    ),
)  # fmt: skip
