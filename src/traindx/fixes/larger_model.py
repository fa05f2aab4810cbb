"""More room to learn."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="larger-model",
    title="Give the model more width or depth",
    code="""
model = build_model(width=2 * width, depth=depth)
# deeper instead: add residual blocks, never a bare stack of layers
""",
    safety="disruptive",
    why_safe="The model changes, needs more memory and must be trained again, often with a lower rate.",
    clears=("underfitting", "plateau"),
    doc="""\
Right only after the model has failed to overfit a hundred samples although optimisation is healthy: gradients flow,
updates are in range, no dropout, no decay. Double the width first; it is the mildest change and optimises more
easily. The test is the training loss: if twice the parameters do not lower its floor, the limit is in the data
(labels, missing features, noise) and no size will help. Expect the best learning rate to fall as the network grows.
""",
)
