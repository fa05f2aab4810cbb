"""Cause: gradient clipping cuts every step."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A very smooth, slow, almost straight descent. The logged gradient norm is always above the clipping threshold, or,
where the log shows the norm after clipping, it is the same number at every step. The run ends far from done.

## Why it happens
`clip_grad_norm_` rescales every gradient longer than `max_norm`. If that is all of them, SGD takes steps of exactly
lr × max_norm whatever the slope. On the 8×8 digits, SGD with momentum at 0.1 reached 0.0004 in 20 epochs; with
clipping at 0.01 it stood at 0.71, its gradient norm at 0.87, its updates one third as long. Adam divides by the
gradient's own scale, so a constant factor cancels: the same clipping left an Adam run unharmed (0.010). Typical
reasons: a threshold copied from a mean-reduced loss to a summed one, from a small model to a large one (the norm
grows with the number of parameters), `clip_grad_value_` with 1e-3, or clipping before `scaler.unscale_`, which
compares gradients 65 536 times too large with the threshold.

## How to tell it from its look-alikes
Compare the norm before clipping with the threshold. Clipped in 1 to 10 % of the steps is healthy, in nearly all of
them is this cause under SGD. A low learning rate has the same curve but gradients below the threshold. With Adam look
elsewhere first.

## How to fix it
1. `loosen-clipping`: measure 200 norms and clip at their 90th percentile.
2. `raise-lr` instead, if the constant step length is wanted (normalised SGD): then the rate alone sets the pace.
3. `use-mean-reduction` when the norms are large only because the loss is a sum.

## What NOT to do
- Do not remove clipping altogether from a recurrent network or a transformer: the next outlier ends the run.
- Do not treat a clipped norm in the log as the real one: log the value that `clip_grad_norm_` returns.
- Do not call a norm of 20 exploding by itself: it scales with the model, the loss and the batch.

## References
- Pascanu, Mikolov and Bengio, *On the Difficulty of Training Recurrent Neural Networks*, ICML 2013.
- Zhang, He, Sra and Jadbabaie, *Why Gradient Clipping Accelerates Training*, ICLR 2020.
- PyTorch documentation, *torch.nn.utils.clip_grad_norm_*; *Automatic mixed precision examples: gradient clipping*.
"""

CAUSE = Cause(
    id="grad-clip-too-tight",
    title="gradient clipping too tight",
    group="optimisation",
    check="print the gradient norm before clipping: far above the limit at every step is too tight",
    prior="rare",
    predicts={
        "low-clipping": "sometimes",
        "clipped-hard": "always",
        "loss-summed": "never",
        "slow-convergence": "usually",
        "still-improving": "usually",
        "tiny-updates": "often",
        "underfitting": "often",
        "exploding-gradients": "sometimes",
        "flat-from-start": "sometimes",
        "plateau": "rarely",
        "oscillation": "rarely",
        "loss-spike": "rarely",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "overfitting-gap": "rarely",
        "high-initial-loss": "sometimes",
        "divergence": "never",
        "nonfinite-loss": "never",
        "nonfinite-weight": "never",
        "huge-updates": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "batch-barely-moves": "often",
        "lr-below-useful": "often",
    },
    look_alikes={
        "lr-too-low": "the gradients are below the threshold and clipping never acts",
        "too-few-epochs": "the slope follows the gradient; here it is a straight line because every step has the same "
        "length",
        "loss-sum-reduction": "the norms are large because the loss is a sum; the threshold is then only the victim",
    },
    fixes=("loosen-clipping", "raise-lr", "use-mean-reduction"),
    line=("clip",),
    do_not=(
        "remove clipping altogether from a recurrent network or transformer: the next outlier ends the run",
        "read the clipped norm as the real one: it always looks calm",
        "blame clipping under Adam first: a constant factor cancels there",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a straight slow descent, norms far above the threshold, nothing else wrong",
            present=("slow-convergence", "still-improving", "exploding-gradients"),
            absent=("divergence", "huge-updates", "nonfinite-loss", "loss-spike", "oscillation", "lr-schedule-anomaly"),
            within=5,
        ),
        Case("healthy", "one step in twenty is clipped", absent=(*CALM_CURVES, *CALM_INSIDE, "still-improving")),
        Case(
            "look-alike",
            "slow with tiny updates and ordinary gradient norms",
            present=("slow-convergence", "still-improving", "tiny-updates"),
            absent=("exploding-gradients", "vanishing-gradients", "plateau"),
            expects="lr-too-low",
        ),
        Case("missing", "slow, and the gradient norm was not logged", present=("slow-convergence",)),
    ),
)
