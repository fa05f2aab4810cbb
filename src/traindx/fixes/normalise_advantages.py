"""Advantages of ordinary size."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="normalise-advantages",
    title="Normalise advantages over the batch",
    code="""
advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)  # over the batch, masked tokens left out
# groups: subtract the mean of the answers to ONE prompt: rewards.view(-1, num_generations).mean(dim=1, keepdim=True)
""",
    safety="safe",
    why_safe="It only changes the length of the step; signs within the batch stay.",
    clears=("kl-high", "clip-fraction-extreme"),
    doc="""\
Check the axis: rewards are laid out prompt by prompt or generation by generation, and a `view` the wrong way compares
answers to different prompts. In distributed runs gather first. Dividing by the spread of each group favours very easy
and very hard prompts; subtracting the mean alone is enough there (Liu et al. 2025).
""",
)
