"""A road around every block."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="residual-connections",
    title="Add residual connections around the blocks",
    code="""
class Residual(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.LayerNorm(width), torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.Linear(width, width)
        )
        torch.nn.init.zeros_(self.body[-1].weight)  # every block starts as the identity
        torch.nn.init.zeros_(self.body[-1].bias)

    def forward(self, x):
        return x + self.body(x)
""",
    safety="disruptive",
    why_safe="The architecture changes: train again from the start.",
    clears=("vanishing-gradients", "flat-from-start"),
    doc="""\
The identity path carries the gradient to the first layer unshrunk, whatever the blocks do (He et al. 2016). The
strongest cure for depth; normalise before the block (pre-norm), add after it, and put no activation on the sum. Where
shapes differ, project with a 1x1 convolution or a linear layer. Zero in the last layer of a block makes the network
start shallow and deepen as it learns. Afterwards per-layer gradient norms should lie within one or two orders of each
other.
""",
    tries=("residual",),
)
