"""Classes compete, samples do not."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="softmax-over-class-dim",
    title="Normalise over the class dimension",
    code="""
log_p = torch.nn.functional.log_softmax(logits, dim=1)   # (N, K) and (N, K, H, W); for (N, T, K) use dim=-1
loss = torch.nn.functional.nll_loss(log_p, y)
sums = log_p.exp().sum(dim=1)
assert torch.allclose(sums, torch.ones_like(sums), atol=1e-3)
""",
    safety="caution",
    why_safe="Loss values change their meaning; weights can be trained on, thresholds must be set anew.",
    clears=("plateau", "high-initial-loss", "underfitting"),
    doc="""\
Makes the K outputs of one sample compete and frees samples from each other. Predictions no longer depend on what else
is in the batch. The first loss becomes ln K instead of ln N, and train and validation become comparable although
their batch sizes differ. Remove softmax calls without `dim`: they guess the axis from the rank. For segmentation
check the permutation of axes before the loss.
""",
    tries=("softmax_dim",),
)
