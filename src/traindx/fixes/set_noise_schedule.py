"""A schedule that ends in noise."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="set-noise-schedule",
    title="Let the schedule end in noise",
    code="""
T = 1000
betas = torch.linspace(1e-4, 0.02, T) if T == 1000 else torch.linspace(0.1 / T, 20 / T, T)
alphas_cumprod = torch.cumprod(1 - betas, dim=0)
assert alphas_cumprod[0] > 0.99 and alphas_cumprod[-1] < 0.01   # data at the first time, noise at the last
a = alphas_cumprod[t].view(-1, 1, 1, 1)
noisy = a.sqrt() * x0 + (1 - a).sqrt() * noise
""",
    safety="disruptive",
    why_safe="The model has learnt other inputs than it will get: the training starts again.",
    clears=("noise-schedule-off",),
    doc="""\
The betas of a thousand times (1e-4 to 0.02) belong to a thousand times; with fewer they must be larger in proportion,
or use a cosine schedule. The cumulated product goes into the input, with square roots of both parts. Sampling uses
the same table, from the last time to the first.
""",
)
