"""Numbers from 0 to K-1, the same everywhere."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="fix-label-encoding",
    title="Map the labels to 0 … K-1",
    code="""
names = sorted(set(train_labels))              # from the training split; store it with the model
index = {name: number for number, name in enumerate(names)}
y_train = torch.tensor([index[name] for name in train_labels])
y_val = torch.tensor([index[name] for name in val_labels])   # KeyError: an unknown class, better now than later
assert y_train.min() == 0 and y_train.max() == len(names) - 1
assert model(x[:2]).shape[1] == len(names), "outputs and classes differ"
# binary losses want 0 and 1 as floats: y = (labels == positive).float()
""",
    safety="disruptive",
    why_safe="A model trained on the old numbers has its classes permuted: the head must be trained again.",
    clears=("loss-at-chance", "prediction-collapse", "negative-loss", "high-initial-loss"),
    doc="""\
Builds one table from names to numbers and checks range and head size. Masks: resize with nearest neighbour, map 255
to `ignore_index`. Detection: class ids below the number of names, boxes in the format the loader expects. Make the
assertions part of the dataset, so that a new file cannot break it again. The first loss must then be ln K, and the
histogram of predictions must reach every class.
""",
)
