"""Cause: the generator of a GAN makes one sample, or a few, whatever it is given."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
All samples of a batch look the same, or like one of a few. Both losses may look calm; often they swing, as the
generator moves from one sample to the next and the discriminator follows.

## Why it happens
The generator is paid for fooling the discriminator with each sample alone. One sample that is accepted is enough, and
nothing in the loss asks for another. It happens with a generator that learns much faster than the discriminator, with
noise that is too small or not used, and with strong other inputs (a picture to translate) that make noise needless.

## How to tell it from its look-alikes
With `discriminator-too-strong` the discriminator is certain of every sample. With `posterior-collapse` the model is a
variational autoencoder. Samples that are alike in the first updates only are those of an untrained generator.

## How to fix it
1. `spread-samples`: draw the noise anew, let the discriminator see the spread of its batch.
2. `balance-networks` in the other direction: a lower rate for the generator.

## What NOT to do
- Do not judge it by the losses: they look the same when all samples are alike.
- Do not add layers to the generator: capacity is not what is missing.

## References
- Salimans et al., *Improved Techniques for Training GANs*, NeurIPS 2016 (minibatch discrimination).
- Karras et al., *Progressive Growing of GANs*, ICLR 2018 (minibatch standard deviation).
- Goodfellow, *NIPS 2016 Tutorial: Generative Adversarial Networks*, section 5.1.1.
"""

CAUSE = Cause(
    id="mode-collapse",
    title="mode collapse: generated samples are all alike",
    group="generative",
    check="look at twenty generated samples: nearly the same if so",
    prior="rare",
    predicts={
        "samples-alike": "always",
        "oscillation": "sometimes",
        "discriminator-wins": "sometimes",
        "nonfinite-loss": "never",
        "overfitting-gap": "never",
    },
    look_alikes={
        "discriminator-too-strong": "the discriminator is certain of every sample there",
        "posterior-collapse": "the model is a variational autoencoder there",
    },
    fixes=("spread-samples", "balance-networks"),
    do_not=(
        "judge it by the losses: they look the same when all samples are alike",
        "add layers to the generator: capacity is not what is missing",
    ),
    doc=DOC,
    log_visible=False,
    needs="a recording of the training (traindx run)",
    only_with=("samples-alike",),
    cases=(
        Case("fires", "samples of a batch hardly differ", present=("samples-alike",), absent=("discriminator-wins",)),
        Case("healthy", "nothing stands out", absent=(*CALM_CURVES, *CALM_INSIDE, "samples-alike")),
        Case(
            "look-alike", "every generated sample is recognised", present=("discriminator-wins",),
            absent=("samples-alike",), expects="discriminator-too-strong",
        ),
        Case("missing", "only losses that swing", present=("oscillation",)),
    ),
)  # fmt: skip
