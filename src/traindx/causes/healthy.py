"""No fault: what a healthy run looks like."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
- The first loss is at chance: ln(classes) for cross-entropy (0.69 for 2, 2.30 for 10, 6.91 for 1000, 10.8 for a
  vocabulary of 50 257), or the variance of the targets for a squared error.
- Fast at first, then ever slower, with noise on top. The *smoothed* curve falls; single batches may rise at any time.
- Validation follows train. A constant gap is normal. Validation *below* train is normal with dropout, augmentation or
  label smoothing, and because a train epoch is averaged while the model was still worse.
- Flat during warm-up, a sudden fall at a planned step decay, small bumps at warm restarts, a flat end when the rate
  reaches zero on plan.
- Inside: updates of 1e-4 to 1e-2 of the weights, layer gradients within two orders of magnitude of each other
  (embeddings often larger), few dead or saturated units.

## Why it happens
Mini-batch noise falls with the square root of the batch and does not vanish. Training settles at the edge of
stability, where short oscillations belong to the process (Cohen et al. 2021). So the question is never whether a
curve is smooth but whether it makes progress beyond its noise.

Some objectives are healthy in another shape. GAN losses do not fall: generator and discriminator hold each other, and
samples or FID tell more. Reinforcement learning maximises a noisy return; its value loss may rise while the policy
gets better. In GRPO and PPO the loss starts near 0 and rises with the KL term. Log-likelihoods and energies are
negative by nature. Diffusion and contrastive losses flatten early while samples go on improving.

## How to tell it from its look-alikes
"Healthy" is a finding, not the lack of one: traindx says it only when the symptoms it *could* look for are absent,
and lists what it could not see. A log with a train loss alone cannot clear overfitting. A short log is inconclusive,
not healthy. Healthy optimisation does not mean a good model: leaks and wrong labels train smoothly. A global gradient
norm between 0.1 and 10 is usual for small networks and proves nothing: ten sigmoid layers with dead first layers show
0.5.

## How to fix it
Nothing to fix. To get more out of it: train longer if it is still improving, decay the rate to zero, keep the best
checkpoint by validation, and repeat with another seed before believing a small difference.

## What NOT to do
- Do not tune what works because single batches look noisy.
- Do not change the optimizer, the rate and the batch at once: change one thing, compare 100 to 1000 steps, keep a
  record.
- Do not skip the three sanity checks before a long run: overfit one batch, first loss at chance, validation data
  untouched by training.

## References
- Karpathy, *A Recipe for Training Neural Networks*, 2019.
- Cohen et al., *Gradient Descent on Neural Networks Typically Occurs at the Edge of Stability*, ICLR 2021.
- Goodfellow et al., *Generative Adversarial Nets*, NeurIPS 2014.
- Henderson et al., *Deep Reinforcement Learning That Matters*, AAAI 2018.
"""

CAUSE = Cause(
    id="healthy",
    title="healthy run",
    group="none",
    prior="very common",
    predicts={
        "outcome-poor": "never",
        "still-improving": "often",
        "plateau": "rarely",
        "val-noisy": "rarely",
        "truncated": "sometimes",
        "too-short": "sometimes",
        "loss-spike": "rarely",
        "oscillation": "never",
        "slow-convergence": "never",
        "high-initial-loss": "rarely",
        "val-spike": "rarely",
        "ends-off-best": "rarely",
        "constant-gradient-norm": "rarely",
        "lr-schedule-anomaly": "never",
        "tiny-updates": "never",
        "huge-updates": "never",
        "vanishing-gradients": "never",
        "exploding-gradients": "never",
        "loss-scale-collapse": "never",
        "slow-input-pipeline": "never",
        "slow-step": "sometimes",
        "throughput-drop": "sometimes",
        "overfitting-gap": "never",
        "val-left-behind": "never",
        "underfitting": "never",
        "divergence": "never",
        "flat-from-start": "never",
        "loss-at-chance": "never",
        "val-at-chance": "never",
        "suspiciously-good": "never",
        "prediction-collapse": "never",
        "no-gradient": "never",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "nonfinite-activation": "never",
        "nonfinite-weight": "never",
        "replica-mismatch": "never",
        "signal-fades": "never",
        "signal-grows": "never",
        "batch-not-learned": "never",
        "batch-diverges": "never",
        "larger-batch-free": "sometimes",
        "lr-above-stable": "never",
        "batch-barely-moves": "never",
        "lr-below-useful": "never",
        "samples-mixed": "never",
        "scaling-cures": "never",
    },
    look_alikes={
        "batch-too-small": "the smoothed curve no longer falls; in a healthy run noise rides on progress",
        "dropout-too-high": "train lies far above validation and both are high; a small gap is normal",
        "lr-decayed-too-early": "the rate died before the loss had settled, not at the planned end",
        "train-val-leak": "validation is too good for the task, and a fresh test set is not",
    },
    fixes=(),
    do_not=(
        "tune what works because single batches look noisy: only the smoothed curve counts",
        "change several things at once: compare one change over 100 to 1000 steps and keep a record",
        "read a healthy optimisation as a good model: leaks and wrong labels train smoothly",
    ),
    doc=DOC,
    cases=(
        Case("fires", "loss and validation fall and settle, nothing stands out", absent=CALM_CURVES),
        Case("healthy", "the same with a look inside", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "a smooth run whose validation has turned",
            present=("overfitting-gap",),
            absent=("flat-from-start", "nonfinite-loss", "divergence"),
            expects="overfitting",
        ),
        Case("missing", "a plateau without validation: converged or stuck, the log cannot tell", present=("plateau",)),
    ),
)
