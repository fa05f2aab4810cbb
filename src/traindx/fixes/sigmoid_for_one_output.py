"""One unit cannot compete with itself."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="sigmoid-for-one-output",
    title="Use a sigmoid loss for the single output",
    code="""
# one output unit, no activation in the model
loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(-1), y.float())
correct = ((model(x).squeeze(-1) > 0) == y.bool()).float().mean()   # argmax over one column is always 0
""",
    safety="safe",
    why_safe="The gradient was exactly zero before; nothing that worked can break.",
    clears=("flat-from-start", "prediction-collapse", "unchanged-weights"),
    doc="""\
Replaces the softmax over one unit, which is always 1, by the two-class form. The weights have not learned anything
yet, so no restart is lost. The accuracy computation needs the change too. The loss now starts near 0.693 and moves
within the first steps; if it does not, look at gradients and labels next.
""",
    tries=("one_output",),
)
