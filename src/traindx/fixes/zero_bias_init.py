"""Biases that leave units alive."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="zero-bias-init",
    title="Start biases at zero or slightly above",
    code="""
for module in model.modules():
    if isinstance(module, (torch.nn.Linear, torch.nn.Conv2d)) and module.bias is not None:
        torch.nn.init.constant_(module.bias, 0.01)  # before a ReLU; 0.0 elsewhere and on the output
""",
    safety="caution",
    why_safe="On a trained model it discards learnt biases: use it at the start only.",
    clears=("dead-units",),
    doc="""\
A ReLU whose bias lies far below the spread of its input is off for every sample and never receives a gradient. Zero
is the normal value; 0.01 makes every unit fire at first and costs nothing. Negative biases are right only on a
sigmoid output for rare events, where log(p / (1 - p)) sets the starting prediction to the base rate. If units die
again within the first epoch, the learning rate killed them and biases were not the cause.
""",
    tries=("bias=0",),
)
