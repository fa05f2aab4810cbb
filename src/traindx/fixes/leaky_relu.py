"""Units that can come back."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="leaky-relu",
    title="Replace ReLU by LeakyReLU, PReLU or GELU",
    code="""
def replace_relu(module):
    for name, child in module.named_children():
        if isinstance(child, torch.nn.ReLU):
            setattr(module, name, torch.nn.LeakyReLU(0.01))  # learnt slope: PReLU(); smooth: ELU(), GELU()
        else:
            replace_relu(child)

replace_relu(model)
""",
    safety="caution",
    why_safe="Trained weights carry over with a small change of function; PReLU adds parameters that need the "
    "optimizer.",
    clears=("dead-units",),
    doc="""\
Gives the negative side a slope of 0.01, so that a unit that is off still receives a gradient and can return.
LeakyReLU can be swapped into a trained model; PReLU must be in place before the optimizer is built. `F.relu` calls
inside `forward` are not reached by the loop above. The fix treats the result: if a high rate or a bias of -2 killed
the units, repair that as well. Afterwards the share of units that are off for every sample must fall below a few per
cent.
""",
    tries=("activation=leaky",),
)
