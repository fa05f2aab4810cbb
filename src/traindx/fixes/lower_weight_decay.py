"""Let the weights grow."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="lower-weight-decay",
    title="Lower the weight decay, and spare biases and norms",
    code="""
decayed = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
spared = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]  # biases, normalisation gains
optimizer = torch.optim.AdamW(
    [{"params": decayed, "weight_decay": 0.01}, {"params": spared, "weight_decay": 0.0}], lr={lr}
)  # weight decay was {weight_decay}
""",
    safety="safe",
    why_safe="Weaker regularisation can only raise the capacity in use; watch validation for overfitting.",
    clears=("underfitting", "prediction-collapse", "loss-at-chance"),
    doc="""\
Removes the pull towards zero that overrules the data. Common values: AdamW 0.01 (PyTorch's default) to 0.1 for large
transformers, SGD 1e-4 to 5e-4, Adam's coupled L2 1e-5 to 1e-4. What counts is lr times decay: each AdamW step
multiplies the weights by (1 - lr x decay). For a first diagnosis set it to 0 for a few hundred steps: if the training
loss still does not fall, decay was not the cause. Afterwards the weight norm should level off instead of shrinking.
""",
    defaults={"lr": "1e-3", "weight_decay": "higher"},
    tries=("weight_decay=x0.001", "weight_decay=0"),
    in_trainer="""
args = TrainingArguments(..., weight_decay=0.01)  # was {weight_decay}
""",
)
