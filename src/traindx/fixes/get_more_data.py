"""The real cure for too little data."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="get-more-data",
    title="Collect more data, and measure first whether it pays",
    code="""
for share in (0.25, 0.5, 1.0):  # a learning curve: three short runs
    count = int(share * len(train_set))
    subset = torch.utils.data.Subset(train_set, torch.randperm(len(train_set))[:count].tolist())
    print(count, train_and_evaluate(subset))
""",
    safety="safe",
    why_safe="The model stays as it is; the measurement only reads.",
    clears=("overfitting-gap",),
    doc="""\
Validation error falls with data as a power law over a wide range (Hestness et al. 2017), so three points on a log-log
plot predict what twice the data would bring. If the curve is already flat, better labels or inputs pay more than more
rows. New data must come from the distribution the model will meet. Split by person, document or time, never by row,
when rows belong together. Where no data can be had, pretrained weights replace most of it.
""",
)
