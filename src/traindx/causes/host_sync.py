"""Cause: the loop keeps waiting for the accelerator to report a number."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
Steps take longer than the kernels in them. Utilisation is middling, data time is small, and a profile shows gaps after
every step. Removing the logging makes it faster.

## Why it happens
CUDA work is queued. Python runs ahead and fills the queue while the device computes. Anything that needs a value on the
host stops Python until the queue is empty, and then the device idles while Python builds the next kernels:

- `loss.item()`, `float(loss)`, `print(loss)`, `loss.cpu()`, `.numpy()`, `tensor.tolist()`;
- `if torch.isnan(loss)`, `while tensor > 0`, comparing a tensor in Python;
- `tensor.nonzero()`, boolean indexing, `unique`: their output size lives on the device;
- copies without `non_blocking=True`, or from memory that is not pinned;
- progress bars and metric libraries that do any of these per step, and per-layer norms with `.item()` in a loop.

Measured on an H200: `grad.norm().item()` for every parameter made a training step of GPT-2 124M and of ResNet-50 1.32
times as long. The same norms computed in one batched call and copied asynchronously cost 0.3 % or less.

One `loss.item()` per step is cheap when steps take 100 ms or more; the device then finishes soon after Python asks. It
is expensive when steps are short, since the queue never gets deep.

## How to tell it from its look-alikes
Data time small, step time large, and it shrinks when logging is cut. `torch.cuda.set_sync_debug_mode("warn")` prints
every synchronising call with its stack: run it for ten steps. With `small-batch-underuse` no call synchronises and the
kernels are just too small. With `slow-data-loading` the time is in `next(loader)`. Timing code itself misleads: without
`torch.cuda.synchronize()` the wait is charged to whatever line happens to ask first. From a log traindx can see
`slow-step` without `slow-input-pipeline`, no more. A recording (`traindx run`) counts the waits of each line and times
the way of a batch to the GPU: `waits-for-device` and `slow-transfer`.

## How to fix it
1. Keep running sums on the device; call `.item()` every 50 or 100 steps.
2. Replace Python conditions on tensors with `torch.where`, or check every N steps.
3. Pin memory and copy with `non_blocking=True`.
4. Gradient norms: one `clip_grad_norm_(..., foreach=True)`, not a loop.

## What NOT to do
- Do not add `torch.cuda.synchronize()` for "correct" timing in production: it is the fault itself.
- Do not leave `detect_anomaly` on: it made steps three to five times as long in the same measurement.
- Do not buy a faster device first: a faster one waits longer.

## References
- PyTorch documentation, *CUDA semantics: asynchronous execution* and *Performance Tuning Guide: avoid unnecessary
  CPU-GPU
  synchronization*.
- He, *Making Deep Learning Go Brrrr From First Principles*, 2022.
- NVIDIA, *CUDA C++ Best Practices Guide*: asynchronous transfers and overlapping.
"""

CAUSE = Cause(
    id="host-sync",
    title="host and device waiting for each other",
    group="throughput",
    check='run ten steps with torch.cuda.set_sync_debug_mode("warn"): it prints each call that waits',
    prior="rare",
    predicts={
        **LEARNING_UNAFFECTED,
        "waits-for-device": "always",
        "slow-transfer": "often",
        "slow-step": "often",
        "slow-input-pipeline": "rarely",
        "more-workers-help": "rarely",
        "loader-at-its-limit": "rarely",
        "larger-batch-free": "sometimes",
        "throughput-drop": "rarely",
        "replica-mismatch": "never",
    },
    look_alikes={
        "small-batch-underuse": "nothing synchronises, kernels are simply too short; a larger batch cures it",
        "slow-data-loading": "the time is spent in next(loader)",
        "straggler-rank": "the wait is in the gradient exchange and only on the fast ranks",
        "too-few-workers": "data time is large; with a synchronising loop it is small",
    },
    fixes=("avoid-host-sync", "compile-model"),
    do_not=(
        "add torch.cuda.synchronize() for timing in production: that is the fault itself",
        "leave detect_anomaly on: it makes steps three to five times as long",
        "buy a faster device first: it will only wait longer",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "steps far longer than their kernels, data time small",
            present=("slow-step",),
            absent=(*CALM_CURVES, "slow-input-pipeline", "throughput-drop", "replica-mismatch"),
            within=3,
        ),
        Case(
            "fires",
            "a recording counted 148 waits in every step",
            present=("waits-for-device",),
            absent=(*CALM_CURVES, "slow-input-pipeline", "slow-step", "throughput-drop"),
        ),
        Case(
            "fires",
            "batches are copied from memory that is not pinned, and waited for",
            present=("slow-transfer",),
            absent=(*CALM_CURVES, "slow-input-pipeline", "throughput-drop"),
        ),
        Case(
            "healthy",
            "steps as long as their kernels",
            absent=(*CALM_CURVES, "slow-step", "slow-input-pipeline", "throughput-drop"),
        ),
        Case(
            "look-alike",
            "most of the step is waiting for the loader",
            present=("slow-input-pipeline", "slow-step"),
            absent=("throughput-drop",),
            expects="too-few-workers",
        ),
        Case("missing", "no timing was logged", absent=("divergence",)),
    ),
    log_visible=False,
    needs="a recording on the GPU (traindx run), a profile of a few steps, or the step time with logging switched off",
)
