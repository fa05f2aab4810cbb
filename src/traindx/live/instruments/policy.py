"""Measures the parts of a policy's objective on their way to `backward`: ratios, advantages, rewards, entropies,
distances from a reference, pairs of answers, and which way the loss pulls on them.

They are found by the names of variables in the functions that are running (or have just computed the loss) and count
only where they fit in shape and the loss depends on them. Pairs of answers, log-probabilities and ratios are found by
the graph as well."""

from __future__ import annotations

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.live.events.places import user_line
from traindx.live.rl.by_graph import squashed_without_correction
from traindx.live.rl.collecting import Collecting
from traindx.live.rl.earned import Earned
from traindx.live.rl.frames import Variables, running
from traindx.live.rl.margins import name_pair
from traindx.live.rl.pairs import Pairs
from traindx.live.rl.pulls import Pulls
from traindx.live.rl.ratios import Ratios
from traindx.live.rl.rollouts import Rollouts
from traindx.live.rl.same_texts import SameTexts
from traindx.live.rl.schedule import Schedule
from traindx.live.rl.unnamed import name_by_graph, name_returns
from traindx.measurements import PolicyObjective, SquashedActions

MOST_NAMES = 12
EARNED = frozenset(("reward", "return", "advantage"))


class Policy(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._collecting = Collecting(hub, self)
        self._rollouts = Rollouts()
        self._parts = (Pulls(hub), Ratios(hub), Earned(hub), Pairs(hub))
        self._families: dict[str, int] = {}
        self._schedule = Schedule(hub)
        self._squashed = self._uncorrected = 0
        self._same_texts = SameTexts(hub)

    def attach(self) -> None:
        self._same_texts.watch()
        self._collecting.watch()
        self.hub.patches.add(self._collecting.rest)

    def on_depth(self, deep: bool) -> None:
        if deep and not self._schedule.resigned:
            self._collecting.watch()
        else:
            self._collecting.rest()

    def on_backward(self, loss: torch.Tensor) -> None:
        if not self._schedule.due(loss) or loss.grad_fn is None or loss.numel() != 1:
            return
        found = running()  # first: a function may have been given its arguments in the wrong order
        for noted in self._collecting.noted():
            found.merge(noted)
        name_pair(loss, found)
        name_by_graph(found)
        if not found.tensors.keys() & EARNED and ("logprob" in found.parts or "logprob" in found.tensors):
            name_returns(found)
        where = user_line()
        family = ""
        use = self._rollouts.use(found, self.hub.step)
        self._look_at_squashing(loss, where)
        for part in self._parts:
            family = part.look(loss, found, where, use) or family
        family = family or _by_names(found)
        if not family:
            self._schedule.idle += 1
            if self._schedule.resigned:
                self._collecting.rest()
            return
        self._note(family, found, where)

    def _look_at_squashing(self, loss: torch.Tensor, where: str) -> None:
        uncorrected = squashed_without_correction(loss)
        if uncorrected is None:
            return
        self._squashed += 1
        self._uncorrected += uncorrected
        self.hub.measure(SquashedActions(looks=self._squashed, uncorrected=self._uncorrected, where=where))

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self.hub.deep:
            self._collecting.forget()
        elif self._schedule.wants(self.hub.step + 1):
            self._collecting.watch()
        else:
            self._collecting.rest()

    def _note(self, family: str, found: Variables, where: str) -> None:
        self._schedule.looked()
        self._families[family] = self._families.get(family, 0) + 1
        names = dict.fromkeys(name for pairs in found.tensors.values() for name, _ in pairs[:1])
        self.hub.measure(
            PolicyObjective(
                family=family, losses=self._families[family], names=tuple(names)[:MOST_NAMES], found=found.where,
                where=where,
            )
        )  # fmt: skip


def _by_names(found: Variables) -> str:
    """A value that is learnt from rewards and from the value of the next state. Its target may have left no variable,
    but what it is made of is there."""
    transitions = found.first("reward") is not None and found.first("done") is not None
    return "td" if transitions and found.setting("gamma") is not None else ""


OBSERVER = Policy
