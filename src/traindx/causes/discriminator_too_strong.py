"""Cause: the discriminator of a GAN leaves the generator nothing to learn from."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The discriminator's loss goes to zero and stays there, the generator's rises to 5, 10 and more. D(x) is near 1, D(G(z))
near 0. Samples stop changing, or change without getting better.

## Why it happens
The discriminator separates the two kinds perfectly. Far from its border it is flat, so that hardly any gradient, or one
without direction, reaches the generator. It learns faster (a higher rate, more updates, more layers), real and
generated samples differ in something trivial (scale of the pixels, file format), or the generator hardly learns.

## How to tell it from its look-alikes
With `detached-graph` and `params-not-in-optimizer` the generator's weights do not change at all. With `mode-collapse`
the discriminator is often in doubt, but the samples are all alike. A critic of a Wasserstein loss may separate the two
perfectly and still teach: its scores have no scale.

## How to fix it
1. Check that generated and real samples have the same range (tanh gives -1 to 1).
2. `balance-networks`: equal rates, labels of 0.9, spectral normalisation, the non-saturating loss.

## What NOT to do
- Do not train longer: a discriminator that is always right does not begin to doubt by itself.
- Do not read the falling loss of the discriminator as progress.

## References
- Goodfellow et al., *Generative Adversarial Nets*, NeurIPS 2014 (the saturating loss).
- Arjovsky and Bottou, *Towards Principled Methods for Training GANs*, ICLR 2017.
- Miyato et al., *Spectral Normalization for Generative Adversarial Networks*, ICLR 2018.
"""

CAUSE = Cause(
    id="discriminator-too-strong",
    title="the discriminator leaves the generator nothing to learn from",
    group="generative",
    check="print the discriminator's accuracy on real and generated samples: near 100 % is too strong",
    prior="rare",
    predicts={
        "discriminator-wins": "always",
        "samples-alike": "sometimes",
        "nonfinite-loss": "never",
        "overfitting-gap": "never",
    },
    look_alikes={
        "mode-collapse": "the discriminator is in doubt there, and the samples are all alike",
        "detached-graph": "the generator gets no gradient at all there",
    },
    fixes=("balance-networks",),
    do_not=(
        "train longer: a discriminator that is always right does not begin to doubt by itself",
        "read the falling loss of the discriminator as progress",
    ),
    doc=DOC,
    needs="the losses of both networks, or a recording of the training (traindx run)",
    only_with=("discriminator-wins",),
    cases=(
        Case("fires", "every generated sample is recognised", present=("discriminator-wins",)),
        Case("healthy", "nothing stands out", absent=(*CALM_CURVES, *CALM_INSIDE, "discriminator-wins")),
        Case(
            "look-alike", "samples are alike and the discriminator is in doubt", present=("samples-alike",),
            absent=("discriminator-wins",), expects="mode-collapse",
        ),
        Case("missing", "only a loss that rests", present=("plateau",)),
    ),
)  # fmt: skip
