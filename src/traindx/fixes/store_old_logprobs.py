"""Old means before the update."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="store-old-logprobs",
    title="Keep the log-probabilities of the sampling policy",
    code="""
with torch.no_grad():
    old_logp = log_probs(policy, batch)          # once a batch of samples, before the first update
for _ in range(num_passes):
    ratio = torch.exp(log_probs(policy, batch) - old_logp)   # 1 in the first pass, not afterwards
""",
    safety="safe",
    why_safe="It restores what the objective means; the first update of each batch stays the same.",
    clears=("ratio-pinned",),
    doc="""\
The old log-probabilities must be computed once, without gradient, before the first update on the samples, and stored
with them. Where they are computed inside the loop the ratio is 1, its gradient is that of plain policy gradient, and
clipping never acts: every further pass goes too far. Afterwards the ratio must leave 1 from the second pass on.
""",
)
