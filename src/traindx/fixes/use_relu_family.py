"""Activations that pass the gradient on."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-relu-family",
    title="Use ReLU, GELU or SiLU in the hidden layers",
    code="""
def replace_activations(module):
    for name, child in module.named_children():
        if isinstance(child, (torch.nn.Sigmoid, torch.nn.Tanh)):
            setattr(module, name, torch.nn.ReLU())
        else:
            replace_activations(child)

replace_activations(model.body)  # the hidden layers: keep the squashing function that the output needs
for layer in model.body.modules():
    if isinstance(layer, torch.nn.Linear):
        torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        torch.nn.init.zeros_(layer.bias)
""",
    safety="disruptive",
    why_safe="The function computed by the network changes: trained weights do not carry over.",
    clears=("vanishing-gradients", "saturated-units", "flat-from-start"),
    doc="""\
A sigmoid passes at most a quarter of the gradient, tanh at most all of it and only near zero; ReLU passes 1 wherever
the unit is on. Hidden layers only: a probability still needs its sigmoid, inside the loss (`BCEWithLogitsLoss`).
Match the initialisation: Kaiming for ReLU, Xavier for tanh. Gates of LSTM and GRU must stay sigmoid. Beyond about 20
layers no activation is enough without residual connections or normalisation: trials try all of them together too.
""",
    writes="activation=relu",
    tries=(
        "activation=relu+init=fan_in",
        "activation=relu",
        "activation=relu+init=fan_in+norm",
        "activation=relu+init=fan_in+norm+residual",
    ),
)
