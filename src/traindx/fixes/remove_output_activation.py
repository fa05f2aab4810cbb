"""Nothing after the last linear layer."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="remove-output-activation",
    title="Make the output linear",
    code="""
layers = list(model.children())                # for an nn.Sequential
if isinstance(layers[-1], (torch.nn.ReLU, torch.nn.Sigmoid, torch.nn.Tanh, torch.nn.Softmax)):
    model = torch.nn.Sequential(*layers[:-1])
# positive targets: torch.nn.functional.softplus(output), which keeps a gradient everywhere
""",
    safety="caution",
    why_safe="Outputs may leave the old range; downstream code that relied on it needs a clamp at inference.",
    clears=("plateau", "underfitting", "prediction-collapse", "dead-units", "saturated-units"),
    doc="""\
Lets predictions reach every target. The weights before the removed activation stay and usually train on well. Where
the range is a fact (probabilities, pixels), clamp at inference, not in training: a clamp has no gradient outside.
Watch the extremes of predictions against those of the targets, and expect a lower loss within the first epoch.
""",
    tries=("output",),
)
