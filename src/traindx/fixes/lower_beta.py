"""A longer leash."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="lower-beta",
    title="Lower beta",
    code="""
beta = 0.1                           # DPO; 0.01 to 0.5 is usual. IPO and SimPO have scales of their own
""",
    safety="caution",
    why_safe="A smaller beta lets the policy go farther from the reference.",
    clears=("beta-large", "margin-zero", "plateau"),
    doc="""\
Beta multiplies the log ratio, so a beta that is ten times too large makes the loss small after a tiny move and the
policy hardly changes. Compare `rewards/margins / beta`, which is in nats: below one the two answers are hardly more
apart than in the reference. Change it by factors of three, and watch a held-out win rate rather than the loss.
""",
)
