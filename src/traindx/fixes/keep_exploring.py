"""Let exploration fall over a tenth of the training or more."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="keep-exploring",
    title="Let exploration fall over a tenth of the training or more",
    code="""
epsilon = max(0.05, 1.0 - step / (0.3 * total_steps))  # steps of the environment, not episodes
""",
    safety="caution",
    why_safe="Returns in training are lower while more is tried; evaluate without exploration.",
    clears=("exploration-missing",),
    doc="""\
Count in steps of the environment. Evaluate with greedy actions and separately, so that exploration does not read as
a bad policy. For policies with probabilities use an entropy bonus instead; for continuous ones keep the standard
deviation from collapsing in the first part of the training.""",
)
