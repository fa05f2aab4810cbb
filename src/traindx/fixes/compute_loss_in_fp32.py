"""The sensitive part in full precision."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="compute-loss-in-fp32",
    title="Compute loss and large sums in fp32",
    code="""
with torch.autocast("cuda", dtype=torch.float16):
    output = model(x)
loss = criterion(output.float(), y.float())    # class targets stay integers: criterion(output.float(), y)
with torch.autocast("cuda", enabled=False):    # a block that overflows
    hidden = block(hidden.float())
scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)   # not -1e9: that is -inf in fp16
""",
    safety="safe",
    why_safe="More precision in a small part of the work; the cost is a few percent at most.",
    clears=("nonfinite-loss", "nonfinite-activation"),
    doc="""\
Leaves the matrix products in half precision and takes the squares, exponentials and long sums to fp32, where 65 504
is no limit. Find the block by the first non-finite activation; it is usually attention scores, a norm, a pooled sum
or the loss. Autocast already does this for many built-in losses, not for hand-written ones. Memory rises a little for
the converted tensors. The scale should then settle at a constant level.
""",
    tries=("precision=fp32",),
)
