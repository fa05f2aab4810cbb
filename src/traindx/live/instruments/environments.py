"""Measures steps of environments that follow gymnasium's interface: rewards, how episodes end, which actions are
taken, how large observations are.

Its wrappers are watched that `gymnasium.make` puts around every environment, and its vector environments: one call of
the outermost of them is one step. What a step gives is only counted; the numbers in it are looked at every now and
then."""

from __future__ import annotations

import functools
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.live.rl import stepping
from traindx.live.rl.frames import Variables, running
from traindx.live.rl.part import here
from traindx.live.rl.schedule import Schedule
from traindx.measurements import ActionBounds, EpisodeEnds, StoredEnds, StoredRewards

PACKAGES = ("gymnasium", "gym")  # the older one has the same places
PLACES = (
    ("wrappers", "TimeLimit"), ("wrappers", "OrderEnforcing"), ("vector", "SyncVectorEnv"),
    ("vector", "AsyncVectorEnv"),
)  # fmt: skip
EVERY_STEP = 2000  # steps that are looked at one by one,
STRIDE = 13  # and of later ones one in so many
COUNTED_SECONDS = 0.6e-6  # what it takes to count a step (measured, CPython 3.11)
MANY = 64  # different rewards that are kept apart
LAST = 50  # episodes
TEN = 10  # episodes whose mean is a level
MOST_ACTIONS = 4096
NEWEST = 500  # numbers of actions, for how far the policy reaches now
HALF = 0.5
NEAR = 0.05  # of the farthest action: so near to it is there
EDGE = 0.01  # of half the range: so near to a bound is at it


class _Watched:
    """All environments of one kind."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.moves = 0  # steps, of each of several environments that step together
        self.steps = self.episodes = self.terminated = self.truncated = self.looked = self.longest = 0
        self.open: dict[int, list[float]] = {}  # environment → sum of rewards and steps of its episode
        self.last: deque[tuple[float, int]] = deque(maxlen=LAST)
        self.first: list[float] = []
        self.best = float("-inf")
        self.low, self.high, self.size = float("inf"), float("-inf"), 0.0
        self.actions: list[int] = []
        self.kinds = 0
        self.numbers = self.outside = self.at_bound = 0
        self.sum = self.squares = 0.0
        self.width = 0.0
        self.step, self.ended, self.total, self.lengths = -1, 0, 0.0, 0  # of the episodes that ended at this update
        self.newest: deque[float] = deque(maxlen=NEWEST)  # numbers of actions, of half the range


class Environments(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._watched: dict[str, _Watched] = {}
        self._within = False
        self._failed = False
        self._looks = 0
        self._same = self._negated = self._opposed = self._compared = 0.0
        self._signs = 0  # rewards whose sign was compared
        self._flags: dict[str, list[int]] = {}  # variable → looks, numbers, ends among them
        self._schedule = Schedule(hub)

    def attach(self) -> None:
        stepping.reset()
        for package in PACKAGES:
            self.hub.after_import(package, partial(self._patch, package))

    def _patch(self, package: str) -> None:
        if self.hub.ended:
            return
        for module, name in PLACES:
            loaded = sys.modules.get(f"{package}.{module}")
            kind = getattr(loaded, name, None)
            if kind is not None:
                self.hub.patch(kind, "step", self._around_step)
        base, wrapper = (getattr(sys.modules[package], name, None) for name in ("Env", "Wrapper"))
        if base is not None and wrapper is not None:
            self.hub.patch(base, "reset", partial(self._around_reset, wrapper))

    def _around_reset(self, wrapper: type, original: Callable[..., Any]) -> Callable[..., Any]:
        """An environment that a script makes itself, without the wrappers of `make`, resets itself by way of this."""
        hub = self.hub
        met: set[type] = set()

        @functools.wraps(original)
        def reset(env: Any, *args: Any, **kwargs: Any) -> Any:
            kind = type(env)
            if kind not in met and not self._failed and not hub.ended:
                met.add(kind)
                if "step" in vars(kind) and not issubclass(kind, wrapper) and not _pickled_whole(kind):
                    hub.patch(kind, "step", self._around_step)
            return original(env, *args, **kwargs)

        return reset

    def _around_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        hub = self.hub

        def step(env: Any, *args: Any, **kwargs: Any) -> Any:
            if self._within or self._failed or hub.ended:
                return original(env, *args, **kwargs)
            self._within = True
            try:
                result = original(env, *args, **kwargs)
            finally:
                self._within = False
            try:
                self._count(env, args[0] if args else kwargs.get("action", kwargs.get("actions")), result)
            except Exception as error:  # a fault of ours must not reach the training
                self._failed = True
                hub.warn(f"environments are not watched any more ({type(error).__name__}: {error})")
            return result

        return step

    def _count(self, env: Any, action: Any, result: Any) -> None:
        name = type(env.unwrapped).__name__ if hasattr(env, "unwrapped") else type(env).__name__
        seen = self._watched.get(name)
        if seen is None:
            seen = self._watched[name] = _Watched(name)
        observation, reward, terminated, truncated = _five(result)
        seen.steps += 1
        stepping.all_steps().count += 1
        if hasattr(terminated, "__len__"):
            for index in range(len(terminated)):
                self._add(seen, hash((id(env), index)), float(reward[index]), terminated[index], truncated[index])
        else:
            self._add(seen, id(env), float(reward), terminated, truncated)
        if seen.steps <= EVERY_STEP or seen.steps % STRIDE == 0:
            began = time.perf_counter()
            _look(seen, env, observation, action, reward)
            self.hub.spend(time.perf_counter() - began)
        if seen.steps % 256 == 0:
            self.hub.spend(256 * COUNTED_SECONDS)

    def _add(self, seen: _Watched, key: int, reward: float, terminated: Any, truncated: Any) -> None:
        episode = seen.open.get(key)
        if episode is None:
            episode = seen.open[key] = [0.0, 0]
        episode[0] += reward
        episode[1] += 1
        seen.moves += 1
        if not (terminated or truncated):
            return
        del seen.open[key]
        seen.episodes += 1
        seen.terminated += bool(terminated)
        seen.truncated += bool(truncated) and not bool(terminated)
        total, steps = episode[0], int(episode[1])
        seen.longest = max(seen.longest, steps)
        seen.last.append((total, steps))
        if len(seen.first) < TEN:
            seen.first.append(total)
        if len(seen.last) >= TEN:
            seen.best = max(seen.best, sum(one for one, _ in list(seen.last)[-TEN:]) / TEN)
        if seen.step != self.hub.step:
            seen.step, seen.ended, seen.total, seen.lengths = self.hub.step, 0, 0.0, 0
        seen.ended += 1
        seen.total += total
        seen.lengths += steps
        self.hub.record("episode_return", seen.total / seen.ended)  # one value an update: what was there is replaced
        self.hub.record("episode_length", seen.lengths / seen.ended)
        if self.hub.step and seen.episodes % TEN == 0:
            self._measure(seen)

    def on_backward(self, loss: torch.Tensor) -> None:
        if not self._watched or not stepping.all_steps().rewards or not self._schedule.due(loss):
            return
        self._schedule.looked()
        found = running()
        self._look_at_flags(found)
        pair = next(((name, one) for name, one in found.all("reward") if not one.requires_grad), None)
        given = stepping.all_steps().rewards
        if pair is None:
            return
        values = here(pair[1]).reshape(-1)[:MOST_ACTIONS].tolist()
        rounded = [round(value, 4) for value in values] if len(given) <= MANY else []
        sign = self._only_sign()
        self._looks += 1
        self._compared += len(values)
        self._same += sum(value in given for value in rounded)
        self._negated += sum(value not in given and -value in given for value in rounded)
        if len(values) > 1:  # a single number called R may be a return less its mean
            self._signs += len(values)
            self._opposed += sum(value * sign < 0 for value in values)
        self.hub.measure(
            StoredRewards(
                looks=self._looks, values=int(self._compared), same=self._same / self._compared,
                negated=self._negated / self._compared, opposed=self._opposed / max(1, self._signs), where=pair[0],
            )
        )  # fmt: skip

    def _only_sign(self) -> int:
        """Of the rewards that the environments gave; 0 where they have both, or none."""
        low = min((one.low for one in self._watched.values()), default=0.0)
        high = max((one.high for one in self._watched.values()), default=0.0)
        return 1 if low >= 0 < high else -1 if high <= 0 > low else 0

    def _look_at_flags(self, found: Variables) -> None:
        """How many steps the script takes for the last of an episode."""
        moves = sum(one.moves for one in self._watched.values())
        for name, flags in found.all("done"):
            # a buffer with more room than there were steps holds zeros that say nothing
            if flags.requires_grad or not 2 <= flags.numel() <= moves:
                continue
            sums = self._flags.setdefault(name, [0, 0, 0])
            ends = int((here(flags) > HALF).sum())
            for index, value in enumerate((1, flags.numel(), min(ends, flags.numel() - ends))):
                sums[index] += value  # of masks, which are 0 at an end, the rarer value counts as well
        if not self._flags:
            return
        name, (looks, numbers, ends) = max(self._flags.items(), key=lambda pair: pair[1][2] / pair[1][1])
        self.hub.measure(
            StoredEnds(
                looks=looks, values=numbers, ends=ends, steps=moves,
                terminated=sum(one.terminated for one in self._watched.values()), where=name,
            )
        )  # fmt: skip

    def on_end(self) -> None:
        if self.hub.step:
            for seen in self._watched.values():
                self._measure(seen)

    def _measure(self, seen: _Watched) -> None:
        last = list(seen.last)
        running_longest = max((int(one[1]) for one in seen.open.values()), default=0)
        self.hub.measure(
            EpisodeEnds(
                steps=seen.steps, episodes=seen.episodes, terminated=seen.terminated, truncated=seen.truncated,
                length=sum(steps for _, steps in last) / max(1, len(last)),
                returns=sum(total for total, _ in last) / max(1, len(last)),
                first_returns=sum(seen.first) / max(1, len(seen.first)),
                best_returns=seen.best if len(last) >= TEN else max(seen.first, default=0.0),
                reward_low=seen.low, reward_high=seen.high, observation=seen.size,
                observations=stepping.observations(), looked=seen.looked,
                longest=max(seen.longest, running_longest), where=seen.name,
            )
        )  # fmt: skip
        if not seen.looked:
            return
        early = seen.actions[: max(1, len(seen.actions) // 4)]
        counts = Counter(early)
        repeated = sum(a == b for a, b in zip(seen.actions, seen.actions[1:], strict=False))
        variance = max(0.0, seen.squares / max(1, seen.numbers) - (seen.sum / max(1, seen.numbers)) ** 2)
        reach = max(map(abs, seen.newest), default=0.0)
        sides = [sum(one * side >= reach * (1 - NEAR) for one in seen.newest) for side in (1, -1)]
        self.hub.measure(
            ActionBounds(
                looked=seen.looked, kinds=seen.kinds,
                commonest=max(counts.values(), default=0) / max(1, len(early)), distinct=len(counts),
                outside=seen.outside / max(1, seen.numbers), at_bound=seen.at_bound / max(1, seen.numbers),
                std=variance**0.5 / seen.width if seen.width else 0.0, width=seen.width,
                repeated=repeated / max(1, len(seen.actions) - 1), reach=reach,
                at_reach=2 * min(sides) / max(1, len(seen.newest)),
                newest=len(seen.newest), where=seen.name,
            )
        )  # fmt: skip


def _pickled_whole(kind: type) -> bool:
    """Whether cloudpickle takes the class itself to other processes, with what stands in the place of its methods,
    instead of its name."""
    return kind.__module__ in ("__main__", "__mp_main__") or "<locals>" in kind.__qualname__


def _five(result: Any) -> tuple[Any, Any, Any, Any]:
    """What a step gave; before gym 0.26 one flag said that an episode ended, and the time limit stood beside it."""
    if len(result) == 5:
        return result[0], result[1], result[2], result[3]
    observation, reward, done, info = result
    cut = isinstance(info, dict) and bool(info.get("TimeLimit.truncated"))
    if hasattr(done, "__len__"):  # several environments: which of them ran out of time stands in each one's own notes
        return observation, reward, done, [False] * len(done)
    return observation, reward, done and not cut, cut


def _look(seen: _Watched, env: Any, observation: Any, action: Any, reward: Any) -> None:
    """The numbers of one step."""
    seen.looked += 1
    steps = stepping.all_steps()
    rewards = [float(one) for one in reward] if hasattr(reward, "__len__") else [float(reward)]
    seen.low, seen.high = min(seen.low, *rewards), max(seen.high, *rewards)
    if len(steps.rewards) <= MANY:
        for one in rewards:
            steps.rewards[round(one, 4)] = 1
    if hasattr(observation, "tobytes") and observation.dtype.kind in "fiu":
        seen.size = max(seen.size, float(abs(observation).max()) if observation.size else 0.0)
        if len(steps.marks) < stepping.MOST_MARKS:
            steps.marks.add(hash(observation.tobytes()))
    elif isinstance(observation, int) or hasattr(observation, "item"):
        steps.marks.add(int(observation))
    # not asked of the environment: a wrapper of gymnasium 0.29 warns of what it passes on
    space = vars(env).get("single_action_space") or getattr(env, "action_space", None)
    kinds = getattr(space, "n", None)
    if kinds is not None:
        seen.kinds = int(kinds)
        if len(seen.actions) < MOST_ACTIONS:
            taken = action.reshape(-1).tolist() if hasattr(action, "reshape") else [action]
            seen.actions += [int(one) for one in taken]
    elif hasattr(space, "low") and hasattr(action, "__sub__") and hasattr(action, "shape"):
        _look_at_numbers(seen, space, action)


def _look_at_numbers(seen: _Watched, space: Any, action: Any) -> None:
    low, high = float(space.low.min()), float(space.high.max())
    if not (abs(low) < 1e6 and abs(high) < 1e6 and high > low):
        return
    middle, seen.width = (low + high) / 2, (high - low) / 2
    alike = float(space.low.max()) == low and float(space.high.min()) == high
    given = action.detach().cpu().numpy() if hasattr(action, "detach") else action
    for value in (given.reshape(-1)[:MOST_ACTIONS] - middle).tolist():
        seen.numbers += 1
        seen.outside += abs(value) > seen.width * (1 + 1e-6)
        seen.at_bound += abs(value) >= seen.width * (1 - EDGE)
        seen.sum += value
        seen.squares += value * value
        if alike:
            seen.newest.append(value / seen.width)


OBSERVER = Environments
