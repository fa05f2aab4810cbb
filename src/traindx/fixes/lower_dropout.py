"""Let the signal through."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="lower-dropout",
    title="Lower the dropout probability",
    code="""
for module in model.modules():
    if isinstance(module, torch.nn.Dropout):
        module.p = min(module.p, 0.1)  # was {dropout}
""",
    safety="safe",
    why_safe="No weight changes and evaluation is unaffected; watch validation for overfitting.",
    clears=("underfitting", "slow-convergence"),
    doc="""\
Dropout's `p` is the share that is removed, in PyTorch and Keras alike. 0.1 to 0.3 suits most networks, 0.5 only wide
fully connected layers, and 0 is right for single-epoch pretraining. Functional calls `F.dropout(x, p=...)` are not
reached by the loop above, and need `training=self.training`. For a diagnosis set every p to 0: the training loss must
fall well below its old floor within an epoch. If it does not, capacity or data is the limit, not dropout.
""",
    defaults={"dropout": "higher"},
    tries=("dropout=x0.2",),
)
