"""Related samples on one side."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="split-without-leak",
    title="Split once, by group or by time, before anything else",
    code="""
from sklearn.model_selection import GroupShuffleSplit

splitter = GroupShuffleSplit(n_splits=1, test_size=0.2, random_state=0)
train_index, val_index = next(splitter.split(samples, groups=group_ids))   # patient, user, document, recording
assert not {group_ids[i] for i in train_index} & {group_ids[i] for i in val_index}
assert not {digest(samples[i]) for i in train_index} & {digest(samples[i]) for i in val_index}   # exact copies
""",
    safety="caution",
    why_safe="The score will fall to its honest value; nothing about the model gets worse.",
    clears=("suspiciously-good",),
    tries=("held_out",),
    judged_by="symptom",
    doc="""\
Cuts before augmentation, oversampling and scaling, and keeps everything that belongs together on one side. `digest`
is any hash of the content. For time series cut at a date and leave a gap as long as the features look back.
Near-duplicates need an embedding or perceptual hash. Keep a test set that is opened once. Expect a gap between train
and validation afterwards: now regularisation and early stopping mean something.
""",
)
