"""Cause: the data loader has too few workers, or far too many."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
The accelerator waits for data while most CPU cores are idle. Time per step is data time plus compute time, never the
larger of the two. `num_workers` is 0 or 1 in the config.

## Why it happens
PyTorch's `DataLoader` defaults to `num_workers=0`: samples are made in the training process, between the steps. Nothing
overlaps. One worker overlaps but may not keep up. The number that keeps up follows from two measurements:

    workers ≥ (time to make one sample × samples per step) / compute time of one step

With 8 ms per sample, 64 samples and 120 ms of compute that is 4.3: five workers. Add one or two for jitter.

Too many is a fault as well. Each worker is a process with its own copy of the dataset object; Python lists and
dictionaries get copied page by page as reference counts are touched, so memory grows with the number of workers. More
workers than cores fight over them, and BLAS threads inside each multiply the crowd. On shared or containerised machines
`os.cpu_count()` reports the host, not your share: use `len(os.sched_getaffinity(0))`.

Workers restart each epoch unless `persistent_workers=True`. With a slow start (imports, opening files) short epochs
then spend their time on it: throughput drops at every epoch boundary.

## How to tell it from its look-alikes
`slow-input-pipeline` with `num_workers` of 0 to 2 in the config and free cores is this cause. When eight workers are
already busy, or disk throughput is at its limit, it is `slow-data-loading`. traindx can not see the cores of a machine
from a log; it weighs the config and asks for one trial: double the workers for 100 steps and compare.

| change of rate after doubling | reading |
|---|---|
| nearly ×2 | workers were missing |
| ×1.0 to ×1.2 | disk, network, a lock or the accelerator is the limit |
| below ×1 | too many processes for the cores, or memory is swapping |

## How to fix it
1. Set workers to the number above, at most the cores you own; `persistent_workers=True`, `pin_memory=True`,
   `prefetch_factor` 2–4.
2. `torch.set_num_threads(1)` inside workers (PyTorch does it); set `cv2.setNumThreads(0)` for OpenCV.
3. Keep the dataset object small: arrays, memory maps or Arrow instead of millions of Python objects.
4. If more workers do not help, make samples cheaper.

## What NOT to do
- Do not set 64 workers blindly: memory is copied per process and the cores thrash.
- Do not open files or database handles before the fork: workers share the position and read each other's data.
- Do not rely on numpy's random state in old PyTorch versions: before 1.9 every worker drew the same numbers.

## References
- PyTorch documentation, *torch.utils.data*: multi-process data loading, memory pinning, platform notes.
- PyTorch documentation, *Performance Tuning Guide*: enable asynchronous data loading.
- Mohan et al., *Analyzing and Mitigating Data Stalls in DNN Training*, VLDB 2021.
"""

CAUSE = Cause(
    id="too-few-workers",
    title="too few data-loader workers",
    group="throughput",
    check="double num_workers: steps per second rise if so",
    prior="occasional",
    predicts={
        **LEARNING_UNAFFECTED,
        "slow-convergence": "rarely",  # in the same time there are fewer updates
        "underfitting": "rarely",
        "slow-input-pipeline": "always",
        "more-workers-help": "always",
        "loader-at-its-limit": "never",
        "throughput-drop": "rarely",
        "slow-step": "sometimes",
        "replica-mismatch": "never",
    },
    look_alikes={
        "slow-data-loading": "the workers are busy or the disk is at its limit; doubling them hardly helps",
        "host-sync": "the same batch repeated is just as slow",
        "small-batch-underuse": "data arrives in time and kernels are too short",
        "straggler-rank": "one rank alone is slow and all others wait in the gradient exchange",
    },
    fixes=("add-workers", "cache-data", "augment-on-device"),
    line=("setting workers", "loader"),
    do_not=(
        "set a very high number blindly: memory is copied per process and the cores thrash",
        "open file or database handles before the fork: workers then share one read position",
        "raise the batch size instead: each batch takes longer to assemble by the same factor",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "half of every step is data time, steadily, in a run with num_workers 0",
            present=("slow-input-pipeline",),
            absent=(*CALM_CURVES, "throughput-drop", "slow-step"),
            within=2,
        ),
        Case(
            "healthy",
            "data time is hidden behind compute",
            absent=(*CALM_CURVES, "slow-step", "slow-input-pipeline", "throughput-drop"),
        ),
        Case(
            "look-alike",
            "throughput falls during the run as the disk cache runs out",
            present=("slow-input-pipeline", "throughput-drop"),
            absent=("slow-step",),
            expects="slow-data-loading",
        ),
        Case("missing", "no timing was logged", absent=("flat-from-start",)),
    ),
)
