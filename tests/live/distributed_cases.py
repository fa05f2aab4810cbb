"""Trainings on two gloo ranks, one after the other in the same processes, each with a recording of its own: run by
torchrun, with the names of the cases as arguments. What a training ends with is compared with that of the same one
unwatched."""

from __future__ import annotations

import sys
import time
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import traindx

EPOCHS = 4  # of 20 steps on each rank; of 40 where every rank draws from the whole set
ALSO_UNWATCHED = ("ddp", "fsdp")


class Slow(TensorDataset):
    def __getitem__(self, index: int) -> Any:
        time.sleep(0.002)
        return super().__getitem__(index)


def wrapped(case: str, net: nn.Module) -> nn.Module:
    if case == "fsdp":
        for layer in net:  # type: ignore[attr-defined]
            if isinstance(layer, nn.Linear):
                fully_shard(layer)
        return fully_shard(net)
    return net if case == "unwrapped" else DistributedDataParallel(net)


def loader_of(case: str, rank: int, x: torch.Tensor, y: torch.Tensor) -> DataLoader[Any]:
    data = Slow(x, y) if case == "slow data" and rank == 1 else TensorDataset(x, y)
    if case == "same data":
        return DataLoader(data, batch_size=16, shuffle=True, generator=torch.Generator().manual_seed(0))
    return DataLoader(data, batch_size=16, sampler=DistributedSampler(data))


def train(case: str) -> list[float]:
    """Every loss, and the sum of the weights in the end."""
    rank = dist.get_rank()
    torch.manual_seed(0)
    x = torch.randn(640, 12)
    y = (x[:, :3].sum(1) > 0).long()
    net = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 2))
    model = wrapped(case, net)
    loader = loader_of(case, rank, x, y)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    torch.manual_seed(rank)
    losses: list[float] = []
    for _ in range(EPOCHS):
        for inputs, labels in loader:
            if case == "slow code" and rank == 0:
                time.sleep(0.03)
            if case == "changed" and len(losses) == 30 and rank == 1:
                with torch.no_grad():
                    net[3].bias.add_(0.01)
            optimizer.zero_grad()
            output = net(inputs) if case == "bypassed" else model(inputs)
            loss = F.cross_entropy(output, labels)
            loss.backward()
            if case == "fsdp":
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    weights = [getattr(p, "to_local", lambda p=p: p)() for p in model.parameters()]
    return [*losses, *(float(weight.detach().double().sum()) for weight in weights), torch.rand(1).item()]


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for case in sys.argv[1:]:
        bare = train(case) if case in ALSO_UNWATCHED else None
        with traindx.watch(to=f"{case}.traindx"):
            watched = train(case)
        if bare is not None:
            same = torch.tensor(int(watched == bare))
            dist.all_reduce(same)
            if dist.get_rank() == 0:
                print(f"{case}: identical on {same.item()} ranks", flush=True)
        dist.barrier()
    dist.destroy_process_group()


main()
