"""Go on trying."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="keep-entropy",
    title="Keep the policy random enough to find better answers",
    code="""
ent_coef = 0.01                      # PPO; language models 1e-4 to 1e-3
epsilon_high = 0.28                  # TRL, verl: clip_ratio_high; lets unlikely tokens grow (DAPO)
lr = {lower_lr}  # was {lr}
temperature = 1.0
""",
    safety="caution",
    why_safe="Too much of it and the policy never settles.",
    clears=("entropy-low",),
    doc="""\
Go back to a checkpoint from before the entropy fell: a policy without randomness cannot sample its way out. Then change
one thing: the upper clip range first, a small entropy bonus or a lower learning rate next. Watch that the entropy falls
slowly and the reward rises meanwhile.
""",
    defaults={"lower_lr": "5e-7", "lr": "twice that or more"},
)
