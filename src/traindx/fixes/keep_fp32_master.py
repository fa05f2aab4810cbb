"""Weights in fp32, work in bf16."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="keep-fp32-master",
    title="Keep the weights in fp32 and use autocast",
    code="""
model = model.float()                          # not model.to(torch.bfloat16) or model.half()
optimizer = torch.optim.{optimizer}(model.parameters(), lr={lr})    # built after the cast: its states are fp32 too
for x, y in train_loader:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
# Hugging Face: load in float32 and set bf16=True; FSDP: MixedPrecision(param_dtype=torch.bfloat16) over fp32 shards
""",
    safety="caution",
    why_safe="Weights and optimizer states take more memory: 16 instead of 8 bytes per parameter with Adam.",
    clears=("unchanged-weights", "plateau", "tiny-updates"),
    doc="""\
Adds updates where there are enough digits for them, and rounds only the copies used in the matrix products. Speed
stays that of bf16. If memory does not suffice, shard the optimizer states, train adapters, or use an optimizer with
stochastic rounding. The present bf16 weights can be continued: nothing is lost by widening. The share of elements
that change per step must rise to nearly all, and the plateau must give way without a higher rate.
""",
    defaults={"optimizer": "AdamW", "lr": "1e-4"},
    tries=("precision=fp32",),
)
