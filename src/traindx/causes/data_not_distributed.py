"""Cause: every rank of a distributed training reads the same data."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
More devices change nothing: the loss over steps is that of one device, an epoch has as many steps as before, and the
bill is larger. Nothing fails and no curve looks wrong.

## Why it happens
DistributedDataParallel and FSDP average gradients; dealing out the data is the loader's business. A plain
`DataLoader(train_set, shuffle=True)` on every rank draws from the whole set. With one seed on all ranks each of them
draws the
*same* batches, and the mean of equal gradients is one of them. With different seeds the batches differ, which trains,
though
a sample may come up several times an epoch and others not at all.

It hides where a loader is built before the process group, where a framework's `prepare` is skipped for the training
loader, in a streaming data set that every rank reads from the start, and in a custom batch sampler that knows nothing
of ranks.

## How to tell it from its look-alikes
traindx compares fingerprints of the batches by rank (`same-data-on-ranks`). `replicas-diverge` is about weights that
differ; here they agree, all too well. `straggler-rank` and `slow-data-loading` cost time per step; here a step is as
fast as it should be and there are too many of them. Ranks that share a batch by design, as in tensor or pipeline
parallelism, are not meant.

## How to fix it
1. `DistributedSampler` with the same seed on all ranks, and `set_epoch` in every epoch.
2. With Accelerate or Lightning, hand them the plain loader and let them shard it.
3. Streaming: split by rank first, by worker second.

## What NOT to do
- Do not seed each rank differently instead: samples then repeat within an epoch and others are left out.
- Do not pass `shuffle=True` beside a sampler: the two exclude each other.
- Do not shard the validation set without gathering the results.

## References
- PyTorch documentation, *torch.utils.data.DistributedSampler* and *Distributed Data Parallel*.
- Li et al., *PyTorch Distributed: Experiences on Accelerating Data Parallel Training*, VLDB 2020.
- Hugging Face documentation, *Datasets: use with PyTorch* (split_dataset_by_node).
"""

CAUSE = Cause(
    id="data-not-distributed",
    title="every rank reads the same data",
    group="distributed",
    check="print the first sample index on every rank: they must differ",
    prior="rare",
    predicts={
        **LEARNING_UNAFFECTED,
        "same-data-on-ranks": "always",
        "replica-mismatch": "rarely",
        "slow-rank": "rarely",
    },
    look_alikes={
        "replicas-diverge": "the weights differ between ranks; here they agree and so do the batches",
        "straggler-rank": "a step waits for one rank; here steps are fast and too many",
        "batch-too-small": "noise that shrinks with the batch; here more ranks leave the noise as it was",
    },
    fixes=("use-distributed-sampler",),
    line=("loader",),
    do_not=(
        "seed every rank differently instead: samples repeat within an epoch and others are left out",
        "pass shuffle=True beside a sampler: the two exclude each other",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a good curve, and the same batch on every rank",
            present=("same-data-on-ranks",),
            absent=(*CALM_CURVES, "replica-mismatch", "slow-rank"),
        ),
        Case("healthy", "every rank has its own batches", absent=(*CALM_CURVES, *CALM_INSIDE, "same-data-on-ranks")),
        Case(
            "look-alike",
            "different batches, but weights that drift apart",
            present=("replica-mismatch",),
            absent=("same-data-on-ranks",),
            expects="replicas-diverge",
        ),
        Case("missing", "only rank 0 was logged", absent=("divergence",)),
    ),
    log_visible=False,
    needs="fingerprints of the batches of every rank (a recording on all ranks)",
)
