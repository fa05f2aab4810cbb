"""No look at the future."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="add-causal-mask",
    title="Mask the future in the attention",
    code="""
out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
# nn.TransformerEncoder and nn.MultiheadAttention: True means "do not attend"
mask = torch.triu(torch.ones(T, T, dtype=torch.bool, device=x.device), diagonal=1)
hidden = encoder(x, mask=mask, is_causal=True)
# test: changing the last token must not change earlier outputs
changed = tokens.clone()
changed[:, -1] = (changed[:, -1] + 1) % vocab_size
assert torch.equal(model(tokens)[:, :-1], model(changed)[:, :-1])
""",
    safety="disruptive",
    why_safe="Weights that learned to copy the future are worthless: the run starts again.",
    clears=("suspiciously-good",),
    doc="""\
Lets each position attend to itself and the past only. Combine it with the padding mask; one must not replace the
other. The assertion belongs into the test suite, in evaluation mode, and with `torch.allclose` on kernels that are
not deterministic. The loss will be higher than before: that is the honest one. Check that it starts near
ln(vocabulary), that samples make sense, and that validation stays close to train.
""",
    tries=("causal",),
    judged_by="symptom",
)
