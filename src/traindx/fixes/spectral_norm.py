"""Weight matrices that cannot amplify."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="spectral-norm",
    title="Bound the amplification of a layer with spectral normalisation",
    code="""
layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(in_features, out_features))
""",
    safety="disruptive",
    why_safe="The layer computes something else from now on, and expressiveness is limited.",
    clears=("exploding-gradients", "oscillation"),
    doc="""\
Divides the weight by its largest singular value, so that no layer amplifies a signal by more than one. Made for GAN
discriminators (Miyato et al. 2018) and useful for recurrent matrices; for classifiers normalisation layers are the
better tool. Costs one power iteration per step. Use the `parametrizations` form: the older
`torch.nn.utils.spectral_norm` is kept for compatibility only. Wrap the layer before the optimizer is built.
""",
)
