"""Cause: a few samples are broken or wildly out of range."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Single sharp spikes in the loss, usually followed by recovery over tens of steps. With a fixed order they come back at
the same position of every epoch; with shuffling, about once an epoch at random places. The gradient norm spikes at that
batch; the loss of the following steps pays for it.

## Why it happens
A handful of samples carry values far outside the rest: a sensor at 3e4, a decimal comma read as thousands, a truncated
image half filled with noise, boxes with x1 > x2, a text of one character repeated 10 000 times, a wrong label on an
extreme sample. Squared losses turn an error of 100 into 10 000, and that one sample outweighs its batch.

Adam remembers. Its second moment with beta2 = 0.999 stays inflated for about a thousand steps after one huge gradient,
so progress is slow after the spike although the loss has recovered. A really large step can leave the good region for
good; then the spike becomes a divergence.

Language-model practice agrees. The PaLM team restarted about 100 steps before each spike and skipped 200 to 500
batches; the spikes did not return. The same batches caused none at another time, so data and state were needed
together.

## How to tell it from its look-alikes
Order and recurrence. traindx looks at whether one step's gradient norm leaps out of a calm stretch, with the loss or
just ahead of it (a bad batch), or loss and norm build up over many steps (an unstable state: `lr-too-high`,
`warmup-missing`), and whether the distance between spikes is one epoch. `not-shuffled` produces a saw-tooth in *every*
epoch with its edge at the boundary, no lonely spike. `nan-in-data` does not recover. A restart from a checkpoint gives
one jump with an LR or optimizer discontinuity beside it.

Proof: the loss per sample. The worst ten samples of an epoch, looked at by eye, end most of these cases.

```python
per_sample = F.cross_entropy(model(x), y, reduction="none")
print(indices[per_sample.topk(10).indices])
```

## How to fix it
1. Sort samples by loss and look at the top; remove or repair the broken ones.
2. Validate on reading: range, shape, finite, label in range, boxes ordered.
3. Clip the gradient norm as insurance, or use a robust loss in regression.
4. Skip a batch whose gradient norm is ten times the running median.

## What NOT to do
- Do not lower the learning rate for everything because of ten samples.
- Do not delete all high-loss samples unseen: rare but right ones are among them.
- Do not switch to a larger batch to hide it: the outlier then leans on more steps at a lower weight.

## References
- Chowdhery et al., *PaLM: Scaling Language Modeling with Pathways*, 2022, section 5.1 (training instability).
- Northcutt, Athalye and Mueller, *Pervasive Label Errors in Test Sets Destabilize Machine Learning Benchmarks*, 2021.
- Huber, *Robust Estimation of a Location Parameter*, 1964.
- Kingma and Ba, *Adam: A Method for Stochastic Optimization*, ICLR 2015.
"""

CAUSE = Cause(
    id="corrupt-samples",
    title="corrupt or extreme samples",
    group="data",
    check="print the smallest and largest value, and any NaN, of the batches around the bad step",
    prior="occasional",
    predicts={
        "spike-at-rate-change": "rarely",
        "outlier-batch": "usually",
        "loss-spike": "usually",
        "exploding-gradients": "often",
        "huge-updates": "sometimes",
        "nan-from-growth": "sometimes",
        "nonfinite-loss": "sometimes",
        "nonfinite-gradient": "sometimes",
        "nonfinite-activation": "sometimes",
        "nonfinite-weight": "sometimes",
        "val-spike": "often",
        "val-noisy": "sometimes",
        "divergence": "sometimes",
        "oscillation": "never",
        "loss-scale-collapse": "rarely",
        "high-initial-loss": "rarely",
        "flat-from-start": "rarely",
        "loss-at-chance": "rarely",
        "plateau": "rarely",
        "slow-convergence": "rarely",
        "underfitting": "rarely",
        "overfitting-gap": "rarely",
        "suspiciously-good": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "vanishing-gradients": "never",
        "prediction-collapse": "rarely",
    },
    look_alikes={
        "lr-too-high": "loss and gradient norm build up over many steps and spikes come ever more often",
        "not-shuffled": "a saw-tooth in every epoch with its edge at the boundary, not a lonely spike",
        "nan-in-data": "the loss turns NaN and never recovers",
        "warmup-missing": "the spike comes within the first few hundred steps and once only",
    },
    fixes=("drop-bad-samples", "clip-gradients", "resume-from-checkpoint", "skip-bad-batches", "use-robust-loss"),
    do_not=(
        "lower the learning rate for the whole run because of a few samples: find them first",
        "delete every high-loss sample unseen: rare but correct ones are among them",
        "smooth the curve: a spike that recovers still inflates Adam's second moment for a thousand steps",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "three lonely spikes an epoch apart, gradient norm jumps with them, recovery within 50 steps",
            present=("loss-spike", "exploding-gradients", "val-spike"),
            absent=("divergence", "oscillation", "flat-from-start", "nonfinite-loss", "high-initial-loss", "plateau"),
            within=3,
        ),
        Case(
            "fires",
            "a recording saw a sample thousands of times out of range, and the loss grew until it was NaN",
            present=("outlier-batch", "nan-from-growth", "nonfinite-loss", "divergence", "huge-updates"),
        ),
        Case("healthy", "a smooth loss without spikes", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "the loss swings all the time, updates are huge, then it leaves for good",
            present=("oscillation", "divergence", "huge-updates", "loss-spike"),
            absent=("val-spike",),
            expects="lr-too-high",
        ),
        Case("missing", "only noisy validation", present=("val-noisy",)),
    ),
)
