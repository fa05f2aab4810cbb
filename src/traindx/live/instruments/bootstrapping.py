"""Measures how values are learnt from rewards and from other values: what targets, returns and advantages are made
of, how large values get, whether the network that gives targets follows, and how many different transitions there
are."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer
from traindx.live.events.places import user_line
from traindx.live.rl.copies import Copies
from traindx.live.rl.frames import Variables, running
from traindx.live.rl.part import here
from traindx.live.rl.relations import Relation, of_advantages, of_next_value, of_returns
from traindx.live.rl.schedule import Schedule
from traindx.live.rl.tracking import Track
from traindx.live.rl.transitions import Transitions
from traindx.live.rl.unnamed import Batches, name_returns, name_transition
from traindx.measurements import BootstrapTargets, Exploration, PolicyObjective, ValueScale

LOSSES = ("mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss")
STEPPED = frozenset(("done", "next_value"))  # roles of loops that step in an environment
GONE = 0.02  # share of random actions that explores next to nothing
SMALLEST = 1e-3  # a smaller one keeps a division from zero
MOST_TRIES = 60  # looks at targets that a network gave before they are taken for something else
MOST_TRIED = 24  # tensors that are tried as the next value


class Bootstrapping(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = Copies(hub)
        self._transitions = Transitions(hub)
        self._target: tuple[str, torch.Tensor, str] | None = None  # of the last regression: name, numbers, line
        self._noted: Variables | None = None  # of the function that called it, which may have returned
        self._relations: dict[str, list[int]] = {}  # form → looks, ends, through
        self._values: dict[str, Track] = {}
        self._rising: dict[str, int] = {}
        self._reward = 0.0
        self._discount: float | None = None
        self._epsilon, self._gone_at = Track(), -1
        self._schedule = Schedule(hub)
        self._episode = Track()  # steps of those whose rewards stand in a list
        self._asked: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()  # networks called without a gradient
        self._given: set[int] = set()  # rows of what they gave since the last update
        self._tries = 0
        self._batches = Batches()
        self._unnamed = False  # a target was known by its numbers alone
        self._looking = False  # this update is looked at

    def on_criterion(self, call: Criterion) -> None:
        if call.name in LOSSES and call.output.requires_grad and self._schedule.due(call.output):
            target = call.input if call.target.requires_grad else call.target
            if not target.requires_grad:
                self._target = (call.name, target.detach(), call.where)
                self._noted = running()

    def on_backward(self, loss: torch.Tensor) -> None:
        if not self._schedule.due(loss):
            return
        found = running()
        if self._noted is not None:
            found.merge(self._noted)
        where = user_line()
        known = self._take_targets(found, where) or self._take_unnamed(found, where)
        if not known and not found.tensors.keys() & {"reward", "return"}:
            self._schedule.idle += not self._may_bootstrap()
            return
        self._schedule.looked()
        self._looking = True
        rewards = [here(one) for _, one in found.all("reward")]
        self._reward = max([self._reward, *(float(one.abs().max()) for one in rewards)])
        if not known:
            self._take_recursions(found, where)
        self._take_values(found)
        self._take_exploration(found)
        self._transitions.look(found, loss)

    def on_forward(self, model: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        if not self.hub.grad and not self._schedule.resigned:
            self._asked.add(model)
            if isinstance(output, torch.Tensor) and output.dim():
                self._given.add(len(output))

    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        if self._looking:
            self._copies.look(running(), optimizer, self._asked if self._unnamed else ())

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._target = self._noted = None
        self._given.clear()
        self._looking = False

    def _may_bootstrap(self) -> bool:
        """Whether the target may be made of what a network gave: batches that hold one transition tell it late."""
        self._tries += self._is_from_network()
        return self._is_from_network() and self._tries < MOST_TRIES

    def _is_from_network(self) -> bool:
        """Else any sum of two columns would do."""
        return self._target is not None and (self._unnamed or self._target[1].numel() in self._given)

    def _take_unnamed(self, found: Variables, where: str) -> bool:
        """Whether the numbers show a target or returns where names do not."""
        if self._target is not None and self._is_from_network():
            transition = name_transition(self._target[1], found, self._batches)
            if transition is not None:
                relation, names = transition
                self._unnamed = True
                self._note("next-value", relation, found, names, self._target[2])
                looks = self._relations["next-value"][0]
                self.hub.measure(
                    PolicyObjective(family="td", losses=looks, names=names, found=found.where, where=where)
                )
                return True
        returns = name_returns(found) if found.first("reward") is None else None
        if returns is not None:
            discount, forward, steps, names = returns
            form = "return-from-start" if forward else "return"
            self._episode.add(float(steps))
            self._note(form, Relation(discount, 0, 0), found, names, where)
        return returns is not None

    def _take_targets(self, found: Variables, where: str) -> bool:
        """Whether target = reward + discount x next value, with any tensor of the script as the next value."""
        targets = [(one, line) for _, one, line in [self._target]] if self._target is not None else []
        targets += [(one, where) for _, one in found.all("target") if not one.requires_grad]
        for target, line in targets[:MOST_TRIED]:
            for reward_name, reward in found.all("reward"):
                for done_name, done in found.all("done"):
                    if reward.numel() == target.numel() == done.numel() and target.numel() > 1:
                        name, relation = _next_value(found, here(target), here(reward), here(done))
                        if relation is not None:
                            self._note("next-value", relation, found, (reward_name, done_name, name), line)
                            return True
        return False

    def _take_recursions(self, found: Variables, where: str) -> None:
        dones = [pair for pair in found.all("done") if pair[1].dim()]
        # returns that are advantages added to values follow another recursion
        valued = any(one.numel() > 1 for _, one in found.all("advantage")) and found.setting("lambda") is not None
        for reward_name, reward in found.all("reward"):
            for done_name, done in [*dones, ("", None)]:
                if done is not None and done.shape != reward.shape:
                    continue
                for name, returns in found.all("return") if not valued else ():
                    relation = of_returns(here(returns), here(reward), None if done is None else here(done))
                    if relation is not None:
                        self._note("return", relation, found, (name, reward_name, done_name), where)
                        return
                if done is not None and self._take_advantage(found, reward_name, reward, done_name, done, where):
                    return

    def _take_advantage(
        self, found: Variables, reward_name: str, reward: torch.Tensor, done_name: str, done: torch.Tensor, where: str
    ) -> bool:
        gamma, lam = found.setting("gamma"), found.setting("lambda")
        if gamma is None or lam is None:
            return False
        for name, advantage in found.all("advantage"):
            for value_name, value in found.all("value"):
                if value.shape == reward.shape == advantage.shape:
                    relation = of_advantages(here(advantage), here(reward), here(value), here(done), gamma, lam)
                    if relation is not None:
                        self._note("advantage", relation, found, (name, reward_name, value_name, done_name), where)
                        return True
        return False

    def _note(self, form: str, relation: Relation, found: Variables, names: tuple[str, ...], where: str) -> None:
        sums = self._relations.setdefault(form, [0, 0, 0])
        for index, value in enumerate((1, relation.ends, relation.through)):
            sums[index] += value
        self._discount = relation.discount
        self.hub.measure(
            BootstrapTargets(
                looks=sums[0], ends=sums[1], through=sums[2], discount=relation.discount,
                given=found.setting("gamma"), episode=self._episode.mean,
                form=form, names=tuple(name for name in names if name), where=where,
            )
        )  # fmt: skip

    def _take_values(self, found: Variables) -> None:
        pair = next(
            ((name, one) for name, one in found.all("next_value", "value", "target") if one.is_floating_point()), None
        )
        if pair is None:
            return
        name, value = pair
        track = self._values.setdefault(name, Track())
        size = float(here(value).abs().mean())
        self._rising[name] = self._rising.get(name, 0) + (size > track.high)
        track.add(size)
        if not track.count:
            return
        discount = self._discount if self._discount is not None else found.setting("gamma")
        self.hub.measure(
            ValueScale(
                looks=track.count, first=track.first, last=track.last, largest=track.high, reward=self._reward,
                discount=discount, rising=self._rising[name] / track.count, where=name,
            )
        )  # fmt: skip

    def _take_exploration(self, found: Variables) -> None:
        named = found.settings.get("epsilon")
        if named is None or not (named[1] == 0 or SMALLEST <= named[1] <= 1) or not found.tensors.keys() & STEPPED:
            return
        name, value = named
        self._epsilon.add(value)
        if value > GONE:
            self._gone_at = -1
        elif self._gone_at < 0:
            self._gone_at = self.hub.step
        track = self._epsilon
        self.hub.measure(
            Exploration(
                looks=track.count, first=track.first, last=track.last, lowest=track.low, gone_at=self._gone_at,
                where=name,
            )
        )  # fmt: skip

    def on_models_freed(self) -> None:
        self._copies.clear()

    def on_end(self) -> None:
        if self.hub.step:
            self._copies.finish()


def _next_value(
    found: Variables, target: torch.Tensor, reward: torch.Tensor, done: torch.Tensor
) -> tuple[str, Relation | None]:
    candidates = [*found.all("next_value"), *found.all("target", "value"), *found.others]
    for name, one in candidates[:MOST_TRIED]:
        if one.numel() == target.numel() and one.is_floating_point():
            relation = of_next_value(target, reward, done, here(one))
            if relation is not None and relation.discount > 0:
                return name, relation
    return "", None


OBSERVER = Bootstrapping
