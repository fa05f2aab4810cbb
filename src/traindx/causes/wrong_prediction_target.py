"""Cause: a diffusion model is trained to give something else than its sampler takes it for."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Either the loss stays at 1, the variance of the noise, and nothing is learnt; or it falls nicely and every sample is
noise or a grey field.

## Why it happens
The noise of the target is drawn a second time (`torch.randn_like` once for the input, once for the loss), so that it
cannot be known. Or training gives one of noise, data and velocity, and the sampler reads the output as another:
`prediction_type` of the scheduler, or a sampler copied from elsewhere.

## How to tell it from its look-alikes
With `noise-schedule-wrong` the target fits and the inputs do not end in noise. With `labels-misaligned` inputs and
labels of a data set are permuted; here the target is made in the loop. With `lr-too-low` the loss falls, slowly.

## How to fix it
1. `match-prediction-target`: draw the noise once; let the sampler use the same meaning of the output.

## What NOT to do
- Do not enlarge the model: noise that it has not seen cannot be predicted by any.
- Do not train anew where only the sampler is wrong: the weights are good.

## References
- Ho, Jain and Abbeel, *Denoising Diffusion Probabilistic Models*, NeurIPS 2020 (noise and data as targets).
- Salimans and Ho, *Progressive Distillation for Fast Sampling of Diffusion Models*, ICLR 2022 (velocity).
"""

CAUSE = Cause(
    id="wrong-prediction-target",
    title="training and sampling disagree on what the model gives",
    group="generative",
    check="look up what the sampler expects (noise, sample or velocity): the training target must be the same",
    prior="rare",
    predicts={
        "target-not-in-input": "often",
        "sampler-reads-otherwise": "often",
        "flat-from-start": "sometimes",
        "loss-at-chance": "sometimes",
        "nonfinite-loss": "never",
        "overfitting-gap": "never",
    },
    look_alikes={
        "noise-schedule-wrong": "the target fits there, and the inputs do not end in noise",
        "labels-misaligned": "labels of a data set are permuted there; here the target is made in the loop",
    },
    fixes=("match-prediction-target",),
    do_not=(
        "enlarge the model: noise that it has not seen cannot be predicted by any",
        "train anew where only the sampler is wrong: the weights are good",
    ),
    doc=DOC,
    log_visible=False,
    needs="a recording of the training (traindx run)",
    only_with=("target-not-in-input", "sampler-reads-otherwise"),
    cases=(
        Case("fires", "the target is other noise", present=("target-not-in-input", "loss-at-chance")),
        Case("fires", "the sampler adds what it should subtract", present=("sampler-reads-otherwise",)),
        Case(
            "healthy", "nothing stands out",
            absent=(*CALM_CURVES, *CALM_INSIDE, "target-not-in-input", "sampler-reads-otherwise"),
        ),
        Case(
            "look-alike", "data show at the last time", present=("noise-schedule-off",),
            absent=("target-not-in-input", "sampler-reads-otherwise"), expects="noise-schedule-wrong",
        ),
        Case("missing", "only a loss that rests", present=("plateau",)),
    ),
)  # fmt: skip
