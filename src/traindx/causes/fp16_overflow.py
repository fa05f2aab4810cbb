"""Cause: a number beyond the range of half precision."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
NaN or Inf in a run that is fine in float32. With AMP: the loss scale halves again and again, steps are skipped, at last
it reaches 1 or less and the loss is NaN. With Hugging Face's Trainer the log may show `loss 0.0` beside `grad_norm
nan`: its filter replaces the NaN. Some runs never move: every step is skipped.

## Why it happens
The largest fp16 number is 65 504, the smallest normal one 6.1e-5. Beyond lies Inf; Inf - Inf and 0 × Inf are NaN. It
overflows in

- attention scores before the softmax, in deep or wide models;
- squared errors: an error of 256 squares to 65 536. Targets in hundreds are enough;
- sums and norms over long axes, pooled in fp16;
- models trained in bf16 (Gemma, T5 and many others): their activations exceed 65 504 by design and fp16 cannot hold
  them;
- masks filled with -1e9, which is -inf in fp16: a fully masked row becomes NaN.

Underflow is the other side: gradients below 6e-8 are 0. The scaler exists for that. It starts at 65 536, halves on
overflow and doubles after 2000 good steps. A handful of skips at the start and one now and then is how it works. A
scale that only falls means that the overflow lies in the forward pass, where scaling cannot help.

Loading the model itself in fp16 and then using a GradScaler raises "Attempting to unscale FP16 gradients", or trains
without fp32 weights when the check is bypassed.

Of some 22 resolved public "loss is NaN" threads about 45 % were half-precision overflow or mixed dtypes: the most
common single cause.

## How to tell it from its look-alikes
`loss-scale-collapse` is nearly proof. A `nonfinite-activation` with a finite input, growing layer by layer towards 65
504, is the direct view. Ask one question: does it happen in fp32 or bf16? If not, it is this. `nan-in-data` and
`division-by-zero` fail in any precision. `lr-too-high` diverges in fp32 as well, with the loss rising first.

## How to fix it
1. Use bf16 where the hardware has it (Ampere and later, TPUs): the range of fp32, no scaler.
2. Otherwise fp32 weights, autocast to fp16 and a GradScaler; unscale before clipping.
3. Compute loss, norms, softmax and large sums in fp32.
4. Standardise targets; fill masks with `torch.finfo(dtype).min`.

## What NOT to do
- Do not lower the learning rate first: the forward pass overflows at any rate.
- Do not clip scaled gradients: call `scaler.unscale_` before.
- Do not fix the loss scale at a low value: overflow in the forward pass stays and small gradients vanish.
- Do not train bf16-born models in fp16.

## References
- Micikevicius et al., *Mixed Precision Training*, ICLR 2018.
- Kalamkar et al., *A Study of BFLOAT16 for Deep Learning Training*, 2019.
- PyTorch documentation, *Automatic mixed precision examples* and *torch.amp.GradScaler*.
"""

CAUSE = Cause(
    id="fp16-overflow",
    title="half-precision overflow",
    group="numerics",
    check="train 50 steps in float32 or bfloat16: the NaN is gone if so",
    prior="common",
    predicts={
        "half-precision": "always",
        "nan-from-half-overflow": "always",
        "nonfinite-inputs": "never",
        "nan-from-log": "rarely",
        "nan-from-growth": "rarely",
        "nan-from-division": "rarely",
        "nonfinite-loss": "usually",
        "loss-scale-collapse": "usually",
        "nonfinite-gradient": "usually",
        "nonfinite-activation": "usually",
        "nonfinite-weight": "sometimes",
        "exploding-gradients": "sometimes",
        "loss-spike": "sometimes",
        "divergence": "rarely",
        "flat-from-start": "sometimes",
        "unchanged-weights": "sometimes",
        "plateau": "sometimes",
        "truncated": "sometimes",
        "tiny-updates": "sometimes",
        "high-initial-loss": "sometimes",
        "oscillation": "never",
        "slow-convergence": "rarely",
        "underfitting": "rarely",
        "overfitting-gap": "rarely",
        "loss-at-chance": "never",
        "negative-loss": "never",
        "no-gradient": "rarely",
        "val-at-chance": "never",
    },
    look_alikes={
        "nan-in-data": "fails in fp32 as well and the first bad tensor is the input",
        "lr-too-high": "diverges in fp32 too, the loss rising before the NaN",
        "log-of-zero": "activations stay finite and only the loss breaks, in any precision",
        "low-precision-update-lost": "no NaN: weights are kept in half precision and stop changing",
    },
    fixes=("use-bf16", "use-grad-scaler", "compute-loss-in-fp32", "resume-from-checkpoint", "scale-targets"),
    line=("half", "nonfinite"),
    do_not=(
        "lower the learning rate first: the forward pass overflows at any rate",
        "clip before unscaling: the threshold then applies to scaled gradients",
        "pin the loss scale at a low value: the forward overflow stays and small gradients vanish",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "the AMP scale halves to below one, then the loss is NaN, weights saved by skipped steps",
            present=("nonfinite-loss", "loss-scale-collapse"),
            absent=("nonfinite-weight", "divergence", "oscillation", "negative-loss"),
        ),
        Case("healthy", "finite loss, a stable scale", absent=(*CALM_CURVES, *CALM_INSIDE, "loss-scale-collapse")),
        Case(
            "look-alike",
            "fp32, NaN in the input batch, weights poisoned",
            present=("nonfinite-loss", "nonfinite-activation", "nonfinite-weight", "nonfinite-gradient"),
            absent=("loss-scale-collapse", "exploding-gradients", "loss-spike"),
            expects="nan-in-data",
        ),
        Case("missing", "only that the run was cut off", present=("truncated",)),
    ),
)
