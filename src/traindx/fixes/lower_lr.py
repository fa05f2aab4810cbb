"""Smaller steps."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="lower-lr",
    title="Lower the learning rate",
    code="""
lr = {lower_lr}  # was {lr}
optimizer = torch.optim.{optimizer}(model.parameters(), lr=lr)  # keep the other arguments unchanged
""",
    safety="caution",
    why_safe="Any smaller rate is stable if the larger one nearly was, but a rate that is too small wastes the run.",
    clears=("divergence", "oscillation", "loss-spike", "huge-updates"),
    doc="""\
Divides the step length; start again from the beginning or from a checkpoint before the trouble, because weights that
already blew up do not come back. Right when the update-to-weight ratio is above 1e-2, or the loss calms down after a
planned drop. Change it by a factor of 3 to 10, never by a few per cent: the useful range spans decades. Afterwards
the loss must fall from the first hundred steps on; if it is merely flat more quietly, the learning rate was not the
cause. Usual starting points: AdamW 1e-3 for small networks, 1e-4 to 3e-4 for transformers, 1e-5 to 5e-5 for
fine-tuning one; SGD with momentum 0.1 for a batch of 256 with normalisation layers, 0.01 without.
""",
    defaults={"optimizer": "AdamW", "lower_lr": "1e-4", "lr": "about ten times that"},
    tries=("lr=x0.1", "lr=x0.01"),
    writes="lr={lower_lr}",
    in_trainer="""
args = TrainingArguments(..., learning_rate={lower_lr})  # was {lr}
""",
)
