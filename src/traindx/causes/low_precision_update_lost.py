"""Cause: weights kept in half precision swallow small updates."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss falls while steps are large and then stops, as if the learning rate had been set to zero. Lowering the rate, or
letting it decay, makes it *worse*. Gradients are healthy. No NaN. In float32 the same recipe keeps improving.

## Why it happens
Adding a small number to a large one rounds back to the large one. bf16 keeps 8 significant bits: next to 1.0 the
nearest numbers are 1.0078 and 0.9961. An update below half that gap is lost whole:

| weights in | spacing at 1.0 | update lost below (relative) |
|---|---|---|
| fp32 | 1.2e-7 | 3e-8 … 6e-8 |
| fp16 | 9.8e-4 | 2.4e-4 … 4.9e-4 |
| bf16 | 7.8e-3 | 2.0e-3 … 3.9e-3 |

A healthy update is about a thousandth of the weight. In bf16 that is below the threshold: nearly nothing arrives. The
largest weights freeze first, zeros and tiny ones go on.

Measured on digits, Adam, weights themselves in bf16: at 1e-4 the loss went from 2.31 to 2.22 in 30 epochs, 2 % of the
weights changed in the last step; in fp32 to 1.08 with 89 % changing. At 1e-3, 0.263 against 0.093.

`model.to(torch.bfloat16)`, `model.half()` and loading with `torch_dtype=bfloat16` followed by full fine-tuning do this.
Autocast does not: it casts for the computation and keeps fp32 weights. Optimizer states in bf16 have the same problem:
with beta2 = 0.999 the second moment changes by a thousandth a step and stands still.

## How to tell it from its look-alikes
`unchanged-weights` or a large share of elements that do not change, with healthy gradients, in a low-precision dtype.
With `lr-too-low` in fp32 every element moves a little. `frozen-params` stops whole tensors and shows no gradient; here
elements of every tensor stop. `fp16-overflow` gives NaN. A log alone only shows a plateau that a *higher* rate lifts,
so traindx asks for the dtype.

```python
before = [p.detach().clone() for p in model.parameters()]; optimizer.step()
same = sum((p == b).sum().item() for p, b in zip(model.parameters(), before))
print({p.dtype for p in model.parameters()}, same / sum(b.numel() for b in before))
```

## How to fix it
1. Keep fp32 weights and optimizer states; compute under autocast. With Adam that is 16 bytes per
   parameter instead of 8.
2. If memory forbids it: an optimizer with stochastic rounding or Kahan compensation, made for bf16 weights.
3. Fine-tune adapters in fp32 on a bf16 base.

## What NOT to do
- Do not lower or decay the learning rate: smaller updates are lost more surely.
- Do not raise it until weights move: those that move then move by too much.
- Do not switch from bf16 to fp16 weights: eight times finer, but without range.

## References
- Zamirai et al., *Revisiting BFloat16 Training*, 2020 (nearest rounding of updates, stochastic rounding, Kahan).
- Gupta et al., *Deep Learning with Limited Numerical Precision*, ICML 2015.
- Micikevicius et al., *Mixed Precision Training*, ICLR 2018, section 3.1 (fp32 master weights).
"""

CAUSE = Cause(
    id="low-precision-update-lost",
    title="updates lost in low-precision weights",
    group="numerics",
    check="print the dtype of the weights and the share of elements that one step changes: few in bf16 if so",
    prior="rare",
    predicts={
        "half-precision": "often",
        "straight-path": "sometimes",
        "weights-at-start": "sometimes",
        "adapter-at-zero": "never",
        "updates-lost-to-rounding": "usually",
        "gradients-underflow": "usually",
        "unchanged-weights": "sometimes",
        "tiny-updates": "often",
        "plateau": "usually",
        "slow-convergence": "often",
        "underfitting": "often",
        "flat-from-start": "sometimes",
        "loss-at-chance": "sometimes",
        "no-gradient": "never",
        "vanishing-gradients": "never",
        "exploding-gradients": "never",
        "huge-updates": "never",
        "oscillation": "never",
        "divergence": "never",
        "loss-spike": "rarely",
        "overfitting-gap": "rarely",
        "loss-scale-collapse": "never",
        "high-initial-loss": "rarely",
        "prediction-collapse": "rarely",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "dead-units": "never",
        "batch-barely-moves": "often",
        "lr-below-useful": "often",
    },
    look_alikes={
        "lr-too-low": "in fp32 every element moves a little; here most elements do not move at all",
        "frozen-params": "whole tensors stand still without a gradient; here single elements of every tensor do",
        "fp16-overflow": "NaN and a falling loss scale; lost updates are silent",
        "lr-decayed-too-early": "the logged rate is near zero; here it is not",
    },
    fixes=("keep-fp32-master", "use-grad-scaler", "use-bf16-optimizer", "raise-lr"),
    line=("half",),
    do_not=(
        "lower or decay the learning rate: smaller updates are lost more surely",
        "swap bf16 weights for fp16 ones: finer steps, but they overflow",
        "train longer: an update that rounds to nothing stays nothing however often it is repeated",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "bf16 weights, plateau at half the way, 98 % of the elements unchanged, gradients healthy",
            present=("unchanged-weights", "tiny-updates", "plateau", "slow-convergence"),
            absent=(
                "no-gradient",
                "vanishing-gradients",
                "exploding-gradients",
                "nonfinite-loss",
                "flat-from-start",
                "loss-at-chance",
                "prediction-collapse",
            ),
            within=3,
        ),
        Case("healthy", "weights move and the loss falls to the end", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "all elements move, by far too little",
            present=("tiny-updates", "slow-convergence"),
            absent=("unchanged-weights", "plateau"),
            expects="lr-too-low",
        ),
        Case("missing", "only a plateau", present=("plateau",)),
    ),
    log_visible=False,
    needs="the dtype of the weights and the share of elements that change in a step",
)
