"""Cause: the model trains while it is in evaluation mode."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
It depends on the layers. With dropout: train loss falls faster than it used to and the gap to validation opens early,
because dropout is off. With BatchNorm: layers normalise with running statistics that are never updated, so activations
drift, deep networks train slowly or become unstable, and a jump often appears right after the first validation pass.
Models with only LayerNorm and no dropout show nothing at all.

## Why it happens
`model.eval()` is called for validation and `model.train()` is not called again, or it is called once before the epoch
loop instead of inside it. Functions that evaluate "quickly" in the middle of an epoch do the same. Some loaders,
Hugging Face `from_pretrained` among them, return the model in evaluation mode; the Trainer switches it, a hand-written
loop does not.

In evaluation mode BatchNorm is a fixed affine map. With the initial buffers (mean 0, variance 1) it does nothing: a
deep network then trains as if it had no normalisation. With buffers from an earlier phase it normalises by statistics
of other weights. `num_batches_tracked` standing still while steps pass is proof.

Freezing BatchNorm on purpose while fine-tuning with tiny batches is a legitimate recipe (detection models do it). Then
only the BatchNorm modules are in evaluation mode, not the whole model.

## How to tell it from its look-alikes
traindx needs the `training` flag at the training steps, or the BatchNorm counters of two checkpoints. From a log alone
it weighs a change of behaviour at the first validation. `overfitting` shows the same gap but with dropout on. An
`lr-too-high` run is unstable from the first steps, not from the first validation. In `train-mode-during-eval` the fault
sits in the validation numbers: train is calm, validation scatters.

```python
print(model.training, [m.num_batches_tracked.item() for m in model.modules() if hasattr(m, "num_batches_tracked")][:3])
```

## How to fix it
1. Call `model.train()` at the top of every training epoch, and again after each evaluation inside it.
2. If BatchNorm buffers went stale, recompute them with a pass over the training data before the next evaluation.

## What NOT to do
- Do not add more dropout against the gap: in evaluation mode it has no effect.
- Do not lower the learning rate first: it treats the instability and leaves the statistics frozen.
- Do not remove BatchNorm: it was never allowed to work.

## References
- Ioffe and Szegedy, *Batch Normalization*, ICML 2015.
- Wu and Johnson, *Rethinking "Batch" in BatchNorm*, 2021.
- Srivastava et al., *Dropout*, JMLR 2014.
- PyTorch documentation, *torch.nn.Module.train* and *eval*.
"""

CAUSE = Cause(
    id="eval-mode-during-training",
    title="model left in evaluation mode while training",
    group="wiring",
    check="print model.training inside the loop, after the first validation: it must be True",
    prior="rare",
    predicts={
        "trained-in-eval-mode": "always",
        "evaluated-in-train-mode": "never",
        "overfitting-gap": "often",
        "val-left-behind": "sometimes",
        "loss-spike": "sometimes",
        "slow-convergence": "sometimes",
        "divergence": "sometimes",
        "exploding-gradients": "sometimes",
        "plateau": "sometimes",
        "oscillation": "sometimes",
        "nonfinite-loss": "rarely",
        "high-initial-loss": "sometimes",
        "val-noisy": "rarely",
        "val-at-chance": "rarely",
        "flat-from-start": "never",
        "loss-at-chance": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "prediction-collapse": "never",
    },
    look_alikes={
        "overfitting": "the gap grows although dropout is active; here model.training is False at the training steps",
        "train-mode-during-eval": "there only the validation numbers scatter; here the training itself changes",
        "lr-too-high": "instability begins with the first steps, not right after the first validation pass",
        "val-preprocessing-mismatch": "validation is bad from the first evaluation on and training is untouched",
    },
    fixes=("call-model-train", "recalibrate-batchnorm"),
    line=("in-eval",),
    do_not=(
        "add dropout against the gap: in evaluation mode it does nothing",
        "lower the learning rate first: the instability shrinks and the statistics stay frozen",
        "stop early and call it overfitting: the regularisation was simply switched off",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "model.eval() before the epoch loop: BatchNorm frozen, jump after the first validation, gap",
            present=("overfitting-gap", "loss-spike", "exploding-gradients"),
            absent=(
                "val-noisy",
                "val-at-chance",
                "no-gradient",
                "unchanged-weights",
                "flat-from-start",
                "nonfinite-loss",
            ),
            within=6,
        ),
        Case("healthy", "train and validation fall together, no jump", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "a large model on little data: the gap opens slowly, training is calm",
            present=("overfitting-gap",),
            absent=("loss-spike", "divergence", "exploding-gradients", "oscillation", "high-initial-loss"),
            expects="overfitting",
        ),
        Case("missing", "only one jump in the loss", present=("loss-spike",)),
    ),
    log_visible=False,
    needs="model.training at the training steps, or num_batches_tracked of two checkpoints",
)
