"""Gradients are cleared once they have been used."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="clear-after-step",
    title="Clear the gradients after the update, not before it",
    code="""
for inputs, targets in loader:
    loss = loss_fn(model(inputs), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    safety="safe",
    why_safe="Between `backward()` and `step()` the call only throws the fresh gradients away.",
    clears=("gradients-wiped", "flat-from-start", "tiny-updates", "unchanged-weights", "loss-at-chance"),
    doc="""\
`zero_grad()` belongs before `backward()` or after `step()`. Between the two it removes what `backward()` has just
computed, and the optimizer updates with nothing: plain SGD and Adam skip parameters without a gradient, and with
`set_to_none=False` only weight decay and old momentum still move them. The learning rate was never the problem, so
leave it as it is.
""",
    tries=("keep_gradients",),
)
