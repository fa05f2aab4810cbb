"""fp16 done right."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-grad-scaler",
    title="Use autocast with a GradScaler",
    code="""
scaler = torch.amp.GradScaler("cuda")          # model.float() weights: never model.half() with a scaler
for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)                 # before clipping, or the threshold is off by the scale
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)                     # skips the step when a gradient is not finite
    scaler.update()
""",
    safety="safe",
    why_safe="Steps with finite gradients give the same update; others are skipped.",
    clears=("nonfinite-weight", "nonfinite-gradient", "loss-scale-collapse"),
    doc="""\
Multiplies the loss, so that small gradients survive fp16, and skips steps that overflow. Some skips at the start are
normal, later about one per two thousand steps. A scale that falls without end means that the forward pass overflows:
move that part to fp32, or use bf16. Save the scaler's state in checkpoints. With several optimizers unscale each one,
and call `update` once. The learning-rate scheduler must not advance on skipped steps if its length is counted in
updates.
""",
)
