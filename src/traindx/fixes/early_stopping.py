"""Keep the best, not the last."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="early-stopping",
    title="Keep the checkpoint with the best validation score",
    code="""
best, waited, patience = float("inf"), 0, 10  # this run was best at {best_place}
for epoch in range(epochs):
    train_one_epoch()
    val_loss = evaluate()
    if val_loss < best:
        best, waited = val_loss, 0
        torch.save(model.state_dict(), "best.pt")
    else:
        waited += 1
        if waited >= patience:
            break
model.load_state_dict(torch.load("best.pt", weights_only=True))
""",
    safety="safe",
    why_safe="The training itself is unchanged; a better set of weights is kept.",
    clears=("overfitting-gap",),
    doc="""\
Costs nothing and often recovers most of what later epochs spoilt. Watch the metric you care about: accuracy can go on
improving while validation loss rises from overconfidence alone (Guo et al. 2017), and then the loss stops you too
early. Patience must exceed the noise of validation: five to ten evaluations, or more on a small set. The best of many
evaluations is an optimistic number, so report the score on a test set that took no part in the choice. Do not stop at
the first peak if double descent is likely (label noise, model near the interpolation threshold).
""",
    defaults={"best_place": "an earlier epoch"},
    tries=("early_stop=3",),
    in_trainer="""
args = TrainingArguments(..., eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True)
# this run was best at {best_place}; EarlyStoppingCallback(3) in Trainer(callbacks=[...]) also ends the run
""",
)
