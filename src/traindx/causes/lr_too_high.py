"""Cause: the learning rate is too high."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
One of four faces, depending on how far the rate is off:

- a little: the loss falls, then hovers in a noisy band far above where it could be;
- more: it swings without net progress, or spikes and recovers again and again;
- much more: it jumps in the first steps, then lies flat near or slightly *above* chance, because one burst killed the
  units. SGD at lr 1 on scikit-learn's 8×8 digits ends at 2.33 (chance is ln 10 = 2.303) with 98 % of the first layer
  dead;
- far too much: it climbs until Inf or NaN.

## Why it happens
Along a direction of curvature λ a gradient step overshoots its valley when lr × λ > 2, and the error then grows with
every step. With momentum β the limit is 2(1 + β); for Adam it holds for the preconditioned curvature, 38 / lr at β1 =
0.9. Real networks drift towards this edge on their own and hover there (Cohen et al. 2021), so being near it is
normal and being far beyond it is not. Causes in code: a rate copied from SGD to Adam (0.1 instead of 1e-3), a
fine-tuning run at pretraining rate, a batch made smaller at the same rate, a summed loss, momentum raised without
lowering the rate.

## How to tell it from its look-alikes
traindx looks at the update-to-weight ratio: 1e-4 to 1e-2 is usual, a median above that is the signature of this
cause. In the run above it was 0.04 at the first step and exactly 0 once the units were dead, so the first hundred
steps decide (not the very first one: healthy Adam runs begin at 0.01). Noise from small batches has no rhythm and
shrinks with the square root of the batch. A bad batch raises the gradient norm *before* the loss; a high rate does
the reverse. NaN alone is weak evidence: in about 22 resolved public threads precision was the cause in 45 %, data and
labels in 23 %, the learning rate in 18 %.

## How to fix it
1. `lower-lr` by 3 to 10 and start again; flat-but-dead weights do not recover at any rate.
2. `lr-range-test`: 200 steps on a copy show the usable range.
3. `add-warmup` if only the first few hundred steps fail, `add-lr-decay` if only the last ones are restless.
4. `resume-from-checkpoint` when the run was good until it diverged.
5. `clip-gradients` as a seat belt, never as the cure.
6. `increase-batch` where a recipe fixes the rate: less noise per step has much the same effect.

## What NOT to do
- Do not add clipping first: it hides the overshoot and keeps the cause.
- Do not change the optimizer: the same step length is too long for all of them.
- Do not lower the rate for a NaN at step 1 before checking precision, inputs and labels.
- Do not judge by absolute values: 0.02 is normal for prefix tuning, 1e-3 is far too high for fine-tuning a
  transformer.

## References
- Cohen et al., *Gradient Descent on Neural Networks Typically Occurs at the Edge of Stability*, ICLR 2021.
- Cohen et al., *Adaptive Gradient Methods at the Edge of Stability*, 2022.
- Bengio, *Practical Recommendations for Gradient-Based Training of Deep Architectures*, 2012.
- Smith, *Cyclical Learning Rates for Training Neural Networks*, WACV 2017.
"""

CAUSE = Cause(
    id="lr-too-high",
    title="learning rate too high",
    group="learning rate",
    check="train 200 steps at a tenth of the learning rate: the loss falls steadily if so",
    prior="very common",
    predicts={
        "outcome-poor": "sometimes",
        "lr-above-usual": "often",
        "lr-below-usual": "never",
        "spike-at-rate-change": "often",
        "small-gradient-norm": "sometimes",
        "warming-up": "rarely",
        "straight-path": "never",
        "nan-from-growth": "always",
        "nonfinite-inputs": "never",
        "huge-updates": "usually",
        "oscillation": "often",
        "plateau": "often",
        "loss-spike": "sometimes",
        "divergence": "sometimes",
        "nonfinite-loss": "sometimes",
        "nonfinite-gradient": "sometimes",
        "nonfinite-activation": "sometimes",
        "nonfinite-weight": "sometimes",
        "exploding-gradients": "sometimes",
        "flat-from-start": "sometimes",
        "loss-at-chance": "sometimes",
        "slow-convergence": "sometimes",
        "underfitting": "sometimes",
        "high-initial-loss": "sometimes",
        "dead-units": "often",
        "saturated-units": "sometimes",
        "prediction-collapse": "sometimes",
        "val-noisy": "sometimes",
        "val-spike": "sometimes",
        "no-gradient": "never",
        "overfitting-gap": "rarely",
        "val-left-behind": "rarely",
        "still-improving": "rarely",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "batch-diverges": "usually",
        "lr-above-stable": "usually",
        "batch-barely-moves": "never",
        "lr-below-useful": "never",
        "scaling-cures": "never",
    },
    look_alikes={
        "batch-too-small": "noise has no rhythm and the update ratio is in range; overshoot has ratios above 1e-2",
        "corrupt-samples": "a bad batch raises the gradient norm before the loss, at isolated steps only",
        "fp16-overflow": "a precision NaN comes out of a calm loss; a rate that is too high announces itself by growth",
        "loss-sum-reduction": "a summed loss starts at batch size times chance; a high rate starts at chance",
        "warmup-missing": "without warm-up only the first few hundred steps are rough, the same rate is fine later",
        "missing-zero-grad": "uncleared gradients make the norm grow step by step at constant loss",
    },
    fixes=(
        "lower-lr",
        "lr-range-test",
        "add-warmup",
        "add-lr-decay",
        "resume-from-checkpoint",
        "clip-gradients",
        "increase-batch",
    ),
    line=("setting lr",),
    do_not=(
        "add clipping first: it hides the overshoot and keeps the cause",
        "switch optimizers: the learning rate will still be too high",
        "lower the rate for a NaN in the first steps before checking precision, inputs and labels",
        "train longer: an unstable rate does not settle by itself",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "updates of a third of the weights, the loss leaves its best and swings",
            present=("huge-updates", "divergence", "oscillation"),
            absent=(
                "exploding-gradients",
                "nonfinite-loss",
                "lr-schedule-anomaly",
                "high-initial-loss",
                "flat-from-start",
            ),
        ),
        Case("healthy", "loss falls, updates near 1e-3 of the weights", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "the loss crawls downwards and every update is tiny",
            present=("slow-convergence", "still-improving", "tiny-updates"),
            absent=("oscillation", "divergence", "loss-spike", "huge-updates"),
            expects="lr-too-low",
        ),
        Case("missing", "only a NaN is known", present=("nonfinite-loss",)),
    ),
)
