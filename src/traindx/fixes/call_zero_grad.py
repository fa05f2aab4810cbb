"""Every step starts from an empty gradient."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="call-zero-grad",
    title="Clear the gradients before every backward pass",
    code="""
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = loss_fn(model(inputs), targets)
    loss.backward()
    optimizer.step()
""",
    safety="safe",
    why_safe="Summing old gradients is never intended outside gradient accumulation.",
    clears=("divergence", "exploding-gradients", "oscillation", "huge-updates"),
    doc="""\
PyTorch adds each backward pass to `.grad`; without clearing, step t uses the sum of all gradients so far. The call
must stand between `optimizer.step()` and the next `backward()`, never between `backward()` and `step()`, where it
throws the fresh gradient away. With two optimizers (GAN, actor and critic) each needs its own call, and parameters
that are in no optimizer need `model.zero_grad()`. Afterwards the gradient norm stops growing from step to step. The
rate may have been tuned down to survive the fault: try ten times more.
""",
    tries=("zero_grad",),
)
