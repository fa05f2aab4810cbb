"""Rare classes count more."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="weight-classes",
    title="Weight the loss by class frequency",
    code="""
counts = torch.bincount(y_train, minlength={classes}).float()
weight = (counts.sum() / (len(counts) * counts.clamp(min=1))).sqrt()   # square root: milder than 1/frequency
criterion = torch.nn.CrossEntropyLoss(weight=weight.to(device))
# binary: BCEWithLogitsLoss(pos_weight=(negatives / positives) ** 0.5)
""",
    safety="caution",
    why_safe="Probabilities lose their calibration and precision of the rare class may fall.",
    clears=("prediction-collapse", "loss-at-chance"),
    doc="""\
Lets a rare sample pull harder, so that ignoring its class stops paying. The square root is a mild start; full inverse
frequency is for moderate imbalance only, since a weight of 1000 makes single samples explode. Log recall and
precision per class and stop raising weights when precision breaks. Keep validation unweighted. If probabilities are
used downstream, recalibrate them afterwards. For dense prediction use focal loss or Dice with cross-entropy instead.
""",
    defaults={"classes": "2"},
    tries=("class_weights", "class_weights=full"),
    judged_by="recall",
)
