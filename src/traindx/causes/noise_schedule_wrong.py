"""Cause: the noise schedule of a diffusion model does not lead from data to noise."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss falls as it should, and samples are grey, washed out or pure noise. Or the loss is very small from the start
because nearly every input is noise.

## Why it happens
Sampling starts from pure noise at the last time. If training inputs at that time still show the data, the model has
never seen such a start. The betas of a thousand times are used for a hundred, the table is the wrong way round,
`alphas` stand where their cumulated product belongs, or a square root is missing.

## How to tell it from its look-alikes
With `wrong-prediction-target` the inputs are right and the target, or what the sampler makes of the output, is not.
With `lr-too-low` or `too-few-epochs` samples get better as the training goes on.

## How to fix it
1. `set-noise-schedule`: check that the cumulated product is near 1 at the first time and below 0.01 at the last.

## What NOT to do
- Do not judge a schedule by the loss: one with more noise has a lower loss.
- Do not train longer: the start of sampling stays unknown to the model.

## References
- Ho, Jain and Abbeel, *Denoising Diffusion Probabilistic Models*, NeurIPS 2020.
- Nichol and Dhariwal, *Improved Denoising Diffusion Probabilistic Models*, ICML 2021 (cosine schedule).
- Lin et al., *Common Diffusion Noise Schedules and Sample Steps are Flawed*, WACV 2024.
"""

CAUSE = Cause(
    id="noise-schedule-wrong",
    title="the noise schedule does not end in noise",
    group="generative",
    check="print alphas_cumprod[-1]: it must be near 0",
    prior="rare",
    predicts={"noise-schedule-off": "always", "nonfinite-loss": "never", "overfitting-gap": "rarely"},
    look_alikes={
        "wrong-prediction-target": "the inputs go from data to noise there; the target does not fit",
        "too-few-epochs": "samples get better as the training goes on there",
    },
    fixes=("set-noise-schedule",),
    do_not=(
        "judge a schedule by the loss: one with more noise has a lower loss",
        "train longer: the start of sampling stays unknown to the model",
    ),
    doc=DOC,
    log_visible=False,
    needs="a recording of the training (traindx run)",
    only_with=("noise-schedule-off",),
    cases=(
        Case("fires", "data show at the last time", present=("noise-schedule-off",)),
        Case("healthy", "nothing stands out", absent=(*CALM_CURVES, *CALM_INSIDE, "noise-schedule-off")),
        Case(
            "look-alike", "the target is other noise", present=("target-not-in-input",), absent=("noise-schedule-off",),
            expects="wrong-prediction-target",
        ),
        Case("missing", "only a loss that rests", present=("plateau",)),
    ),
)  # fmt: skip
