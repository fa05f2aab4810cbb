"""Give the generator a chance."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="balance-networks",
    title="Slow the discriminator down",
    code="""
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=1e-4, betas=(0.5, 0.999))
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
real_labels = torch.full((batch_size, 1), 0.9)  # never quite certain of real samples
loss_g = F.binary_cross_entropy_with_logits(discriminator(fake), torch.ones(batch_size, 1))  # not log(1 - D)
""",
    safety="caution",
    why_safe="Rates and labels of the discriminator change; the generator's loss is the usual non-saturating one.",
    clears=("discriminator-wins",),
    doc="""\
Equal or smaller rate for the discriminator, labels of 0.9 for real samples, one update of it for each of the generator.
Spectral normalisation (`torch.nn.utils.parametrizations.spectral_norm` on its layers) limits how fast its scores can
change and helps where rates do not. Check first that the generator learns at all: its rate, its optimiser's parameters,
and that its loss is computed on samples that are not detached.
""",
)
