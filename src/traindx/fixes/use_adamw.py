"""Weight decay that decays weights."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-adamw",
    title="Replace Adam with weight decay by AdamW",
    code="""
optimizer = torch.optim.AdamW(model.parameters(), lr={lr}, weight_decay=0.01)  # was Adam, weight_decay={weight_decay}
""",
    safety="caution",
    why_safe="The same number means a different strength in the two optimizers: start again from 0.01.",
    clears=("overfitting-gap", "underfitting"),
    doc="""\
`Adam(weight_decay=w)` adds w times the weight to the gradient, and Adam then divides by the gradient's own scale:
weights with large gradients are hardly decayed, weights with small gradients far too much. AdamW subtracts lr x w x
weight directly (Loshchilov and Hutter 2019). A value tuned for Adam does not carry over. With lr 1e-3 and decay 0.01
the pull has a time constant of 100 000 steps; with lr 1e-3 and decay 5 only 200.
""",
    defaults={"lr": "1e-3", "weight_decay": "in the gradient"},
)
