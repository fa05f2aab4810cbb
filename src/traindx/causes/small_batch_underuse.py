"""Cause: batches too small to fill the accelerator."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
Data arrives in time, nothing waits, and samples per second are still a fraction of what others report for the model.
Memory is nearly empty. Doubling the batch leaves the step time almost unchanged.

## Why it happens
Launching a kernel costs several microseconds of Python and driver time, whatever it computes. A step of a thousand
small kernels therefore has a floor of some milliseconds. Below the batch size at which the arithmetic takes that long,
samples are nearly free, and you are not taking them.

There is a second floor. A modern GPU has over a hundred multiprocessors, and a matrix product with 8 rows occupies a
few of them. Weights also have to be read once per step: with few samples per read the step is bound by memory
bandwidth. The arithmetic per byte grows with the batch.

Tiny models show it most: an MLP or a small policy network may run faster on the CPU. Recurrent networks and diffusion
samplers, with their long chains of small kernels, come next.

The batch is also an optimisation setting. McCandlish et al. (2018) describe a critical batch size below which doubling
it halves the steps needed, and above which it buys little. Fill the device up to that point, not for its own sake.

## How to tell it from its look-alikes
Measure samples per second at batch B, 2B, 4B. Rising in proportion: underused. Flat: full. traindx reads `slow-step`
without `slow-input-pipeline` and the batch size from the config; a log seldom holds more. `host-sync` has the same
outside, but a larger batch helps it less and a sync warning names the line. In `slow-data-loading` samples per second
do not rise with the batch at all. "Utilisation 100 %" in nvidia-smi is no alibi: it only says that some kernel was
running.

## How to fix it
1. Raise the batch, in powers of two, until samples per second stop rising; adjust the learning rate with it.
2. If the batch must stay small, compile the model or capture CUDA graphs: fewer, fused launches.
3. Use bf16 or TF32: tensor cores and half the traffic.
4. Train several small models at once on one device.

## What NOT to do
- Do not raise the batch without touching the learning rate: the number of updates per epoch falls.
- Do not accumulate gradients to look larger: the kernels stay as small as they were.
- Do not add data-loader workers: the data is not late.

## References
- McCandlish et al., *An Empirical Model of Large-Batch Training*, 2018.
- Goyal et al., *Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour*, 2017 (linear scaling and warmup).
- He, *Making Deep Learning Go Brrrr From First Principles*, 2022 (overhead, bandwidth, compute).
- Williams, Waterman and Patterson, *Roofline: An Insightful Visual Performance Model*, CACM 2009.
"""

CAUSE = Cause(
    id="small-batch-underuse",
    title="batch too small to fill the device",
    group="throughput",
    check="measure samples per second at twice and four times the batch: they rise in proportion if so",
    prior="rare",
    predicts={
        **LEARNING_UNAFFECTED,
        "slow-step": "often",
        "slow-input-pipeline": "rarely",
        "larger-batch-free": "always",
        "more-workers-help": "rarely",
        "loader-at-its-limit": "rarely",
        "throughput-drop": "never",
        "oscillation": "sometimes",
        "val-noisy": "sometimes",
        "replica-mismatch": "never",
    },
    look_alikes={
        "host-sync": "sync warnings name the waiting line; a larger batch helps less",
        "slow-data-loading": "samples per second do not rise with the batch, the loader is the limit",
        "batch-too-small": "there the gradient is too noisy; here it is the device that idles",
        "too-few-workers": "data time is large; here it is close to zero",
    },
    fixes=("increase-batch", "compile-model", "use-bf16"),
    line=("setting batch_size", "loader"),
    do_not=(
        "raise the batch and keep the learning rate: the number of updates falls and convergence with it",
        "accumulate gradients instead: the kernels stay as small as they were",
        "add data-loader workers: the data is not late",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "batch 4, data in time, slow steps at a steady pace, a good curve",
            present=("slow-step",),
            absent=(*CALM_CURVES, "slow-input-pipeline", "throughput-drop", "replica-mismatch"),
            within=3,
        ),
        Case(
            "healthy",
            "the device is busy with long kernels",
            absent=(*CALM_CURVES, "slow-step", "slow-input-pipeline", "throughput-drop"),
        ),
        Case(
            "look-alike",
            "each step waits for its data",
            present=("slow-input-pipeline",),
            absent=("slow-step",),
            expects="too-few-workers",
        ),
        Case("missing", "no timing was logged", absent=("divergence",)),
    ),
    log_visible=False,
    needs="samples per second at two batch sizes, or a profile",
)
