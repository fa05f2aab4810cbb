"""Cause: samples come in their stored order."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A saw-tooth with the period of one epoch: the loss slides down within the epoch and jumps up at its start. With data
sorted by class the batch loss is near zero for long stretches and huge whenever a new class begins. Validation is worse
than train from the first epoch on, or jumps about.

## Why it happens
SGD assumes that each batch looks like the data. A batch of one class has a gradient that says "predict this class", and
the next hundred batches say it again. The model learns the present and forgets the past, over and over.

Measured on digits sorted by label against shuffled, same network, Adam 1e-3: after 11 epochs mean loss 1.07 against
0.24, after 40 epochs 0.235 against 0.064. It learns, several times slower, and BatchNorm statistics would make it
worse.

The split has the same fault. Taking the last 20 % of sorted rows as validation (Keras' `validation_split` does exactly
this, before any shuffling) puts whole classes, users or days into one side only.

Where it hides: `DataLoader` without `shuffle=True` (the default is False); `IterableDataset` and streaming, where
shuffling is your job; a shuffle buffer much smaller than the class blocks; `DistributedSampler` without `set_epoch`,
which replays one order in every epoch; a random generator re-seeded per epoch.

## How to tell it from its look-alikes
The period. traindx looks for repetition of the loss with the length of an epoch; `oscillation` at any other period
speaks for the learning rate or small batches. A jump at epoch boundaries *downwards* with a flat course in between is
another matter: that is memorisation in multi-epoch training, and normal. `corrupt-samples` gives single spikes, not a
slope. A tail split without shuffling shows as `val-at-chance` or an early gap: shuffle the split and it is gone,
overfitting is not.

## How to fix it
1. `shuffle=True` for training. For validation the order does not matter.
2. Split with a random or stratified permutation, unless time or groups forbid it.
3. Streaming: shuffle the shards each epoch and keep a buffer several times larger than a block.
4. Distributed: call `sampler.set_epoch(epoch)`.

## What NOT to do
- Do not shuffle time inside a forecast window, nor across a temporal split: that leaks the future.
- Do not lower the learning rate to flatten the saw: the forgetting just becomes slower.
- Do not raise momentum: it carries the old class further into the new one.

## References
- Bottou, *Stochastic Gradient Descent Tricks*, 2012 (randomly shuffle the training examples).
- Gürbüzbalaban, Ozdaglar and Parrilo, *Why Random Reshuffling Beats Stochastic Gradient Descent*, 2021.
- Nguyen et al., *Why Globally Re-shuffle? Revisiting Data Shuffling in Large Scale Deep Learning*, IPDPS 2022.
- PyTorch documentation, *torch.utils.data.DistributedSampler* (`set_epoch`).
"""

CAUSE = Cause(
    id="not-shuffled",
    title="training data not shuffled",
    group="data",
    check="print the labels of three batches in a row: they should be mixed; look for shuffle=True",
    prior="occasional",
    predicts={
        "data-in-order": "always",
        "oscillation": "often",
        "loss-spike": "often",
        "val-noisy": "often",
        "val-spike": "sometimes",
        "slow-convergence": "often",
        "val-at-chance": "sometimes",
        "overfitting-gap": "sometimes",
        "val-left-behind": "sometimes",
        "plateau": "sometimes",
        "underfitting": "sometimes",
        "prediction-collapse": "sometimes",
        "divergence": "rarely",
        "flat-from-start": "sometimes",
        "loss-at-chance": "rarely",
        "high-initial-loss": "rarely",
        "exploding-gradients": "sometimes",
        "huge-updates": "rarely",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "vanishing-gradients": "never",
        "dead-units": "never",
    },
    look_alikes={
        "lr-too-high": "swings of any period with huge updates; a missing shuffle repeats with the epoch",
        "batch-too-small": "noise without a period that shrinks with the square root of the batch size",
        "corrupt-samples": "single spikes that recover; here a slope through the whole epoch and an edge at its start",
        "overfitting": "the gap remains after a shuffled split; a tail split's gap disappears",
    },
    fixes=("shuffle-data", "set-sampler-epoch", "stratify-split"),
    line=("loader",),
    do_not=(
        "shuffle across time in a forecast: the future leaks into training",
        "lower the learning rate to flatten the saw: forgetting only becomes slower",
        "raise momentum: it carries the last class further into the next one",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a saw-tooth with the period of the epoch, validation jumps with the last class seen",
            present=("oscillation", "loss-spike", "val-noisy", "slow-convergence"),
            absent=("huge-updates", "divergence", "nonfinite-loss", "flat-from-start", "high-initial-loss"),
            within=4,
        ),
        Case("healthy", "smooth within and between epochs", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "swings with huge updates that end in divergence",
            present=("oscillation", "huge-updates", "divergence"),
            absent=("slow-convergence", "val-noisy"),
            expects="lr-too-high",
        ),
        Case("missing", "only an early gap", present=("overfitting-gap",)),
    ),
)
