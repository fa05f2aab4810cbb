"""Look where the model looks."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="check-label-alignment",
    title="Check that inputs and labels belong together",
    code="""
import matplotlib.pyplot as plt

x, y = next(iter(train_loader))                # exactly what the model receives, augmentation included
figure, axes = plt.subplots(4, 4, figsize=(8, 8))
for axis, image, label in zip(axes.flat, x, y):
    axis.imshow(image.permute(1, 2, 0).squeeze().cpu(), cmap="gray")
    axis.set_title(class_names[int(label)])
    axis.axis("off")
figure.savefig("labels.png")
# shuffle indices, never arrays: order = torch.randperm(len(x_all)); x_all, y_all = x_all[order], y_all[order]
""",
    safety="safe",
    why_safe="Only looks; the repair follows from what is seen.",
    clears=("loss-at-chance", "val-at-chance"),
    tries=("aligned",),
    doc="""\
Shows sixteen samples with their labels at the last point before the model. For text print both, for tables print the
row with its key, for masks overlay them. Then walk back through the pipeline to the first place where they are wrong:
a separate shuffle, a filter on one side, a join on a reset index. Keep input and label in one record from there on.
After the repair validation must leave chance in the first epoch; no other setting needs to change.
""",
)
