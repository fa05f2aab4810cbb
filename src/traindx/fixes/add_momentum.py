"""Carry speed through flat ground."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="add-momentum",
    title="Give plain SGD momentum, or switch it to AdamW",
    code="""
optimizer = torch.optim.SGD(model.parameters(), lr={lr}, momentum=0.9, nesterov=True)
""",
    safety="caution",
    why_safe="The effective step becomes ten times longer; lower the rate if the loss gets restless.",
    clears=("slow-convergence", "plateau"),
    doc="""\
Plain SGD creeps along narrow valleys and across saddle regions; momentum averages the zigzag away and keeps the
common direction. Right when the optimizer is SGD with momentum 0 and the gradient is small but not zero. Changing
from SGD with momentum to Adam, or back, is seldom the cure for a run that does not learn: check rate and gradients
first. AdamW gets going with less tuning; well-tuned SGD with momentum generalises as well or better on image models
(Wilson et al. 2017), so some finish an Adam run with it.
""",
    defaults={"lr": "0.01"},
    tries=("momentum=0.9",),
)
