"""Do not trust one split."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="cross-validate",
    title="Measure on several splits before judging",
    code="""
folds = torch.randperm(len(dataset)).chunk(5)
scores = []
for index, fold in enumerate(folds):
    train = torch.cat([other for position, other in enumerate(folds) if position != index])
    scores.append(train_and_evaluate(train.tolist(), fold.tolist()))
print(f"{sum(scores) / len(scores):.3f}, from {min(scores):.3f} to {max(scores):.3f}")
""",
    safety="safe",
    why_safe="It only measures; it costs five runs.",
    clears=("val-noisy",),
    doc="""\
With a few hundred validation samples the score of one split scatters by several per cent: 200 samples at 90 %
accuracy have a standard error of 2 points. Five folds show whether a gap or an improvement is real. Keep samples of
one person, patient or document in one fold. Choose settings by the mean over folds and keep a test set out of all of
it.
""",
)
