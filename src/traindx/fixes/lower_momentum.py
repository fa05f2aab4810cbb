"""Less memory in the step."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="lower-momentum",
    title="Return momentum to 0.9",
    code="""
optimizer = torch.optim.SGD(model.parameters(), lr={lr}, momentum=0.9, nesterov=True)
# Adam and AdamW: betas=(0.9, 0.999); transformers often (0.9, 0.95)
""",
    safety="safe",
    why_safe="0.9 is the value nearly every published recipe assumes; the effective step only becomes shorter.",
    clears=("oscillation", "huge-updates", "divergence"),
    doc="""\
The steady-state step is lr / (1 - momentum): 10 lr at 0.9, 100 lr at 0.99. Lowering momentum from 0.99 to 0.9
therefore also cuts the step by ten; if the loss then crawls, raise the rate by the same factor. Right when the loss
swings in slow, regular waves. In PyTorch `dampening` is 0 by default, so momentum does add to the step. Afterwards
the waves must be gone within about 1 / (1 - momentum) steps.
""",
    defaults={"lr": "0.01"},
    tries=("momentum=0.9",),
)
