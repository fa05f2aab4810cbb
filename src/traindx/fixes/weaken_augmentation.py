"""Training images that still look like the task."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="weaken-augmentation",
    title="Use fewer and milder augmentations",
    code="""
train_transform = transforms.Compose([
    transforms.RandomResizedCrop(224, scale=(0.5, 1.0)),  # 0.08 keeps as little as a twelfth of the image
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
])
""",
    safety="safe",
    why_safe="The model and the validation data stay the same; only the training task becomes easier.",
    clears=("underfitting", "slow-convergence"),
    doc="""\
Augmentation is regularisation too: a small model that must fit crops, colour shifts, mixup and noise at once may have
no capacity left for the task. Right when the training loss is much higher than validation, and drops at once when it
is measured on clean training data. Look at one augmented batch with its labels: if you cannot name the class, neither
can the model. Add the transforms back one at a time while validation improves.
""",
)
