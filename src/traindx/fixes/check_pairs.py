"""Which of the two is better."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="check-pairs",
    title="Check the pairs as the loss receives them",
    code="""
for row in list(dataset)[:10]:
    print(row["prompt"][-80:], "| CHOSEN", row["chosen"][:120], "| REJECTED", row["rejected"][:120])
same = sum(row["chosen"] == row["rejected"] for row in dataset)     # after the template and after truncation
print(f"{same} of {len(dataset)} pairs are equal")
""",
    safety="safe",
    why_safe="Only looks; the repair follows from what is seen.",
    clears=("margin-zero",),
    doc="""\
Print ten pairs behind the template and the truncation, at the last point before the loss, and read which answer is the
better one. Swap the columns where it is the rejected one; drop equal pairs, also those that become equal because
the prompt fills the maximum length (truncate the prompt from the left).
""",
)
