"""Weights that keep the signal's size."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="default-init",
    title="Initialise by fan-in: Kaiming for ReLU, Xavier for tanh",
    code="""
def initialise(module):
    if isinstance(module, (torch.nn.Linear, torch.nn.Conv2d)):
        torch.nn.init.kaiming_normal_(module.weight, nonlinearity="relu")  # tanh, sigmoid: xavier_normal_
        if module.bias is not None:
            torch.nn.init.zeros_(module.bias)
    elif isinstance(module, torch.nn.Embedding):
        torch.nn.init.normal_(module.weight, std=0.02)

model.apply(initialise)  # before the optimizer is built and before pretrained weights are loaded
""",
    safety="disruptive",
    why_safe="Training starts again from new weights.",
    clears=("high-initial-loss", "flat-from-start", "vanishing-gradients", "saturated-units", "prediction-collapse"),
    doc="""\
Kaiming draws with std sqrt(2 / fan_in), Xavier with sqrt(2 / (fan_in + fan_out)): either keeps the variance of the
signal about constant from layer to layer. Transformers use std 0.02 for all matrices, divided by sqrt(2 x layers) on
the projections that end in a residual sum. Removing a hand-written init loop is often the whole fix: PyTorch's own
defaults are sound, except in stacks of ten or more bare ReLU layers, where they are a factor of 2.4 too small. Check
on the first batch: activation std between 0.3 and 3 in every layer, and a first loss near chance (ln of the number of
classes).
""",
    tries=("init=fan_in", "init=small", "init=default"),
)
