"""Make memorising harder."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="add-regularisation",
    title="Add weight decay, dropout or label smoothing",
    code="""
optimizer = torch.optim.AdamW(model.parameters(), lr={lr}, weight_decay=0.05)  # was {weight_decay}
loss_fn = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
head = torch.nn.Sequential(torch.nn.Dropout(0.2), torch.nn.Linear(features, classes))  # dropout was {dropout}
""",
    safety="caution",
    why_safe="Too much of it turns overfitting into underfitting: add one at a time and compare.",
    clears=("overfitting-gap",),
    doc="""\
Weight decay 0.01 to 0.1 (AdamW) or 1e-4 to 5e-4 (SGD), dropout 0.1 to 0.3 before fully connected layers, label
smoothing 0.1. Use AdamW rather than Adam with `weight_decay`: in Adam the decay is divided by the gradient's own
scale and hardly acts on the weights that need it. Dropout directly before BatchNorm shifts its statistics between
training and evaluation (Li et al. 2019): put it after the last normalisation. Expect a higher training loss; only
validation decides.
""",
    defaults={"lr": "1e-3", "weight_decay": "lower", "dropout": "lower"},
    tries=("weight_decay=0.05", "dropout=0.5"),
)
