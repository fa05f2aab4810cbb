"""Groups that differ."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="vary-rewards",
    title="Give the answers of a group rewards that differ",
    code="""
num_generations = 8                  # groups of one or two hardly ever differ
temperature = 1.0                    # at 0 all answers of a group are the same text
reward = 1.0 * correct + 0.2 * well_formed   # partial credit while nothing is right yet
keep = rewards.view(-1, num_generations).std(dim=1) > 0      # sample other prompts for the groups that are left out
""",
    safety="caution",
    why_safe="Partial credit can be earned without the task: keep it small, and take it away later.",
    clears=("reward-spread-zero", "reward-flat"),
    doc="""\
Advantages are differences within a group, so a group of equal rewards teaches nothing. In this order: make sure that
the reward can be earned at all (see `look-at-rewards`), sample with temperature, take prompts that the model solves
sometimes (10 to 90 %), give partial credit, and sample anew for groups without spread (DAPO's dynamic sampling).
Afterwards `frac_reward_zero_std` must fall below a half within the first tens of steps.
""",
)
