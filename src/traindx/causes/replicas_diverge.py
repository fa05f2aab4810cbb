"""Cause: data-parallel replicas no longer hold the same weights."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Ranks disagree: different losses on the same data, different weight norms, different validation scores. More devices do
not help, or the result gets *worse* with them. The checkpoint of rank 0 is poorer than the training curve promised.
Sometimes the job hangs, because one rank took another branch.

## Why it happens
DistributedDataParallel keeps replicas equal by two acts: it broadcasts parameters and buffers once at the start, and
averages gradients in `backward()`. Equality is lost when

- the forward pass bypasses the wrapper (`model.module(x)`, or a method called on it): gradients are never averaged;
- parameters are changed by hand after wrapping: re-initialised, clipped, an EMA swapped in on rank 0 only;
- parameters are added or unfrozen after wrapping: DDP does not know them;
- the optimizer, scaler or learning rate differs by rank: a scheduler on rank 0 only, a skipped step on one rank,
  weights
  initialised with rank-dependent seeds *after* wrapping;
- `no_sync()` stays active over the step, or gradients are modified before the reduction has finished;
- BatchNorm buffers: statistics are local. DDP broadcasts rank 0's, so the other ranks' are thrown away.

Different *losses* per rank are normal: each rank has its own data. Different *weights* are never normal.

## How to tell it from its look-alikes
Compare a checksum of the weights over the ranks. traindx calls `replica-mismatch` when quantities that must agree
(weight norms, learning rate, step, gradient norm after averaging) do not. A straggler is slow and correct.
`lr-too-high` after a change in the number of GPUs is far more common than divergence of replicas: in eleven public
"multi-GPU is worse" threads eight were an effective batch without a matching rate, so check world size × batch ×
accumulation first.

```python
total = sum(p.detach().double().sum() for p in model.parameters())
sums = [torch.zeros_like(total) for _ in range(dist.get_world_size())]
dist.all_gather(sums, total); print(len({s.item() for s in sums}) == 1)
```

## How to fix it
1. Call the wrapped model, not `.module`, for every forward pass that trains.
2. Initialise, load, freeze and tie before wrapping; build the optimizer after it.
3. Step scheduler, scaler and EMA on every rank in the same way.
4. Use SyncBatchNorm, or normalisation without batch statistics.
5. Broadcast the weights from one rank now, and assert the checksum every few hundred steps.

## What NOT to do
- Do not average the weights once and go on: the cause will part them again.
- Do not set `find_unused_parameters=True` to silence an error without knowing which parameters are unused.
- Do not validate on rank 0 only while the others wait in a collective: that is a hang, not a fix.

## References
- Li et al., *PyTorch Distributed: Experiences on Accelerating Data Parallel Training*, VLDB 2020.
- PyTorch documentation, *Distributed Data Parallel* (internal design) and *torch.nn.SyncBatchNorm*.
- Goyal et al., *Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour*, 2017 (pitfalls of distributed SGD).
"""

CAUSE = Cause(
    id="replicas-diverge",
    title="replicas with different weights",
    group="distributed",
    check="print a checksum of the weights on every rank: they must be equal",
    prior="rare",
    predicts={
        "replica-mismatch": "always",
        "val-noisy": "sometimes",
        "plateau": "sometimes",
        "slow-convergence": "sometimes",
        "loss-spike": "sometimes",
        "divergence": "sometimes",
        "overfitting-gap": "sometimes",
        "val-left-behind": "sometimes",
        "truncated": "sometimes",
        "oscillation": "sometimes",
        "flat-from-start": "never",
        "loss-at-chance": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "nonfinite-loss": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "slow-step": "rarely",
        "slow-input-pipeline": "rarely",
    },
    look_alikes={
        "straggler-rank": "slow but correct: all weights agree",
        "lr-too-high": "all ranks agree and diverge together, often after the number of GPUs was changed",
        "train-mode-during-eval": "one rank alone gives two different scores for the same checkpoint",
        "batch-too-large": "more devices without more learning rate; weights agree",
    },
    fixes=("sync-replicas",),
    do_not=(
        "average the weights once and continue: the cause parts them again",
        "silence errors with find_unused_parameters=True: find out which parameters are unused",
        "trust rank 0's checkpoint: it holds one of several different models",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "weight checksums differ between ranks, validation scatters",
            present=("replica-mismatch", "val-noisy"),
            absent=("nonfinite-loss", "flat-from-start", "slow-step"),
        ),
        Case("healthy", "all ranks agree to the last bit", absent=(*CALM_CURVES, *CALM_INSIDE, "replica-mismatch")),
        Case(
            "look-alike",
            "all ranks agree, every step waits for the slowest of them",
            present=("slow-step", "throughput-drop"),
            absent=("replica-mismatch",),
            expects="straggler-rank",
        ),
        Case("missing", "only rank 0 was logged", absent=("divergence",)),
    ),
    log_visible=False,
    needs="a checksum of the weights from every rank (a recording on all ranks)",
)
