"""Sigmoid inside the loss, once."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-bce-with-logits",
    title="Use BCEWithLogitsLoss on raw outputs",
    code="""
criterion = torch.nn.BCEWithLogitsLoss()        # no sigmoid in the model
loss = criterion(model(x).squeeze(-1), y.float())
probability = torch.sigmoid(model(x).squeeze(-1))  # for reports; decision at 0.5 is logit > 0
""",
    safety="caution",
    why_safe="Outputs change from probabilities to logits: thresholds elsewhere must follow.",
    clears=("plateau", "underfitting", "loss-at-chance"),
    doc="""\
Computes sigmoid and logarithm together in the stable log-sum-exp form, so nothing saturates or underflows, half
precision included. Targets must be floats in 0…1 of the same shape as the output. Move every threshold of 0.5 on
probabilities to 0 on logits. The loss starts near 0.693 for balanced classes and can now reach zero. For rare
positives add `pos_weight` later, and only after a look at precision and recall.
""",
    tries=("logits", "classify"),
)
