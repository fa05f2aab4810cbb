"""Believe another judge."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="check-on-true-score",
    title="Watch a score that is not trained on, and stop at its best",
    code="""
score = evaluate(policy, held_out_prompts, judge=strict_check)      # exact answer, another reward model, people
if score < best - tolerance:
    policy.load_state_dict(best_state)                              # keep the best by this, not by the reward
""",
    safety="safe",
    why_safe="Only measures and keeps a checkpoint.",
    clears=("proxy-and-score-part",),
    doc="""\
Evaluate every few dozen steps on prompts that are not trained on, by a check that the policy cannot game, and read ten
of the highest rewarded answers. Keep the best checkpoint. Then close the hole: a stricter parser, a
penalty for what is exploited (length, repeated phrases), a stronger KL term, an ensemble of reward models.
""",
)
