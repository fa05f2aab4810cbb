"""Measures how the routers of a mixture of experts spread tokens. A router is a module that gives one number for each
of the experts its parent holds."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import tensors_in
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import ExpertLoad

MAX_ROUTERS = 64
MAX_TOKENS = 4096  # of one call
WINDOW = 5  # looks that count together
FIRST_SAMPLE = 32  # updates: a router has moved by then if it ever does
MAX_EXPERTS, MAX_LOADS = 1024, 64
EXPERTS = ("experts", "expert", "mlps", "ffns")  # how the experts' container is called

Look = tuple[torch.Tensor, torch.Tensor, int]  # choices and probability by expert, tokens


class Experts(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._met = -1
        self._routers: dict[int, tuple[str, int, int]] = {}  # name, experts, choices for each token
        self._shares: dict[str, bool] = {}  # whether a router gives probabilities and not scores
        self._looks: dict[str, deque[Look]] = {}
        self._first: dict[str, float] = {}
        self._chosen: dict[str, int] = {}
        self._due = FIRST_SAMPLE  # the update from which calls are sampled next, where close looks are rare

    def on_call(self, model: torch.nn.Module) -> None:
        if self._met != self.hub.known.met:
            self._met = self.hub.known.met
            self._forget()
            for known in self.hub.models.values():
                self._find(known)

    def _find(self, model: torch.nn.Module) -> None:
        for name, parent in model.named_modules():
            experts = _experts(parent)
            for child_name, child in parent.named_children() if experts else ():
                if len(self._routers) < MAX_ROUTERS and _gives(child, experts):
                    place = f"{name}.{child_name}" if name else child_name
                    self._routers[id(child)] = (place, experts, _choices(parent, child))
                    self.hub.sampled_layers.add(id(child))

    def _forget(self) -> None:
        self.hub.sampled_layers -= self._routers.keys()
        self._routers = {}

    def on_models_freed(self) -> None:
        self._forget()
        self._met = -1

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        self._look(module, output)

    def on_sampled_module(self, module: torch.nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """What collapses does so later than the first updates."""
        known = self._routers.get(id(module))
        if known is not None and known[0] in self._shares:
            self._look(module, output)

    def _look(self, module: torch.nn.Module, output: Any) -> None:
        known = self._routers.get(id(module))
        if known is None or not self.hub.grad:
            return
        place, experts, chosen = known
        scores = next((t for t in tensors_in(output) if _is_scores(t, experts)), None)
        if scores is None:
            return
        rows = scores.detach().reshape(-1, experts)
        rows = rows[:: len(rows) // MAX_TOKENS + 1].float()
        if place not in self._shares:
            self._shares[place] = bool(_sums_to_one(rows))
        probabilities = rows if self._shares[place] else rows.softmax(-1)
        chosen = min(chosen, experts)
        picked = probabilities.topk(chosen, -1).indices.reshape(-1)
        counts = torch.zeros(experts, device=rows.device).index_add_(
            0, picked, torch.ones_like(picked, dtype=rows.dtype)
        )
        self._chosen[place] = chosen
        self._copies.bring_all((counts, probabilities.mean(0)), lambda c, p: self._take(place, (c, p, len(rows))))

    def _take(self, place: str, look: Look) -> None:
        self._looks.setdefault(place, deque(maxlen=WINDOW)).append(look)
        self._first.setdefault(place, _entropy(look[1]))

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._copies.poll()
        if self.hub.deep:
            self._measure()
        elif self._shares and self.hub.step >= self._due:
            self._measure()
            self._due = self.hub.step + self.hub.step // 2
            self.hub.sample_calls(evaluation=False)

    def on_end(self) -> None:
        self._copies.poll(wait=True)
        self._measure()

    def _measure(self) -> None:
        for place, looks in self._looks.items():
            counts = torch.stack([one[0] for one in looks]).sum(0)
            shares = (counts / counts.sum().clamp(min=1)).sort().values.tolist()
            self.hub.measure(
                ExpertLoad(
                    experts=len(shares),
                    chosen=self._chosen[place],
                    tokens=sum(one[2] for one in looks),
                    loads=tuple(shares[:: (len(shares) - 1) // MAX_LOADS + 1]),
                    entropy=_entropy(torch.stack([one[1] for one in looks]).mean(0)),
                    first_entropy=self._first[place],
                    idle=int((counts == 0).sum()),
                    layers=len(self._looks),
                    where=place,
                )
            )


def _experts(parent: torch.nn.Module) -> int:
    """How many experts a module holds: the length of a list of equal modules, or the first size of their weights."""
    for name in EXPERTS:
        held = getattr(parent, name, None)
        if isinstance(held, torch.nn.ModuleList) and 2 <= len(held) <= MAX_EXPERTS:
            return len(held)
        if isinstance(held, torch.nn.Module):
            sizes = {p.shape[0] for p in held.parameters(recurse=False) if p.dim() == 3}
            if len(sizes) == 1 and 2 <= (size := sizes.pop()) <= MAX_EXPERTS:
                return size
    return 0


def _gives(module: torch.nn.Module, experts: int) -> bool:
    """A router's own matrix has one row for each expert."""
    matrices = [p for p in module.parameters() if p.dim() == 2]
    return len(matrices) in (1, 2) and matrices[-1].shape[0] == experts


def _choices(parent: torch.nn.Module, router: torch.nn.Module) -> int:
    for holder in (router, parent):
        for name in ("top_k", "k", "topk", "num_experts_per_tok", "n_activated_experts"):
            reported = getattr(holder, name, None)
            if isinstance(reported, int) and not isinstance(reported, bool) and reported > 0:
                return reported
    return 1


def _is_scores(tensor: torch.Tensor, experts: int) -> bool:
    return tensor.is_floating_point() and tensor.dim() >= 2 and tensor.shape[-1] == experts and watchable(tensor)


def _sums_to_one(rows: torch.Tensor) -> torch.Tensor:
    return (rows >= 0).all() & ((rows.sum(-1) - 1).abs() < 1e-2).all()


def _entropy(mean: torch.Tensor) -> float:
    """Of the mean probabilities, by that of equal ones."""
    p = mean / mean.sum().clamp(min=1e-12)
    return float(-(p * p.clamp(min=1e-12).log()).sum()) / math.log(len(p))


OBSERVER = Experts
