"""Cause: some parameters were never handed to the optimizer."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss falls a little and then stops too high, or it does not move at all. Nothing crashes. The learning rate and the
gradients look healthy. Some layers hold exactly the same numbers at the end as at the start.

## Why it happens
The optimizer only steps the tensors it was given. Parameters are missed in four common ways:

- layers kept in a plain `list` or `dict` instead of `nn.ModuleList` or `nn.ModuleDict`, so `parameters()` skips them;
- the head replaced, the model moved or wrapped *after* the optimizer was built, so it holds the old tensors;
- a filter on names (`if "head" in name`) that matches less than was meant;
- only the encoder passed, or only the first of two models.

These parameters still receive gradients. `optimizer.zero_grad()` does not reach them, so their gradients add up for
ever. On an 8×8-digit MLP with the first layer left out, the norm of its gradient grew from 0.26 to 131 in 300 steps. If
the loop also clips over `model.parameters()`, that growing norm shrinks every real update: with clipping at 1.0 the
same run ended at loss 1.44 instead of 1.10.

## How to tell it from its look-alikes
traindx compares every parameter with its first value: `unchanged-weights` names the ones that never moved. The gradient
then decides. Present and growing: not in the optimizer. Absent because `requires_grad` is False: `frozen-params`.
Absent although `requires_grad` is True: `detached-graph`. A log alone shows only the flat or early-plateauing loss.

```python
known = {id(p) for group in optimizer.param_groups for p in group["params"]}
print([n for n, p in model.named_parameters() if p.requires_grad and id(p) not in known])
```
An empty list clears this cause for registered parameters. Layers in plain lists do not even appear in
`named_parameters()`: compare the parameter count with the one you expect.

## How to fix it
1. Build the optimizer last: after replacing heads, moving to the device and wrapping, from `model.parameters()`.
2. Put layers into `nn.ModuleList` so that they are registered at all.
3. With parameter groups, assert that the groups together hold every trainable parameter.

## What NOT to do
- Do not raise the learning rate: it moves only the layers that already train.
- Do not enlarge the model: the capacity is there, it is not being trained.
- Do not train longer: a parameter outside the optimizer stays where it is for ever.

## References
- PyTorch documentation, *torch.optim*: constructing an optimizer, per-parameter options.
- PyTorch documentation, *torch.nn.ModuleList*: why submodules must be registered.
- Humbatova et al., *Taxonomy of Real Faults in Deep Learning Systems*, ICSE 2020.
"""

CAUSE = Cause(
    id="params-not-in-optimizer",
    title="parameters missing from the optimizer",
    group="wiring",
    check="compare the ids of model.parameters() with those in optimizer.param_groups: none may be missing",
    prior="rare",
    predicts={
        "weights-at-start": "usually",
        "adapter-at-zero": "sometimes",
        "parameters-not-optimized": "always",
        "frozen-weights": "never",
        "unchanged-weights": "always",
        "no-gradient": "never",
        "underfitting": "often",
        "plateau": "often",
        "slow-convergence": "often",
        "flat-from-start": "sometimes",
        "loss-at-chance": "sometimes",
        "exploding-gradients": "sometimes",
        "tiny-updates": "sometimes",
        "prediction-collapse": "sometimes",
        "vanishing-gradients": "never",
        "huge-updates": "rarely",
        "overfitting-gap": "rarely",
        "divergence": "never",
        "loss-spike": "rarely",
        "nonfinite-loss": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
    },
    look_alikes={
        "frozen-params": "a frozen parameter has requires_grad=False and no gradient; a forgotten one has a growing "
        "gradient",
        "detached-graph": "a detached parameter has no gradient although it wants one; a forgotten one has a gradient",
        "lr-too-low": "a low rate moves every weight a little; forgotten weights are bit-for-bit unchanged",
        "model-too-small": "a small model changes all its weights and still stops high",
    },
    fixes=("pass-all-params-to-optimizer",),
    line=("unregistered", "optimizer"),
    do_not=(
        "raise the learning rate: only the layers that already train would move",
        "enlarge the model: the missing capacity is there, it is not being trained",
        "add epochs: a parameter outside the optimizer never changes",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "the backbone sits in a Python list: its weights never change, its gradients pile up",
            present=("unchanged-weights", "underfitting", "exploding-gradients", "tiny-updates"),
            absent=("no-gradient", "vanishing-gradients", "nonfinite-loss", "huge-updates"),
            within=2,
        ),
        Case("healthy", "every parameter moves and the loss falls", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "the loss is computed from detached outputs: no gradient arrives",
            present=("unchanged-weights", "no-gradient", "flat-from-start"),
            absent=("exploding-gradients",),
            expects="detached-graph",
        ),
        Case("missing", "only a loss that stopped early", present=("plateau",)),
    ),
    log_visible=False,
    needs="which parameters change from step to step (a live recording, or two checkpoints)",
)
