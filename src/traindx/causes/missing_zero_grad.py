"""Cause: gradients are never cleared."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The first steps look normal. Then the loss swings in ever wider waves and ends far above its start, while the gradient
norm climbs from step to step even where the loss stands still. At a small rate the run half works, which is why the
fault survives: on the 8×8 digits SGD at 0.01 still reached 94 % accuracy, with a loss that moved between 0.25 and
0.94 and a gradient norm that grew from 0.55 to 54.

## Why it happens
`backward()` *adds* to `.grad`. Without `zero_grad()` step t uses the sum of all gradients so far. That is momentum
with β = 1: an oscillator without friction, whose swings grow because each step is finite. With SGD and momentum at
0.1 the norm reached 33 000 and the loss 930. Adam normalises the size away but not the stale direction: it swung
between 0.6 and 2.9 instead of falling to 0.02. Usual forms: the call forgotten, placed under an `if` that is never
true, made on the wrong optimizer, or replaced by `model.eval()` and the like during a clean-up; or a second model's
gradients that no optimizer clears.

## How to tell it from its look-alikes
The gradient norm grows roughly linearly from the first steps, at constant or falling loss. A rate that is too high
has norms that follow the loss. A summed loss has large norms from step 1 that then fall. Exploding gradients differ
from layer to layer; here all layers grow by the same factor. The proof costs a minute: print `p.grad.norm()` right
before `backward()`; it must be None or 0.

## How to fix it
1. `call-zero-grad` before every backward pass.
2. `resume-from-checkpoint` or start again: weights and moments come from wrong gradients.

## What NOT to do
- Do not clip: clipping limits the length and keeps the stale direction.
- Do not lower the rate until it "works": it then trains on the average of its own history.
- Do not put `zero_grad()` between `backward()` and `step()`: the step then uses nothing.

## References
- PyTorch documentation, *torch.optim.Optimizer.zero_grad*; *Zeroing out gradients in PyTorch* (recipe).
- TennisCourtDetector issue 7 and HSAN issue 6 on GitHub (the same fault in published code).
- Humbatova et al., *Taxonomy of Real Faults in Deep Learning Systems*, ICSE 2020.
"""

CAUSE = Cause(
    id="missing-zero-grad",
    title="gradients are not cleared between steps",
    group="optimisation",
    check="search for optimizer.zero_grad(): it must be called once for each optimizer.step()",
    prior="rare",
    predicts={
        "nan-from-growth": "sometimes",
        "nonfinite-inputs": "never",
        "gradients-not-cleared": "always",
        "exploding-gradients": "usually",
        "oscillation": "often",
        "divergence": "often",
        "huge-updates": "often",
        "loss-spike": "sometimes",
        "plateau": "sometimes",
        "underfitting": "often",
        "loss-at-chance": "sometimes",
        "nonfinite-loss": "sometimes",
        "nonfinite-gradient": "sometimes",
        "nonfinite-weight": "sometimes",
        "dead-units": "sometimes",
        "saturated-units": "sometimes",
        "prediction-collapse": "sometimes",
        "val-noisy": "sometimes",
        "val-spike": "sometimes",
        "slow-convergence": "rarely",
        "flat-from-start": "rarely",
        "high-initial-loss": "rarely",
        "overfitting-gap": "rarely",
        "still-improving": "rarely",
        "vanishing-gradients": "never",
        "tiny-updates": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "batch-diverges": "never",
        "lr-above-stable": "never",
    },
    look_alikes={
        "lr-too-high": "gradient norms follow the loss; uncleared ones grow even while the loss falls",
        "momentum-too-high": "waves as well, but the gradient norm itself does not grow without bound",
        "exploding-gradients": "gradient norms of layers differ by orders of magnitude; here all grow by one factor",
        "loss-sum-reduction": "gradient norms are large at step 1 and then fall; here they start ordinary and rise",
    },
    fixes=("call-zero-grad", "resume-from-checkpoint"),
    line=("uncleared",),
    do_not=(
        "clip instead: the length is limited and the stale direction stays",
        "lower the rate until it works: it would train on the average of its own history",
        "call zero_grad between backward and step: the step would use nothing",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "growing waves, the norm of all layers climbs from step to step",
            present=("exploding-gradients", "oscillation", "divergence", "huge-updates"),
            absent=("high-initial-loss", "nonfinite-loss", "loss-spike", "lr-schedule-anomaly", "vanishing-gradients"),
            within=3,
        ),
        Case("healthy", "norms fall along with the loss", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "first loss of 150 with ten classes and batches of 64, large norms from step 1",
            present=("high-initial-loss", "exploding-gradients"),
            absent=("oscillation", "divergence"),
            expects="loss-sum-reduction",
        ),
        Case("missing", "a diverged loss without gradient norms", present=("divergence",)),
    ),
)
