"""Fewer and larger kernels."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="compile-model",
    title="Compile the model",
    code="""
model = torch.compile(model, mode="reduce-overhead")   # fuses kernels and replays them as CUDA graphs
torch.set_float32_matmul_precision("high")             # TF32 for the fp32 matrix products
""",
    safety="caution",
    why_safe="The first steps take minutes to compile, varying shapes compile again, numbers change in the last digits.",  # noqa: E501
    clears=("slow-step",),
    doc="""\
Fuses elementwise work and removes most of the launch cost, which is what small batches and deep chains of small
layers pay for. Fix the shapes: pad to a few lengths, drop the last batch, or compile with `dynamic=True`. Breaks in
the graph (`.item()`, prints, Python branches on tensors) undo the gain; `TORCH_LOGS=graph_breaks` lists them. Time it
after fifty steps, not from the start. Compare losses with the uncompiled model for a few hundred steps.
""",
)
