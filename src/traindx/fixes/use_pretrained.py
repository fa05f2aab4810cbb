"""Start from what others learnt."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-pretrained",
    title="Start from pretrained weights",
    code="""
model = torchvision.models.resnet18(weights="DEFAULT")
model.fc = torch.nn.Linear(model.fc.in_features, classes)
optimizer = torch.optim.AdamW([
    {"params": model.fc.parameters(), "lr": 1e-3},  # the new head learns fast
    {"params": (p for n, p in model.named_parameters() if not n.startswith("fc.")), "lr": 1e-5},
])
""",
    safety="disruptive",
    why_safe="It is another model and a new run; inputs must be prepared exactly as in pretraining.",
    clears=("overfitting-gap", "slow-convergence"),
    doc="""\
With a few thousand samples or less, transferred features beat anything trained from scratch. Give the new head a rate
10 to 100 times that of the body, or freeze the body for the first epoch. Use the normalisation, resolution and
tokenizer of the pretraining; a wrong mean and std quietly costs most of the gain. If the first epoch is not clearly
better than from scratch, check that the weights were really loaded (`strict=True`, no silent key mismatch).
""",
)
