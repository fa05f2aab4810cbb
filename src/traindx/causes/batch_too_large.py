"""Cause: the batch leaves too few updates."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A beautifully smooth curve that is late: at the end of the planned epochs the loss is still falling. Steps are few,
often under a thousand in the whole run. If training is carried on, validation may settle slightly worse than with
small batches. Multi-GPU runs that are worse than the single-GPU one belong here too: eight cards mean an eight times
larger batch.

## Why it happens
At the same number of epochs, k times the batch means 1 / k of the updates. On the 8×8 digits with 20 epochs, batches
of 64 end at a train loss of 0.0004, one batch of all 1400 samples at 0.30. Beyond the critical batch size a larger
sample hardly improves the direction of the step, so the lost updates are simply lost (McCandlish et al. 2018; Shallue
et al. 2019). Large batches also take away the noise that favours flat minima (Keskar et al. 2017), which training
longer mostly repairs (Hoffer et al. 2017). In 8 of 11 resolved threads on "multi-GPU is worse" batch and rate had not
been rescaled together.

## How to tell it from its look-alikes
Count updates: epochs × samples / effective batch, accumulation and GPUs included. Fewer than a few thousand for
training from scratch explain slowness without any fault in the rate. The gradient norm hardly scatters from step to
step. `lr-too-low` has plenty of updates, each of them tiny; `too-few-epochs` has an ordinary batch and few epochs.
Plotted against *updates* instead of epochs, a large-batch run is as good as any.

## How to fix it
1. `scale-lr-with-batch`: linear for SGD, square root for Adam, with warm-up.
2. `add-warmup`, which a scaled rate needs.
3. `train-longer`: the same number of updates, not of epochs.
4. `decrease-batch` where the hardware permits.

## What NOT to do
- Do not scale the rate without warm-up: the first epochs then diverge.
- Do not compare runs of different batch size by epochs.
- Do not blame "sharp minima" for a gap before the number of updates has been equalised.

## References
- Shallue et al., *Measuring the Effects of Data Parallelism on Neural Network Training*, JMLR 2019.
- Keskar et al., *On Large-Batch Training for Deep Learning: Generalization Gap and Sharp Minima*, ICLR 2017.
- Hoffer, Hubara and Soudry, *Train Longer, Generalize Better*, NeurIPS 2017.
- Goyal et al., *Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour*, 2017.
- Malladi et al., *On the SDEs and Scaling Rules for Adaptive Gradient Algorithms*, NeurIPS 2022.
"""

CAUSE = Cause(
    id="batch-too-large",
    title="batch too large for the number of updates",
    group="optimisation",
    check="count the optimiser steps per epoch: a few dozen are too few to learn from",
    prior="rare",
    predicts={
        "straight-path": "usually",
        "huge-batches": "always",
        "few-updates": "often",
        "slow-convergence": "usually",
        "still-improving": "usually",
        "underfitting": "often",
        "tiny-updates": "sometimes",
        "plateau": "sometimes",
        "overfitting-gap": "sometimes",
        "too-short": "sometimes",
        "slow-step": "sometimes",
        "flat-from-start": "rarely",
        "loss-spike": "rarely",
        "divergence": "never",
        "nonfinite-loss": "never",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "high-initial-loss": "rarely",
        "oscillation": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
    },
    look_alikes={
        "lr-too-low": "there are plenty of updates and each is tiny; here they are few and of ordinary size",
        "too-few-epochs": "the batch is ordinary and the run short; here the epochs are many and hold few updates",
        "overfitting": "the gap opens while train keeps falling; here train is late as well",
    },
    fixes=("scale-lr-with-batch", "add-warmup", "train-longer", "decrease-batch"),
    line=("setting batch_size", "loop"),
    do_not=(
        "scale the rate up without warm-up: the first epochs diverge",
        "compare runs of different batch size by epochs: updates are what trains",
        "blame sharp minima before the number of updates is equal",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "40 epochs of 5 updates each: smooth, late, ordinary updates",
            present=("slow-convergence", "still-improving", "underfitting"),
            absent=(
                "oscillation", "tiny-updates", "plateau", "loss-spike", "lr-schedule-anomaly", "vanishing-gradients",
                "high-initial-loss", "loss-at-chance", "prediction-collapse", "exploding-gradients", "val-noisy",
                "unchanged-weights", "no-gradient",
            ),
            within=5,
        ),
        Case("healthy", "thousands of updates and a settled loss",
             absent=(*CALM_CURVES, *CALM_INSIDE, "still-improving")),
        Case(
            "look-alike",
            "slow although there are many updates, each of them tiny",
            present=("slow-convergence", "tiny-updates"),
            absent=("overfitting-gap", "plateau", "too-short"),
            expects="lr-too-low",
        ),
        Case("missing", "a late curve without batch size or updates", present=("still-improving",)),
    ),
)  # fmt: skip
