"""The same mixture on both sides."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="stratify-split",
    title="Split with stratification",
    code="""
from sklearn.model_selection import train_test_split

train_index, val_index = train_test_split(
    range(len(labels)), test_size=0.2, stratify=labels, shuffle=True, random_state=0
)
# related samples (patients, users, documents): use GroupShuffleSplit; time series: cut at a date
""",
    safety="caution",
    why_safe="A new split makes earlier validation numbers incomparable.",
    clears=("val-at-chance", "overfitting-gap"),
    doc="""\
Permutes before cutting and keeps class shares equal on both sides, so that no class is missing from training. Right
for independent samples; related ones need a group split and time series a cut in time, even though classes then
differ. Save the indices: a split that changes between runs leaks. Print the class counts of both sides once.
Validation should start near the training curve.
""",
)
