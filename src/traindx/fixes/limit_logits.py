"""Scores that stay where a softmax can use them."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="limit-logits",
    title="Add a z-loss, and normalise queries and keys",
    code="""
log_z = logits.float().logsumexp(-1)
loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten()) + 1e-4 * log_z.square().mean()
# in attention: q, k = self.q_norm(q), self.k_norm(k)   (RMSNorm over the head's width)
""",
    safety="caution",
    why_safe="The z-loss is small against the loss; normalised queries and keys change the model and need a new run.",
    clears=("logits-growing",),
    doc="""\
The z-loss pulls the log of the summed exp towards zero and leaves probabilities as they are. Normalised queries and
keys bound attention scores by design; a soft cap (`tanh(scores / 50) * 50`) does so without new parameters. A lower
peak rate and a longer warm-up are the first thing to try on a model that exists.
""",
)
