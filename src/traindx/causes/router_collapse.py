"""Cause: the router of a mixture of experts uses few of them."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The model has the memory of many experts and the quality of a small dense one. The loss falls and settles early. Some
experts never change.

## Why it happens
An expert that gets more tokens learns faster and is chosen more often; those that get none have no gradient and never
catch up. Only a balancing loss, noise on the scores or a bias that follows the load works against it. It is missing
when the auxiliary loss is not added to the loss, when its factor is tiny, when scores are rounded to half precision,
or when the router's rate is too high.

## How to tell it from its look-alikes
Count the choices of the router by expert over some batches. Shares that differ two or three times are specialisation;
half of the experts without a token are not. A model that is too small has busy experts and a high loss.

## How to fix it
1. `balance-experts`: add the balancing loss, keep the router in single precision.
2. Lower the router's rate, or start it with noise.

## What NOT to do
- Do not add experts: the router will not use them either.
- Do not raise the factor until the load is exactly equal: the task suffers.
- Do not drop idle experts before the balancing was repaired.

## References
- Shazeer et al., *Outrageously Large Neural Networks*, ICLR 2017.
- Fedus, Zoph and Shazeer, *Switch Transformers*, JMLR 2022.
- Zoph et al., *ST-MoE*, 2022 (router z-loss).
"""

CAUSE = Cause(
    id="router-collapse",
    title="router sends all tokens to few experts",
    group="which weights move",
    check="count the tokens by expert over ten batches: half of the experts with none if so",
    prior="rare",
    predicts={
        "experts-idle": "always",
        "no-gradient": "often",
        "unchanged-weights": "sometimes",
        "plateau": "often",
        "slow-convergence": "sometimes",
        "underfitting": "sometimes",
        "dead-units": "sometimes",
        "loss-spike": "sometimes",
        "flat-from-start": "rarely",
        "divergence": "rarely",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "suspiciously-good": "never",
    },
    look_alikes={
        "model-too-small": "all experts are busy and the loss is still high",
        "detached-graph": "no gradient reaches whole parts; here idle experts have none because no token comes by",
        "dead-relu": "units are dead whatever comes; experts are alive and not asked",
    },
    fixes=("balance-experts",),
    do_not=(
        "add experts: the router will not use them either",
        "raise the factor until the load is exactly equal: the task suffers",
        "drop idle experts before the balancing was repaired",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "six of eight experts never get a token",
            present=(
                "experts-idle",
                "plateau",
            ),
            absent=(
                "nonfinite-loss",
                "divergence",
            ),
        ),
        Case(
            "healthy",
            "the load is even",
            present=(),
            absent=(
                *CALM_CURVES,
                *CALM_INSIDE,
                "experts-idle",
            ),
        ),
        Case(
            "look-alike",
            "trainable parameters without a gradient, no router",
            present=(
                "no-gradient",
                "flat-from-start",
            ),
            absent=("experts-idle",),
            expects="detached-graph",
        ),
        Case("missing", "a plateau", present=("plateau",), absent=()),
    ),
    log_visible=False,
    needs="the router's choices (a live recording)",
)
