"""constant-gradient-norm: the norm of the gradient is the same number in every row."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals, lookup
from traindx.signals.choose import usable
from traindx.signals.inside import FAILED_NORM, learned, objective
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.recipes import falling, flat

ID = "constant-gradient-norm"
ROWS = 10  # equal to the last digit, as for a loss that never moves
CLEAR = 0.4  # it may be a norm that was not measured, or was clipped before it was written
SAME = 1e-3
NOT_MEASURED = (0.0, 0.1, 0.5, 1.0, 5.0, 10.0)  # nothing, and where gradients are usually clipped


def detect(signals: Signals) -> Observation:
    norms = [one for one in usable(signals.run, "grad_norm") if not one.meaning.where and len(one) >= ROWS]
    if not norms:
        return Observation(ID, "unknown", f"No gradient norm of the whole model in {ROWS} rows.")
    still = [one for one in norms if np.isfinite(one.values).all() and np.ptp(one.values) == 0]
    if len(still) < len(norms):
        return Observation(
            ID, "absent", f"{next(one.name for one in norms if one not in still)} changes from row to row."
        )
    norm = still[0]
    value = float(norm.values[0])
    if value == FAILED_NORM:
        return Observation(ID, "unknown", f"{norm.name} is -1, which stands for a norm that is not finite.")
    sentence = f"{norm.name} is {num(value)} in all {len(norm)} rows"
    clip = lookup.number(signals.run.config, "clip")
    if clip is not None and abs(value - clip) < SAME * clip:
        text = f"{sentence}, where gradients are clipped: it was written after clipping."
        return Observation(ID, "absent", text, noted=True)
    if learned(objective(signals)) and value in NOT_MEASURED:
        why = "not measured" if value == 0 else "written after clipping, it seems"
        return Observation(ID, "absent", f"{sentence}, but the training learns: the norm was {why}.", noted=True)
    return Observation(
        ID,
        "present",
        f"{sentence}, the same to the last digit.",
        (float(norm.steps[0]), float(norm.steps[-1])),
        norm.name,
        CLEAR,
    )


SYMPTOM = Symptom(
    id=ID,
    title="gradient norm never changes",
    severity="problem",
    family="wiring",
    background=0.05,
    needs=("gradient norm",),
    doc="""
## What is observed
The gradient norm of the whole model is 0, or another number, the same to the last digit in every row.

## How it is measured
Ten rows at least. Excused, with a note, where the loss lost half of its first value or the return rose all the same and
the number is 0 (Megatron prints 0.000 where it does not measure) or one at which gradients are usually clipped, and
where it is the threshold that the settings name.

## Healthy range
Norms of mini-batches scatter by tens of per cent.

## What it usually means
No gradient reaches the weights, every batch has the same (constant rewards, an empty loss), each norm is cut to the
same threshold, or the number was never measured.
""",
    detect=detect,
    cases=(
        Case("exactly zero", "present", lambda: {"loss": flat(40, 1.7, 0.05), "grad_norm": flat(40, 0.0)}),
        Case("one number", "present", lambda: {"loss": falling(40, 1.7, 1.5), "grad_norm": flat(40, 1.0, 0)}),
        Case("not measured, and the loss falls", "absent",
             lambda: {"loss": falling(40, 9.0, 3.0), "grad norm": flat(40, 0.0)}),
        Case("the square root of two, and the loss falls", "present",
             lambda: {"loss": falling(40, 9.0, 3.0), "grad_norm": flat(40, 1.41421, 0)}),
        Case("clipped", "absent",
             lambda: {"loss": falling(40, 1.7, 1.5), "grad_norm": flat(40, 1.0, 0)}, {"max_grad_norm": 1.0}),
        Case("ordinary norms", "absent", lambda: {"loss": falling(40, 1.7, 1.5), "grad_norm": flat(40, 1.0, 0.3)}),
        Case("no norm", "unknown", lambda: {"loss": falling(40, 1.7, 1.5)}),
    ),
)  # fmt: skip
