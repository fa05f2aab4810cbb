"""The decision, not the model."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="tune-threshold",
    title="Choose the decision threshold on validation",
    code="""
scores = torch.sigmoid(torch.cat([model(x).squeeze(-1) for x, _ in val_loader]))
labels = torch.cat([y for _, y in val_loader]).bool()
best = max(torch.linspace(0.01, 0.99, 99).tolist(), key=lambda t: float(
    2 * ((scores > t) & labels).sum() / ((scores > t).sum() + labels.sum()).clamp(min=1)))
print("F1 is best at", best)
""",
    safety="safe",
    why_safe="No weight changes; the ranking of the samples stays as it is.",
    clears=("prediction-collapse",),
    doc="""\
With rare positives probabilities are rightly small, and 0.5 is never reached. The threshold that maximises F1, or
meets a wanted precision, is often near the class prior. Run it in evaluation mode under `no_grad`, on data with real
frequencies, and keep the test set out. If the best F1 is still poor, look at the area under the precision-recall
curve: a useless ranking needs weights, data or another model. Choose again after every retraining.
""",
)
