"""One tensor, two uses."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="tie-weights",
    title="Tie input and output embeddings",
    code="""
missing, unexpected = model.load_state_dict(state, strict=False)
print("missing:", missing)             # an output head here is this fault
model.lm_head.weight = model.transformer.wte.weight  # the same Parameter object; Hugging Face: model.tie_weights()
assert model.lm_head.weight is model.transformer.wte.weight
optimizer = torch.optim.{optimizer}(model.parameters(), lr={lr})  # only now; parameters() lists the pair once
""",
    safety="caution",
    why_safe="Replaces the head's weights: right for models meant to be tied, harmful for those trained untied.",
    clears=("high-initial-loss", "unchanged-weights"),
    doc="""\
Makes both modules hold the same parameter, after loading and resizing and before the optimizer is built. Check the
config of the checkpoint first: many large models are untied on purpose. The parameter count falls by vocabulary ×
width, and the first loss of a pretrained model falls to its known level at once. Tie again after every resize of the
vocabulary, and after wrapping for sharded training if the wrapper splits modules.
""",
    defaults={"optimizer": "AdamW", "lr": "1e-4"},
)
