"""Not by the metre."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="remove-length-from-reward",
    title="Take length out of the reward",
    code="""
print(torch.corrcoef(torch.stack([rewards, lengths.float()])))      # of answers that are equally good
reward = reward - slope * (length - mean_length) / std_length       # slope: fitted of reward on length
""",
    safety="caution",
    why_safe="Where longer answers really are better a part of the signal goes too.",
    clears=("length-drifts", "proxy-and-score-part"),
    doc="""\
Measure first: the correlation of reward and length over answers of equal quality, and the accuracy of the reward model
on pairs whose chosen answer is the shorter one. Balance the pairs it is trained on, or subtract what length explains.
""",
)
