"""The same weights on every rank."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="sync-replicas",
    title="Make all replicas equal and keep them so",
    code="""
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)                           # build, load, freeze and tie first, the same on all ranks
model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model).to(device)
model = DistributedDataParallel(model, device_ids=[local_rank])   # broadcasts rank 0's weights
optimizer = torch.optim.{optimizer}(model.parameters(), lr={lr})        # after wrapping; call model(x), never model.module(x)

def assert_replicas_equal() -> None:
    total = sum(p.detach().double().sum() for p in model.parameters())
    sums = [torch.zeros_like(total) for _ in range(dist.get_world_size())]
    dist.all_gather(sums, total)
    assert all(torch.equal(s, sums[0]) for s in sums), [s.item() for s in sums]
""",  # noqa: E501
    safety="caution",
    why_safe="All ranks continue from rank 0's weights: what the others learned apart is dropped.",
    clears=("replica-mismatch",),
    doc="""\
Wraps the finished model, so that one broadcast makes the replicas equal and every backward pass averages gradients.
Everything that changes weights must run on all ranks alike: optimizer, scheduler, scaler, clipping, EMA. Seeds for
data may differ by rank, seeds for weights may not. Run the check every few hundred steps and after each restart; it
costs one small exchange. Compare with a single-device run at the same total batch: the curves should agree within
noise.
""",
    defaults={"optimizer": "AdamW", "lr": "1e-4"},
)
