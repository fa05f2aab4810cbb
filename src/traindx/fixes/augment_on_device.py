"""Augmentation where the cycles are."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="augment-on-device",
    title="Augment on the accelerator",
    code="""
from torchvision.transforms import v2

augment = v2.Compose([
    v2.RandomHorizontalFlip(),
    v2.ColorJitter(0.2, 0.2, 0.2),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
])
for x, y in train_loader:                      # workers deliver uint8: a quarter of the bytes
    x = augment(x.to(device, non_blocking=True))
""",
    safety="caution",
    why_safe="One random draw for the whole batch: augmentation is less varied than per sample.",
    clears=("slow-input-pipeline",),
    doc="""\
Sends small uint8 batches to the device and does flips, colour and normalisation there, which costs little beside the
forward pass. The v2 transforms draw parameters once per call, so all samples of a batch get the same ones: split the
batch, or use a library that draws per sample. Decoding stays on the CPU, unless a hardware decoder does it.
Validation must use the same normalisation. Data time should fall below a tenth of the step.
""",
)
