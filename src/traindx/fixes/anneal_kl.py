"""Let the decoder learn to use the code before it costs anything."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="anneal-kl",
    title="Raise the weight of the divergence slowly",
    code="""
beta = min(1.0, step / 5000)  # 0 at first: the code is free while the decoder learns to use it
reconstruction = F.mse_loss(output, target, reduction="sum") / len(target)
divergence = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum() / len(target)
loss = reconstruction + beta * divergence
""",
    safety="caution",
    why_safe="The objective is the same at the end; before that, samples from the prior are worse.",
    clears=("latent-unused", "plateau"),
    tries=("sample_sums",),
    doc="""\
Both terms are summed over what a sample has (pixels, dimensions) and averaged over the batch: a mean over pixels makes
the divergence hundreds of times too heavy. If the code collapses again once the weight is 1, keep the weight below 1,
or leave each dimension some nats for free: `divergence_per_dimension.clamp(min=0.1).sum()`.
""",
)
