"""Cause: the batch is too small for the learning rate."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A loss that jitters without rhythm as widely at the end as in the middle, and a floor that does not sink. With
BatchNorm also a validation curve that jumps although training is calm. The hardware is half idle: each step costs as
much as one with eight times the samples.

## Why it happens
The noise of a mini-batch gradient has a standard deviation proportional to 1 / sqrt(batch). The floor at which SGD
hovers is proportional to lr × noise², so to lr / batch. A batch of 1 at the rate tuned for 64 is 64 times over that
balance: on the 8×8 digits, SGD with momentum at 0.1 learns perfectly with 64 samples and dies at chance with 1; at
0.01 without momentum single samples work well too. So the batch is rarely wrong by itself; the pair of batch and rate
is. BatchNorm is the exception: below about 8 samples per device its statistics are noise at any rate. Multi-GPU
scripts often split a batch of 16 into eight times 2.

## How to tell it from its look-alikes
Noise is irregular; overshoot alternates. Average the loss over 16 steps: noise shrinks by four, a swing of
`lr-too-high` does not. The update ratio is in range here. A raw per-batch loss curve *always* jitters with small
batches: only a floor that does not sink, or a smoothed curve without trend, makes it a fault. Sorted data
(`not-shuffled`) shows a period of one epoch.

## How to fix it
1. `lower-lr` in proportion: the cheapest repair of the pair.
2. `add-lr-decay`: the noise floor sinks with the rate.
3. `increase-batch`, by accumulation where memory is short.
4. `scale-lr-with-batch` whenever the batch changes again.
5. `use-group-norm` when BatchNorm sees fewer than 8 to 16 samples.

## What NOT to do
- Do not take jitter for failure: compare smoothed values first.
- Do not raise batch and rate together to see what happens: their ratio is what matters, and it would not change.
- Do not use accumulation to repair BatchNorm: its statistics still come from the micro-batch.

## References
- McCandlish et al., *An Empirical Model of Large-Batch Training*, 2018.
- Masters and Luschi, *Revisiting Small Batch Training for Deep Neural Networks*, 2018.
- Wu and He, *Group Normalization*, ECCV 2018.
- Smith, Kindermans, Ying and Le, *Don't Decay the Learning Rate, Increase the Batch Size*, ICLR 2018.
"""

CAUSE = Cause(
    id="batch-too-small",
    title="batch too small for the learning rate",
    group="optimisation",
    check="train 200 steps with four times the batch: the swings shrink if so",
    prior="occasional",
    predicts={
        "straight-path": "never",
        "tiny-batches": "always",
        "oscillation": "usually",
        "val-noisy": "often",
        "plateau": "often",
        "loss-spike": "sometimes",
        "val-spike": "sometimes",
        "slow-step": "sometimes",
        "huge-updates": "sometimes",
        "underfitting": "sometimes",
        "slow-convergence": "sometimes",
        "exploding-gradients": "sometimes",
        "dead-units": "sometimes",
        "loss-at-chance": "sometimes",
        "divergence": "rarely",
        "still-improving": "rarely",
        "overfitting-gap": "rarely",
        "flat-from-start": "rarely",
        "high-initial-loss": "rarely",
        "vanishing-gradients": "never",
        "nonfinite-loss": "rarely",
        "tiny-updates": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "batch-diverges": "rarely",
        "lr-above-stable": "rarely",
    },
    look_alikes={
        "lr-too-high": "its swings survive averaging over 16 steps and its updates exceed 1e-2 of the weights",
        "not-shuffled": "the swing repeats with the period of an epoch",
        "healthy": "per-batch losses always jitter; a smoothed curve that still falls is fine",
        "train-mode-during-eval": "validation scatters too, but two evaluations of the same weights differ",
    },
    fixes=("lower-lr", "add-lr-decay", "increase-batch", "scale-lr-with-batch", "use-group-norm"),
    line=("setting batch_size", "loop"),
    do_not=(
        "take jitter for failure: smooth first and look for the trend",
        "raise batch and rate together: the noise floor depends on their ratio",
        "repair BatchNorm by accumulation: its statistics still come from the micro-batch",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "jitter of constant width, validation scatters, updates in range",
            present=("oscillation", "val-noisy"),
            absent=(
                "huge-updates",
                "divergence",
                "nonfinite-loss",
                "overfitting-gap",
                "lr-schedule-anomaly",
                "loss-at-chance",
            ),
            within=3,
        ),
        Case("healthy", "noise that shrinks while the loss falls", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "swings with huge updates that end in divergence",
            present=("oscillation", "huge-updates", "divergence"),
            absent=("val-noisy", "exploding-gradients"),
            expects="lr-too-high",
        ),
        Case("missing", "a restless loss and nothing else", present=("oscillation",)),
    ),
)
