"""The reference stands still."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="freeze-reference",
    title="Keep the reference model apart and frozen",
    code="""
import copy

reference = copy.deepcopy(policy).eval().requires_grad_(False)      # before the first update
assert next(reference.parameters()) is not next(policy.parameters())
""",
    safety="safe",
    why_safe="The reference is only read; the policy trains as before.",
    clears=("margin-zero",),
    doc="""\
The margin is measured against the reference, so where both are the same object it is 0 for ever. Make a copy before the
first update, or with adapters compute the reference with the adapter switched off. Check after ten updates that the
log-probabilities of the two differ.
""",
)
