"""Cause: a training goes on from a checkpoint without the optimizer's state."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss jumps where the training was resumed and takes some hundred updates to come back. Weights, data and rate are
the same as before.

## Why it happens
A checkpoint of the weights is not a checkpoint of the training. Adam's moments say how large each step may be;
without them its first steps move every weight by the full rate, whatever its gradient. The file may hold the state
and the script not load it, or `optimizer.pt` was deleted to save room.

## How to tell it from its look-alikes
In a recording: weights from a checkpoint that counts updates, and an optimizer without a state at the first update. A
schedule that starts again changes the rate, which this does not. A fine-tuning that starts from a checkpoint has a
new optimizer on purpose. An optimizer that is built anew in every epoch jumps again and again
(`optimizer-recreated`).

## How to fix it
1. `restore-optimizer-state`: save and load it with the weights.
2. `add-warmup` over some hundred updates where the state is lost for good.

## What NOT to do
- Do not lower the rate for good because of one jump.
- Do not resume again and again hoping for a better start.
- Do not load the state into an optimizer whose groups have another order.

## References
- PyTorch documentation, *Saving and loading a general checkpoint*.
- Kingma and Ba, *Adam: A Method for Stochastic Optimization*, ICLR 2015.
"""

CAUSE = Cause(
    id="optimizer-state-lost",
    title="optimizer state not restored at a resume",
    group="going on",
    check="check that the resume calls optimizer.load_state_dict(), not only the model's",
    prior="rare",
    predicts={
        "optimizer-not-restored": "always",
        "jump-at-resume": "often",
        "loss-spike": "sometimes",
        "huge-updates": "rarely",
        "slow-convergence": "sometimes",
        "val-spike": "sometimes",
        "plateau": "sometimes",
        "lr-schedule-anomaly": "rarely",
        "schedule-not-restored": "sometimes",
        "optimizer-rebuilt": "sometimes",
        "nonfinite-loss": "rarely",
        "negative-loss": "never",
        "suspiciously-good": "never",
        "loss-at-chance": "rarely",
        "flat-from-start": "rarely",
        "no-gradient": "never",
    },
    look_alikes={
        "optimizer-recreated": "jumps again and again in one process; here once, at the resume",
        "schedule-restarted": "the rate starts again; here it goes on",
        "data-order-restarted": "the loss dips, because batches are known already",
    },
    fixes=(
        "restore-optimizer-state",
        "add-warmup",
    ),
    do_not=(
        "lower the rate for good because of one jump",
        "resume again and again hoping for a better start",
        "load the state into an optimizer whose groups have another order",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "weights restored, moments not, the loss jumps",
            present=(
                "optimizer-not-restored",
                "jump-at-resume",
            ),
            absent=(
                "schedule-not-restored",
                "nonfinite-loss",
            ),
        ),
        Case(
            "healthy",
            "everything was restored",
            present=(),
            absent=(
                *CALM_CURVES,
                *CALM_INSIDE,
                "optimizer-not-restored",
                "jump-at-resume",
                "schedule-not-restored",
            ),
        ),
        Case(
            "look-alike",
            "the rate warms up again after the resume",
            present=(
                "schedule-not-restored",
                "lr-schedule-anomaly",
            ),
            absent=("optimizer-not-restored",),
            expects="schedule-restarted",
        ),
        Case("missing", "one spike in a log", present=("loss-spike",), absent=()),
    ),
    log_visible=True,
    needs="what was restored with the weights (a live recording), or a log across the resume",
)
