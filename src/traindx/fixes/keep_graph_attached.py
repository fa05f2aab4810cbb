"""From output to loss without a cut."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="keep-graph-attached",
    title="Keep the loss connected to the model",
    code="""
logits = model(x)                      # no .detach(), .data, .item(), .numpy() or torch.tensor(...) from here on
loss = torch.nn.functional.cross_entropy(logits, y)  # a soft quantity; argmax and rounding have no gradient
assert loss.requires_grad, "the loss is cut off from the model"
loss.backward()
missing = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
assert not missing, f"no gradient arrives at: {missing}"
running = running + loss.detach()      # numbers for the log come after backward
""",
    safety="safe",
    why_safe="Only the recording of operations changes; forward values stay the same.",
    clears=("no-gradient", "unchanged-weights", "flat-from-start"),
    tries=("attached",),
    doc="""\
Removes the conversions between output and loss and checks that each trainable parameter receives a gradient. Some
parameters are legitimately unused in a step (conditional branches, a disabled auxiliary head): name them in the
assertion. If a hard decision is part of the loss, replace it with its soft form or a straight-through estimator.
Memory may rise, since the graph is now kept until `backward()`. Never accumulate undetached losses for logging: that
keeps every graph alive.
""",
)
