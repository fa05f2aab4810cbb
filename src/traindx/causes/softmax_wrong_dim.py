"""Cause: softmax runs over the batch or another axis instead of the classes."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The first loss is near ln(batch size) instead of ln(classes). Accuracy may look fine, even excellent, while the loss
stops far above zero. Validation loss differs from train loss by a constant that depends on the two batch sizes, and the
last, smaller batch of an epoch always has a lower loss.

## Why it happens
`softmax(dim=0)` on an (N, K) tensor makes the samples compete instead of the classes. Each class gets one unit of
probability to spread over the batch. A sample of a class that occurs n times in the batch can reach at most 1/n, so

    floor = mean of ln(n) ≈ ln(N / K),     start ≈ ln(N)

Measured on ten digits, batches of 32: start 3.28 (ln 32 = 3.47), end 1.44. Validation in one batch of 447 stopped at
4.05; ln(447/10) = 3.80 is its floor. Accuracy was 84 %: `argmax` over the right axis still ranks well.

The implicit form, `softmax` without `dim`, guesses 0 for one- and three-dimensional tensors and only warns. In sequence
models the same slip normalises over time. In attention it normalises over queries, and every key's column sums to one
instead of every row.

A batch of one is a special trap: the probability is always 1 and the loss exactly 0.

## How to tell it from its look-alikes
Change the batch size. A floor that moves with ln(N) is this cause and no other. traindx compares first and last loss
with ln(N) and ln(N/K) when the config gives both numbers. `softmax-before-cross-entropy` has a floor fixed by K alone.
In `val-preprocessing-mismatch` the validation *accuracy* is bad; here it is good while the loss is not. Single samples
get another prediction alone than in a batch: that is a decisive test.

```python
probs = model(x).exp() if log_probs else model(x)
print(probs.sum(dim=1)[:4], probs.sum(dim=0)[:4])   # which of the two is all ones?
```

## How to fix it
1. Normalise over the class dimension: `dim=-1` for (N, K) and (N, T, K), `dim=1` for (N, K, H, W).
2. Better, return logits and let `cross_entropy` do it: it takes dimension 1 by definition.

## What NOT to do
- Do not tune the batch size because the loss reacts to it: that reaction is the fault.
- Do not drop the last batch to smooth the curve: it removes the hint.
- Do not compare validation and train loss until both are fixed: their scales differ by ln of the batch ratio.

## References
- PyTorch documentation, *torch.nn.functional.log_softmax* (`dim`) and *cross_entropy* (class dimension).
- Goodfellow, Bengio and Courville, *Deep Learning*, 2016, section 6.2.2.3.
"""

CAUSE = Cause(
    id="softmax-wrong-dim",
    title="softmax over the wrong dimension",
    group="loss and output",
    check="print out.exp().sum(dim=-1) of one batch: each row must sum to 1",
    prior="rare",
    predicts={
        "softmax-over-wrong-dim": "always",
        "plateau": "usually",
        "underfitting": "often",
        "high-initial-loss": "often",
        "overfitting-gap": "sometimes",
        "val-noisy": "sometimes",
        "slow-convergence": "sometimes",
        "loss-at-chance": "sometimes",
        "prediction-collapse": "sometimes",
        "oscillation": "sometimes",
        "suspiciously-good": "rarely",
        "flat-from-start": "never",
        "val-at-chance": "sometimes",
        "divergence": "never",
        "loss-spike": "rarely",
        "exploding-gradients": "never",
        "vanishing-gradients": "never",
        "nonfinite-loss": "sometimes",
        "negative-loss": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "saturated-units": "never",
        "samples-mixed": "often",
    },
    look_alikes={
        "softmax-before-cross-entropy": "its floor depends on the classes only; this one moves with the batch size",
        "val-preprocessing-mismatch": "validation accuracy is bad; here accuracy is fine and only the loss is off",
        "model-too-small": "a batch of half the size leaves its plateau where it was",
        "loss-sum-reduction": "the loss is proportional to the batch size, not to its logarithm",
    },
    fixes=("softmax-over-class-dim", "use-cross-entropy"),
    line=("softmax",),
    do_not=(
        "tune the batch size because the loss reacts to it: that reaction is the fault itself",
        "compare train and validation loss: their scales differ by the log of the two batch sizes",
        "enlarge the model: ln(batch/classes) is the best any model can score",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "first loss ln(32), floor 1.4, validation in one big batch is offset upwards",
            present=("plateau", "high-initial-loss", "underfitting", "overfitting-gap"),
            absent=(
                "exploding-gradients",
                "nonfinite-loss",
                "vanishing-gradients",
                "saturated-units",
                "divergence",
                "unchanged-weights",
                "flat-from-start",
                "loss-spike",
            ),
            within=5,
        ),
        Case("healthy", "the first loss is ln(classes) and it falls towards zero", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "validation accuracy at chance while train learns to the end",
            present=("val-at-chance",),
            absent=("plateau", "underfitting", "high-initial-loss"),
            expects="val-preprocessing-mismatch",
        ),
        Case("missing", "only a plateau", present=("plateau",)),
    ),
)
