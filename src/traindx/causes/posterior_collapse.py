"""Cause: the encoder of a variational autoencoder has stopped saying anything."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The divergence (KL) term falls to zero within the first few hundred updates and stays there. The loss then rests on the
reconstruction that a decoder reaches without a code: the mean picture, or the next token from the tokens before it.
Samples look alike or blurred, and every input is decoded to the same output. In a language model the loss looks fine.

## Why it happens
Early in the training the code is noise, so the decoder learns to ignore it; the divergence then pulls the encoder to
the prior, where its gradient is zero. It happens where the divergence weighs too much (beta above 1, a sum over the
dimensions beside a *mean* over the pixels, which divides the reconstruction by hundreds), or where the decoder can
predict its output without a code.

## How to tell it from its look-alikes
The code itself tells: no dimension's mean varies over the inputs, and its width is 1. With `model-too-small` the code
is used and the reconstruction still bad. With `detached-graph` the encoder has no gradient at all; here it has one, and
it has led to zero. Some unused dimensions beside used ones are normal.

## How to fix it
1. `anneal-kl`: begin with a weight of zero, raise it over the first thousands of updates, and reduce both terms the
   same way (sum over pixels and over dimensions, mean over the batch).
2. `match-loss-to-task` where the reconstruction is a mean over pixels and the divergence a sum.

## What NOT to do
- Do not judge it by the total loss: it is lower than that of many models that use their code.
- Do not make the decoder larger: it needs the code even less then.

## References
- Bowman et al., *Generating Sentences from a Continuous Space*, CoNLL 2016 (annealing of the divergence).
- Kingma et al., *Improved Variational Inference with Inverse Autoregressive Flow*, NeurIPS 2016 (free bits).
- Burda, Grosse and Salakhutdinov, *Importance Weighted Autoencoders*, ICLR 2016 (active units).
"""

CAUSE = Cause(
    id="posterior-collapse",
    title="posterior collapse: the latent code is unused",
    group="generative",
    check="print the KL of each latent dimension: all near 0 if so",
    prior="rare",
    predicts={
        "latent-unused": "always",
        "plateau": "often",
        "underfitting": "sometimes",
        "flat-from-start": "sometimes",
        "loss-at-chance": "sometimes",
        "nonfinite-loss": "never",
        "no-gradient": "never",
        "overfitting-gap": "rarely",
        "divergence": "never",
    },
    look_alikes={
        "model-too-small": "the code is used there, and the reconstruction is still bad",
        "detached-graph": "the encoder gets no gradient at all there",
        "healthy": "some dimensions of the code are active there; a few unused ones are normal",
    },
    fixes=("anneal-kl", "match-loss-to-task"),
    line=("loss",),
    do_not=(
        "judge it by the total loss: it is lower than that of many models that use their code",
        "make the decoder larger: it needs the code even less then",
    ),
    doc=DOC,
    log_visible=False,
    needs="a recording of the training (traindx run)",
    cases=(
        Case("fires", "no dimension of the code depends on the input", present=("latent-unused", "plateau")),
        Case("healthy", "nothing stands out", absent=(*CALM_CURVES, *CALM_INSIDE, "latent-unused")),
        Case(
            "look-alike",
            "the code is used and the loss rests high",
            present=("underfitting", "plateau", "narrow-bottleneck"),
            absent=("latent-unused",),
            expects="model-too-small",
        ),
        Case("missing", "only a training loss that rests", present=("plateau",)),
    ),
)
