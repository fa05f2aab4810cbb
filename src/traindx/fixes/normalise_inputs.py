"""Features near zero with spread one."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="normalise-inputs",
    title="Standardise the inputs",
    code="""
mean, std = x_train.mean(0), x_train.std(0)    # per feature, from the training split only
std = torch.where(std > 1e-8, std, torch.ones_like(std))      # constant features
x_train, x_val = (x_train - mean) / std, (x_val - mean) / std
torch.save({"mean": mean, "std": std}, "normalisation.pt")    # serving needs the same numbers
# images: torchvision.transforms.Normalize(mean, std) with the statistics of the data or of the pretrained model
""",
    safety="caution",
    why_safe="A model trained on raw inputs cannot be continued: the first layer expects the old scale.",
    clears=("high-initial-loss", "exploding-gradients", "slow-convergence"),
    doc="""\
Gives every feature mean 0 and spread 1, which is what initialisations and learning rates are made for. Heavy tails:
clip at five standard deviations or take `log1p` first. Time stamps and ids should be features of their own kind, not
scaled. Apply the same numbers to validation, test and serving. The first loss should fall to chance level, and the
rate can usually go up by an order of magnitude.
""",
    tries=("input_scale",),
)
