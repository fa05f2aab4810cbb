"""Cause: the logarithm of zero, or its gradient, in the loss."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Training goes well, often very well, and then the loss is Inf or NaN at one stroke. It happens late, when the model has
become sure, or at once on a batch with an exact zero. No growth in the gradient norm beforehand.

## Why it happens
log(0) is -inf and its derivative 1/x is inf. In float32 a softmax output is exactly 0 when its logit trails the largest
by more than about 104, and a sigmoid is exactly 1 above about 17. A confident model gets there. Then

- `-(y * log(p))` with y = 0 and p = 0 is 0 × inf = NaN;
- KL divergences and entropies written as p log p fail for p = 0 although the limit is 0. `torch.xlogy(p, p)` mends the
  value and not the gradient, which is NaN at 0;
- `torch.where(p > 0, log(p), 0)` looks safe and is not: the forward value is 0, the gradient is 0 × inf = NaN. Both
  branches
  are differentiated;
- sqrt has the same trap: `(x ** 2).sum().sqrt()` at x = 0 has a NaN gradient, while `torch.linalg.vector_norm` returns
  0
  there (checked with PyTorch 2.13);
- log-determinants, log of a variance that collapsed, log of a count, acos or atanh at ±1.

`BCELoss` clamps its logs at -100 and `log_softmax` never forms the small number, so the built-in losses are safe.
Hand-written ones are not.

## How to tell it from its look-alikes
The first non-finite tensor is the loss or the gradient of the last operation, while inputs, activations and weights are
still finite. traindx records that order. In `fp16-overflow` activations overflow first and the loss scale falls. In
`nan-in-data` the input is already bad. In `exploding-gradients` the norm climbs for many steps. Inf one step before NaN
in the log is typical of a logarithm; 0/0 gives NaN at once. Anomaly detection names the operation: expect
`LogBackward0`, at three to five times the step time, so switch it on for a few steps only.

## How to fix it
1. Stay in log space: `log_softmax`, `logsigmoid`, `BCEWithLogitsLoss`, `logsumexp`, `log1p`.
2. Where that is impossible, clamp the *argument* before the log: `x.clamp_min(1e-8)`. In fp16 take 1e-4: 1e-8 rounds to
   0.
3. Go back to a checkpoint from before the first NaN.

## What NOT to do
- Do not add the epsilon outside: `log(x) + 1e-8` is still -inf.
- Do not mask afterwards with `where` or `nan_to_num`: the gradient is NaN already.
- Do not lower the learning rate: the model reaches the same confidence a little later.

## References
- Blanchard, Higham and Higham, *Accurately Computing the Log-Sum-Exp and Softmax Functions*, IMA Journal of Numerical
  Analysis 2021.
- Goldberg, *What Every Computer Scientist Should Know About Floating-Point Arithmetic*, 1991.
- PyTorch documentation, *torch.autograd.detect_anomaly*, *torch.nn.BCELoss*.
"""

CAUSE = Cause(
    id="log-of-zero",
    title="logarithm of zero",
    group="numerics",
    check="search for log() and divisions in the loss; train 20 steps under set_detect_anomaly(True)",
    prior="rare",
    predicts={
        "nan-from-log": "always",
        "nonfinite-inputs": "never",
        "nan-from-growth": "never",
        "nan-from-division": "never",
        "nan-from-half-overflow": "never",
        "nonfinite-loss": "always",
        "nonfinite-gradient": "usually",
        "nonfinite-weight": "often",
        "nonfinite-activation": "rarely",
        "loss-spike": "sometimes",
        "exploding-gradients": "sometimes",
        "truncated": "sometimes",
        "loss-scale-collapse": "rarely",
        "divergence": "rarely",
        "huge-updates": "sometimes",
        "oscillation": "never",
        "high-initial-loss": "rarely",
        "flat-from-start": "never",
        "plateau": "rarely",
        "slow-convergence": "sometimes",
        "underfitting": "rarely",
        "loss-at-chance": "never",
        "overfitting-gap": "rarely",
        "negative-loss": "never",
        "no-gradient": "never",
        "suspiciously-good": "never",
        "saturated-units": "sometimes",
    },
    look_alikes={
        "division-by-zero": "NaN at once from 0/0; a logarithm usually shows Inf first",
        "fp16-overflow": "activations overflow before the loss, and the loss scale falls",
        "nan-in-data": "the input batch already holds the NaN",
        "lr-too-high": "loss and gradient norm grow for some steps before the NaN",
    },
    fixes=("use-log-space", "clamp-before-log", "resume-from-checkpoint"),
    line=("nonfinite",),
    do_not=(
        "add epsilon outside the logarithm: log(x) + 1e-8 is still minus infinity",
        "mask the result with where or nan_to_num: the gradient is NaN already",
        "lower the learning rate first: the model becomes just as confident a little later",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a hand-written entropy: activations finite, loss Inf then NaN, gradient NaN, calm until then",
            present=("nonfinite-loss", "nonfinite-gradient", "nonfinite-weight"),
            absent=(
                "nonfinite-activation",
                "loss-scale-collapse",
                "divergence",
                "oscillation",
                "exploding-gradients",
                "huge-updates",
            ),
            within=3,
        ),
        Case("healthy", "finite to the end", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "the input batch holds NaN and every activation after it",
            present=("nonfinite-loss", "nonfinite-activation", "nonfinite-gradient"),
            absent=("loss-scale-collapse", "exploding-gradients"),
            expects="nan-in-data",
        ),
        Case("missing", "only that the loss was NaN", present=("nonfinite-loss",)),
    ),
)
