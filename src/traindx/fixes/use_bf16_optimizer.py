"""Rounding that forgets nothing on average."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-bf16-optimizer",
    title="Round bf16 weights stochastically",
    code='''
def write_rounded(weight: torch.Tensor, exact: torch.Tensor) -> None:
    """Round up or down with probabilities that make the mean exact; `exact` is fp32, `weight` is bf16."""
    bits = exact.view(torch.int32)
    noise = torch.randint_like(bits, 1 << 16)
    weight.copy_(((bits + noise) & ~0xFFFF).view(torch.float32))

for weight in model.parameters():              # plain SGD as the example; optimisers for bf16 weights do this inside
    if weight.grad is not None:
        write_rounded(weight.data, weight.data.float() - {lr} * weight.grad.float())
''',
    safety="caution",
    why_safe="Adds rounding noise to every step; momentum and Adam need it inside the optimizer.",
    clears=("unchanged-weights", "tiny-updates", "plateau"),
    doc="""\
An update of a tenth of the spacing is written in one step of ten instead of never, so the weights follow the gradient
on average. It needs no extra memory, and that is its only advantage over fp32 weights. Kahan summation, which keeps
the lost part in a second bf16 buffer, is the deterministic alternative. Prefer a published optimizer with either
method to your own loop. Noise grows with the number of steps: keep the rate up or the batch large late in training.
""",
    defaults={"lr": "1e-3"},
)
