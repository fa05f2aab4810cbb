"""Loss, output and metric from one row."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="match-loss-to-task",
    title="Choose loss and output layer by the task",
    code="""
criterion = {
    "one of K classes": torch.nn.CrossEntropyLoss(),        # K logits, integer targets
    "yes/no or many labels": torch.nn.BCEWithLogitsLoss(),  # one logit per label, float targets
    "real number": torch.nn.HuberLoss(),                    # linear output, standardised target
    "count": torch.nn.PoissonNLLLoss(log_input=True),       # output is the log of the rate
}["{task}"]
x, y = next(iter(train_loader))
for step in range(300):                                     # eight samples must be fitted perfectly
    loss = criterion(model(x[:8]), y[:8])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
""",
    safety="disruptive",
    why_safe="Objective and output layer change: the run starts again.",
    clears=("targets-no-distribution", "prediction-collapse", "plateau", "underfitting"),
    doc="""\
Takes loss, output layer and target type together from one row, so that they fit. Then proves the fit: a network that
cannot learn eight samples has no business with a million. Use a copy of model and optimizer for the proof. If the
loss on the eight goes to its floor and the metric does not reach its best, metric and loss still disagree. With
several loss terms repeat the proof for each alone.
""",
    defaults={"task": "one of K classes"},
    tries=("output", "classify", "each_label"),
)
