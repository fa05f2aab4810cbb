"""The range of fp32 in two bytes."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-bf16",
    title="Train in bf16 instead of fp16",
    code="""
with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = criterion(model(x), y)              # weights stay fp32, no GradScaler
loss.backward()
optimizer.step()
# Hugging Face: bf16=True, fp16=False    Lightning: precision="bf16-mixed"
assert torch.cuda.is_bf16_supported(including_emulation=False)
""",
    safety="caution",
    why_safe="bf16 keeps 8 bits of precision instead of 11: sums and metrics are coarser.",
    clears=("nonfinite-loss", "loss-scale-collapse", "nonfinite-activation", "nonfinite-gradient"),
    doc="""\
bf16 has the exponent of fp32, up to 3e38, so activations and squared errors do not overflow and no loss scaling is
needed. Hardware: NVIDIA Ampere and later, recent AMD, TPU. Keep the weights in fp32 and use autocast: weights in bf16
lose small updates. Compute losses and long sums in fp32. The scaler, its state in checkpoints and `unscale_` calls go
away. If NaN remains in bf16, the cause is not the range: look at data and operations.
""",
)
