"""Cause: parameters that should train have requires_grad=False."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Training from scratch: the loss stays near chance, around ln(classes), and wanders by noise only. Fine-tuning: the loss
falls to what a linear head on fixed features can reach and stops there. Step time is shorter than expected, because the
backward pass is cut.

## Why it happens
`requires_grad=False` was set and never undone. Typical sources:

- a transfer-learning recipe kept for a model that is trained from scratch;
- gradual unfreezing whose later stage is never reached, or whose names no longer match after a rename;
- a parameter-efficient wrapper that freezes the base and whose target module names match nothing;
- the model built inside `torch.no_grad()` or loaded by a function that returns frozen weights.

Ten-class digits with the convolution and hidden weights frozen: loss 2.305 in the first epoch and 2.306 in the last,
accuracy 9 %, chance being 2.303 and 10 %. Biases alone were training.

Freezing is often intended. traindx counts it as a fault only when the loss says so: at chance, flat or underfitting.

## How to tell it from its look-alikes
`unchanged-weights` is present and `no-gradient` is absent, because a frozen parameter does not ask for a gradient. That
pair separates it from `detached-graph`, where a parameter asks and gets none. `params-not-in-optimizer` shows the same
unchanged weights, but its gradients exist and keep growing. A rate that is too low changes all weights by a little.

```python
total = sum(p.numel() for p in model.parameters())
live = sum(p.numel() for p in model.parameters() if p.requires_grad)
print(f"{live / total:.1%} of {total:,} parameters train")
```

## How to fix it
1. Unfreeze what should learn, then build the optimizer, so that it receives the unfrozen parameters.
2. When fine-tuning, give the unfrozen backbone a rate about ten times below the head's: discriminative rates, as in
   ULMFiT, keep pretrained features from being overwritten by early large gradients (Kumar et al. 2022).
3. Log the trainable share at start-up. A run that prints 0.3 % is easier to stop at midnight.

## What NOT to do
- Do not raise the learning rate of a frozen model: the head overshoots while the rest stays still.
- Do not conclude that the model is too small: it is being used as a random feature extractor.
- Do not unfreeze everything at the head's rate: the first steps destroy the pretrained features.

## References
- Howard and Ruder, *Universal Language Model Fine-tuning for Text Classification*, ACL 2018.
- Kumar et al., *Fine-Tuning can Distort Pretrained Features and Underperform Out-of-Distribution*, ICLR 2022.
- PyTorch documentation, *Autograd mechanics: setting requires_grad*.
"""

CAUSE = Cause(
    id="frozen-params",
    title="parameters frozen by mistake",
    group="wiring",
    check="list the parameters with requires_grad=False: only those that should stay as they are",
    prior="occasional",
    predicts={
        "outcome-poor": "sometimes",
        "weights-at-start": "usually",
        "adapter-at-zero": "sometimes",
        "frozen-weights": "always",
        "parameters-not-optimized": "never",
        "unchanged-weights": "always",
        "no-gradient": "never",
        "flat-from-start": "often",
        "loss-at-chance": "often",
        "underfitting": "usually",
        "plateau": "often",
        "slow-convergence": "sometimes",
        "prediction-collapse": "sometimes",
        "tiny-updates": "rarely",
        "exploding-gradients": "never",
        "vanishing-gradients": "rarely",
        "huge-updates": "rarely",
        "overfitting-gap": "rarely",
        "divergence": "never",
        "oscillation": "never",
        "loss-spike": "rarely",
        "nonfinite-loss": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "high-initial-loss": "rarely",
        "batch-not-learned": "sometimes",
    },
    look_alikes={
        "params-not-in-optimizer": "forgotten parameters have gradients that pile up; frozen ones have none and ask "
        "for none",
        "detached-graph": "a detached graph leaves trainable parameters without a gradient; frozen ones are not "
        "trainable",
        "lr-too-low": "with a low rate every weight moves a little; frozen weights are bit-for-bit the same",
        "vanishing-gradients": "vanishing gradients are small but there, layer by layer smaller towards the input",
    },
    fixes=("unfreeze-params",),
    line=("frozen",),
    do_not=(
        "raise the learning rate: the few live parameters overshoot and the frozen ones still do not move",
        "add epochs: nothing is being trained, so more epochs change nothing",
        "call the model too small: a frozen network is a random feature extractor of any size",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a scratch CNN keeps the freezing loop of a fine-tuning recipe; loss 2.306 at chance",
            present=("unchanged-weights", "loss-at-chance", "flat-from-start", "underfitting"),
            absent=("no-gradient", "exploding-gradients", "vanishing-gradients", "nonfinite-loss", "tiny-updates"),
            within=2,
        ),
        Case("healthy", "all weights move and the loss falls below chance", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "every weight moves, but by a millionth of its size each step",
            present=("flat-from-start", "tiny-updates"),
            absent=("unchanged-weights", "no-gradient", "vanishing-gradients"),
            expects="lr-too-low",
        ),
        Case("missing", "only a flat loss is known", present=("flat-from-start",)),
    ),
    log_visible=False,
    needs="which parameters have requires_grad and change (a live recording, or the model's parameter list)",
)
