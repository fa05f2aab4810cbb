"""One table for all splits."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="share-label-map",
    title="Use the training label table for validation",
    code="""
import json

table = {name: number for number, name in enumerate(sorted(set(train_labels)))}
json.dump(table, open("labels.json", "w"))     # train, validation, test and serving read this file
val_set.class_to_idx = table                   # torchvision ImageFolder: compare train_set.class_to_idx with val_set's
y_val = torch.tensor([table[name] for name in val_labels])
""",
    safety="safe",
    why_safe="Training is untouched: only the names of validation classes change.",
    clears=("val-at-chance", "overfitting-gap"),
    tries=("val_labels",),
    doc="""\
Writes the table once and reads it everywhere else, so that a missing class cannot shift the numbers. For
`ImageFolder` the samples hold indices already: rebuild them, or give both folders the same subdirectories. If
training used the intended table, nothing needs retraining: evaluate again and the score appears. Look at the
confusion matrix afterwards. Its diagonal must hold the weight.
""",
)
