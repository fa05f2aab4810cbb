"""Cause: producing a sample takes longer than using it."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
The loss is fine and the run is slow. Most of each step is waiting for data; the accelerator's utilisation saws between
0 and 100 %. The first epoch may be slower than the later ones (a cold disk cache), or every epoch alike.

## Why it happens
Each sample costs CPU or disk time: decoding a JPEG takes milliseconds for an ImageNet-sized picture and tens of them
for a camera original; resizing, tokenising, parsing JSON and random reads of small files from a network disk add to it.
A GPU that does 2000 images a second needs 2000 of these a second.

The budget is simple. With W workers and t seconds per sample the pipeline delivers W/t samples a second. Below the
model's rate it is the limit, and no change to the model helps.

Measured: a loader that waits 2 ms per image fed 410 images a second to a small CNN that did 5500 without the wait. Loss
curve and accuracy were identical; wall time was 13 times longer.

Of twelve public "low GPU utilisation" threads ten were the input pipeline. Mohan et al. (2021) measured 10 to 70 % of
epoch time lost to data stalls in common training jobs.

## How to tell it from its look-alikes
traindx compares data time with step time where both are logged, and calls more than about a third
`slow-input-pipeline`. The test without any log: feed the same batch again and again. If the step rate jumps, the loader
is guilty; if not, look at `host-sync` and `small-batch-underuse`. Slow loading and too few workers look alike from
outside. Double the workers: if the rate doubles, workers were missing; if it does not, the disk, the network or one
lock is the limit and this page applies.

```python
import time
it = iter(loader); next(it); start = time.perf_counter()
for _ in range(50): next(it)
print(f"{50 * loader.batch_size / (time.perf_counter() - start):.0f} samples/s from the loader alone")
```

## How to fix it
1. More workers, with `persistent_workers` and `pin_memory`: see the fix for its numbers.
2. Do expensive, deterministic work once: decode, resize or tokenise offline; store tensors, memory maps or packed
   shards.
3. Move augmentation to the accelerator, or to a faster decoder.
4. Put the data on a local SSD; read large sequential shards instead of many small files.

## What NOT to do
- Do not enlarge the model to "use the GPU": every step then waits *and* computes.
- Do not raise the batch size: the time per sample is the limit, not the number of steps.
- Do not shrink validation or logging first: measure where the time goes.

## References
- Mohan et al., *Analyzing and Mitigating Data Stalls in DNN Training*, VLDB 2021.
- Murray et al., *tf.data: A Machine Learning Data Processing Framework*, VLDB 2021.
- PyTorch documentation, *torch.utils.data* and *Performance Tuning Guide*.
"""

CAUSE = Cause(
    id="slow-data-loading",
    title="data loading slower than the model",
    group="throughput",
    check="time a pass over the data loader alone, and the same steps with one fixed batch",
    prior="occasional",
    predicts={
        **LEARNING_UNAFFECTED,
        "slow-convergence": "rarely",  # in the same time there are fewer updates
        "underfitting": "rarely",
        "slow-input-pipeline": "always",
        "more-workers-help": "sometimes",
        "loader-at-its-limit": "usually",
        "throughput-drop": "sometimes",
        "slow-step": "sometimes",
        "replica-mismatch": "never",
    },
    look_alikes={
        "too-few-workers": "doubling the workers doubles the rate there and hardly helps here",
        "host-sync": "repeating one batch leaves the step as slow as before",
        "small-batch-underuse": "data time is small and the accelerator idles between short kernels",
        "straggler-rank": "one rank waits for data and the others wait for it",
    },
    fixes=("add-workers", "cache-data", "augment-on-device"),
    line=("slow-read", "loader"),
    do_not=(
        "enlarge the model to use the accelerator: each step then waits and computes",
        "raise the batch size: the time per sample is the limit",
        "blame the optimizer or the loss: the curve over steps is the same, only the clock differs",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "80 % of each step is data time, the loss is healthy, throughput sinks as the disk cache runs out",
            present=("slow-input-pipeline", "throughput-drop"),
            absent=(*CALM_CURVES, "slow-step", "replica-mismatch"),
            within=2,
        ),
        Case(
            "healthy",
            "data time is a few percent of the step",
            absent=(*CALM_CURVES, "slow-step", "slow-input-pipeline", "throughput-drop"),
        ),
        Case(
            "look-alike",
            "steps are slow although the data is there in time",
            present=("slow-step",),
            absent=("slow-input-pipeline", "throughput-drop"),
            expects="host-sync",
        ),
        Case("missing", "no timing was logged", absent=("plateau",)),
    ),
)
