"""More views of the same data."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="augment-data",
    title="Augment the training data",
    code="""
train_transform = transforms.Compose([
    transforms.RandomCrop(32, padding=4),
    transforms.RandomHorizontalFlip(),
    transforms.ColorJitter(0.2, 0.2, 0.2),
    transforms.ToTensor(),
    transforms.Normalize(mean, std),
])
val_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(mean, std)])  # no randomness here
""",
    safety="caution",
    why_safe="A transform that changes the label (flipped digits, flipped text) teaches errors.",
    clears=("overfitting-gap",),
    doc="""\
Multiplies the data by changes that leave the label true: shift, flip, colour and mixup for images; back-translation,
synonym replacement or token masking for text; noise injection for tables; time and frequency masks for audio. Usually
worth more than any other regulariser on small image sets. Only the training split is augmented, and both splits share
the same normalisation. Training loss rises and training takes longer: judge by validation. Save and look at sixteen
augmented samples before the run.
""",
)
