"""One function for both."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="same-preprocessing",
    title="Prepare validation exactly like training",
    code="""
from torchvision.transforms import v2

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]     # of your data or your pretrained model

def transform(train: bool) -> v2.Compose:
    crop = [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip()] if train else [v2.Resize(256), v2.CenterCrop(224)]
    shared = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    return v2.Compose([*crop, *shared])

train_set.transform, val_set.transform = transform(True), transform(False)
""",
    safety="safe",
    why_safe="Training is untouched; only validation inputs change.",
    clears=("val-at-chance", "overfitting-gap"),
    doc="""\
Builds both pipelines from one function, so that everything deterministic is shared and only augmentation differs.
Text: the same tokenizer object and template; tables: the same fitted scaler and column order; audio: the same
sampling rate and window. No retraining is needed if training was right. Prove it by sending training samples through
the validation pipeline: their score must match training. Keep an assertion on mean and spread of the first validation
batch.
""",
    tries=("val_scale",),
)
