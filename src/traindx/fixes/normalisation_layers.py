"""Keep the signal in range."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="normalisation-layers",
    title="Insert normalisation layers",
    code="""
block = torch.nn.Sequential(
    torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False),  # the norm's own bias replaces it
    torch.nn.BatchNorm2d(channels),  # batches under 16: torch.nn.GroupNorm(8, channels); sequences: LayerNorm
    torch.nn.ReLU(),
)
""",
    safety="disruptive",
    why_safe="The architecture changes, and BatchNorm behaves differently in training and evaluation.",
    clears=("vanishing-gradients", "exploding-gradients", "saturated-units", "dead-units"),
    doc="""\
Rescales every layer's input to unit variance, so that neither depth nor initialisation can shrink or blow up the
signal, and higher rates become stable. BatchNorm for convolutions with 16 samples per device or more, GroupNorm
below, LayerNorm or RMSNorm for sequences and recurrent networks. BatchNorm needs `model.eval()` in validation;
forgetting it is the commonest fault after adding it. Its benefit comes mostly from a smoother loss surface, not from
removing covariate shift (Santurkar et al. 2018).
""",
    tries=("norm",),
)
