"""Make the generator pay for samples that are all alike."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="spread-samples",
    title="Let the discriminator see how samples differ",
    code="""
noise = torch.randn(batch_size, noise_size, device=real.device)  # new for every batch, of unit size

def spread(features):                                            # in the discriminator, before its last layer
    deviation = features.std(dim=0).mean().expand(len(features), 1)
    return torch.cat([features, deviation], dim=1)               # minibatch standard deviation
""",
    safety="caution",
    why_safe="The discriminator gets one more input; nothing else changes, but it must be trained anew.",
    clears=("samples-alike",),
    doc="""\
First see that noise is drawn anew for every batch and that the generator uses it: two inputs must give two outputs.
Then give the discriminator the spread of its batch (Karras et al. 2018), use equal rates for both networks, and
prefer a Wasserstein loss with gradient penalty or a hinge loss with spectral normalisation: their gradients do not
vanish between the modes.
""",
)
