"""Cause: one rank is slower than the rest and all wait for it."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
Scaling is poor: eight devices do the work of five. Throughput falls when a certain node joins, or at irregular times.
Losses and weights are right. On most ranks the time goes into `all_reduce`; on one rank it does not.

## Why it happens
Synchronous training moves at the pace of the slowest rank: step time is the *maximum* over ranks. With n ranks even
random jitter costs, since the largest of n draws grows with n (Dean and Barroso 2013: with a 1 % chance of a slow
answer per server and 100 servers, 63 % of requests are slow). Systematic reasons weigh more:

- unequal work: long sequences or large graphs on one rank, no bucketing, a longer shard, an extra duty such as
  validation,
  logging, checkpointing or uploading on rank 0;
- unequal machines: a throttled GPU (power or temperature), an older model, a PCIe link at reduced width, a neighbour
  job on
  the same host, ECC retirement;
- unequal input: one node reads from a slow disk or a busy network mount;
- garbage collection and forked workers that pause ranks at different moments.

If the work is so unequal that one rank has fewer batches, the job ends in a collective timeout ("watchdog caught
collective operation timeout") instead of being slow.

## How to tell it from its look-alikes
Record the time *before* the gradient exchange on every rank. The straggler has the longest compute and the shortest
wait; the others mirror it. The same rank every time means machine or shard; a changing one means unequal batches.
traindx sees only `slow-step` and `throughput-drop` from one rank's log; a recording of all ranks names the rank and
where its time goes (`slow-rank`). `slow-data-loading` hits all ranks alike. Communication that is slow in itself shows
equal waits on *all* ranks and grows with model size, not with one rank. `replicas-diverge` concerns values, not time.

```python
torch.cuda.synchronize(); mine = torch.tensor([time.perf_counter() - start], device="cuda")   # before backward's
exchange
times = [torch.zeros_like(mine) for _ in range(dist.get_world_size())]
dist.all_gather(times, mine); print([f"{t.item() * 1e3:.0f} ms" for t in times])
```

## How to fix it
1. Balance by tokens or by size, not by sample count; give every rank the same number of batches.
2. Take extra duties off the critical path: asynchronous checkpoints, sharded validation, logging every N steps.
3. Exclude or repair the slow device: check clocks, temperature, throttle reasons and link width.
4. Overlap and bucket the gradient exchange, accumulate gradients to exchange less often.

## What NOT to do
- Do not raise the collective timeout as a cure: it waits longer for the same rank.
- Do not add nodes: the maximum over more ranks is larger.
- Do not time without a synchronise: asynchronous launches charge the wait to the wrong line.

## References
- Dean and Barroso, *The Tail at Scale*, CACM 2013.
- Chen et al., *Revisiting Distributed Synchronous SGD*, 2016 (backup workers).
- Li et al., *PyTorch Distributed: Experiences on Accelerating Data Parallel Training*, VLDB 2020.
"""

CAUSE = Cause(
    id="straggler-rank",
    title="one rank slower than the others",
    group="distributed",
    check="print the time before the gradient exchange on every rank: one is longest every time if so",
    prior="rare",
    predicts={
        **LEARNING_UNAFFECTED,
        "slow-rank": "always",
        "slow-step": "usually",
        "throughput-drop": "often",
        "slow-input-pipeline": "sometimes",
        "truncated": "sometimes",
        "replica-mismatch": "rarely",
    },
    look_alikes={
        "slow-data-loading": "all ranks wait for data alike",
        "host-sync": "one process alone is slow as well, without any exchange",
        "replicas-diverge": "values differ between ranks, not times",
        "small-batch-underuse": "adding a rank costs nothing; with a straggler it slows everybody",
    },
    fixes=("balance-ranks", "replace-slow-rank"),
    do_not=(
        "raise the collective timeout: it waits longer for the same rank",
        "add nodes: the slowest of more ranks is slower",
        "time without synchronising the device: the wait is charged to the wrong line",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "steps slow down when one node heats up, data is in time, weights agree",
            present=("slow-step", "throughput-drop"),
            absent=(*CALM_CURVES, "slow-input-pipeline", "replica-mismatch"),
        ),
        Case(
            "healthy",
            "steady throughput on all ranks",
            absent=(*CALM_CURVES, "slow-rank", "slow-step", "slow-input-pipeline", "throughput-drop"),
        ),
        Case(
            "look-alike",
            "every rank waits for its loader, throughput is steady",
            present=("slow-input-pipeline",),
            absent=("slow-step", "throughput-drop"),
            expects="too-few-workers",
        ),
        Case("missing", "only one rank was logged, without timing", absent=("divergence",)),
    ),
    log_visible=False,
    needs="step times of every rank (a recording on all ranks)",
)
