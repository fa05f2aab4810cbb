"""Start at the prior."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="set-output-bias",
    title="Start the output bias at the prior",
    code="""
with torch.no_grad():
    # classification: log of the class shares; one output: log(q / (1 - q)); regression: the mean target
    start = (torch.bincount(y_train, minlength={classes}) / len(y_train)).clamp(min=1e-6).log()
    biases = [bias for name, bias in model.named_parameters() if name.endswith("bias") and bias.shape == start.shape]
    biases[-1].copy_(start)  # that of the output layer: the last one with a value for each class
""",
    safety="safe",
    why_safe="Only the starting point changes; the optimum is the same.",
    clears=("high-initial-loss",),
    doc="""\
Gives the network the answer it would learn first anyway: how common each class is, or where the targets lie. That
removes the steep and useless first phase and, in detection, the flood of false positives that destabilises the start
(Lin et al. 2017 use a prior of 0.01). Set it after initialisation and before the first step. The first loss must
equal the entropy of the label frequencies. It does not cure the imbalance by itself.
""",
    defaults={"classes": "2"},
)
