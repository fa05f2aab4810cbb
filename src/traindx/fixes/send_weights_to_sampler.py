"""Sample what is trained."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="send-weights-to-sampler",
    title="Send the weights to the sampler after every update",
    code="""
for name, weight in merged_state_dict(model).items():    # adapters merged, names as the sampler has them
    sampler.load_weights([(name, weight)])
sampler.reset_prefix_cache()                             # cached keys belong to the old weights
assert abs(trainer_logp - sampler_logp).mean() < 0.05    # of the same tokens, right afterwards
""",
    safety="safe",
    why_safe="The sampler gets the policy that is trained; nothing else changes.",
    clears=("sampler-drifts", "sampler-disagrees"),
    doc="""\
Compare the log-probabilities of the same tokens right after a transfer: they must agree to within rounding. If they do
not, look for names that were skipped (tied embeddings, adapters not merged), a cache of keys that was kept, or
a transfer that runs before the update. In asynchronous set-ups bound how old samples may be.
""",
)
