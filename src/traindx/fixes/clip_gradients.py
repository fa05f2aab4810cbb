"""A ceiling on the step."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="clip-gradients",
    title="Clip the global gradient norm",
    code="""
loss.backward()
# with AMP: scaler.unscale_(optimizer) first, or the scaled gradients are clipped
grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm={clip})
optimizer.step()
print(float(grad_norm))  # the norm before clipping: log it, it is the best early warning there is
""",
    safety="safe",
    why_safe="Steps below the ceiling are untouched; only outliers are shortened, and their direction is kept.",
    clears=("loss-spike", "exploding-gradients", "nonfinite-gradient"),
    doc="""\
Rescales the whole gradient when its norm passes a ceiling, so that one bad batch cannot throw the weights away. Right
when the norm is calm most of the time and jumps now and then, and always for recurrent networks. 1.0 is the common
choice for transformers; otherwise take about the 90th percentile of the norms of a calm stretch. Clipping per value
(`clip_grad_value_(model.parameters(), 0.5)`) bends the direction and is the second choice. A NaN gradient is not
cured by clipping: norm NaN times anything stays NaN. If most steps are clipped, the cause is elsewhere: init, rate,
inputs.
""",
    defaults={"clip": "1.0"},
    tries=("clip=1.0",),
    in_trainer="""
args = TrainingArguments(..., max_grad_norm={clip})
""",
)
