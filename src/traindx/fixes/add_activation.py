"""Something nonlinear between the layers."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="add-activation",
    title="Put activations between the linear layers",
    code="""
model = torch.nn.Sequential(
    torch.nn.Linear(inputs, 256), torch.nn.ReLU(),
    torch.nn.Linear(256, 256), torch.nn.ReLU(),
    torch.nn.Linear(256, outputs),     # none after the last: the loss wants logits or raw values
)
for layer in model:
    if isinstance(layer, torch.nn.Linear):
        torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        torch.nn.init.zeros_(layer.bias)
""",
    safety="disruptive",
    why_safe="The function the weights compute changes: old checkpoints are of no use.",
    clears=("underfitting", "plateau"),
    tries=("nonlinear",),
    doc="""\
Turns a chain of matrices into a network that can bend. ReLU or GELU for feed-forward and convolution layers, the
cell's own gates for recurrent ones. Kaiming initialisation keeps the variance through ReLU layers. Start again from
the beginning. The train loss must go below that of a linear model on the same features; if it does not, the limit is
in the data or the loss. Overfitting becomes possible now, so watch validation.
""",
)
