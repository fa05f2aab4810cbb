"""One model, two engines."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="match-sampler",
    title="Make trainer and sampler compute the same",
    code="""
sampling = dict(temperature=1.0, top_p=1.0, top_k=-1)    # or divide the trainer's logits by the same temperature
dtype = "bfloat16"                                       # in both; no quantisation of the sampler alone
weight = torch.exp(trainer_logp - sampler_logp).clamp(max=2.0).detach()     # truncated importance sampling
""",
    safety="caution",
    why_safe="The correction bounds the harm; it does not remove the difference.",
    clears=("sampler-disagrees",),
    doc="""\
Take the differences away first: temperature, top-k, precision, attention kernel, tokens that were encoded twice.
What is left (fused kernels, mixtures of experts) is corrected by weighting each token with the truncated ratio of the
two probabilities (Yao et al. 2025). Watch the logged difference: below 0.03 nats a token is rounding.
""",
)
