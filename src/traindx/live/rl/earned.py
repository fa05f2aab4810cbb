"""What a policy earned: rewards in their groups, advantages, lengths of answers, entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from traindx.live.rl import stepping
from traindx.live.rl.answers import Answers
from traindx.live.rl.frames import Variables
from traindx.live.rl.part import Part, counted, graded, here, plain
from traindx.live.rl.relations import correlation
from traindx.live.rl.rollouts import Use
from traindx.live.rl.tracking import Track
from traindx.measurements import AdvantageSpread, AnswerLengths, PolicyEntropy, RewardGroups

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub

MIN_VALUES = 8  # from which a share of a variance can be told
SAME = 1e-8  # spread of a group whose rewards are one number
CENTRED = 1e-3  # of their spread: a mean that was subtracted, but for rounding and an epsilon
OFF = 0.05  # of their spread: a mean that was not


class Earned(Part):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._mean, self._std = Track(), Track()  # of advantages
        self._zero = self._one_sign = 0
        self._reward, self._within = Track(), Track()
        self._length, self._advantage = Track(), Track()  # correlations with a reward
        self._groups = self._same = self._constant = self._crossed = 0
        self._lengths, self._at_longest = Track(), Track()
        self._longest = 0
        self._entropy = Track()
        self._answers = Answers(hub)

    def look(self, loss: torch.Tensor, found: Variables, where: str, use: Use) -> str:
        advantage = _weighing(found)
        if advantage is not None:
            self._take_advantages(*advantage)
        lengths = self._take_lengths(found)
        if found.first("done") is None and not stepping.steps():  # of whole answers, not of steps in an episode
            self._take_rewards(found, lengths)
        self._take_entropy(found)
        self._take_values(found)
        return ""

    def _take_values(self, found: Variables) -> None:
        """How much of the returns the values explain, where both stand beside each other."""
        value = graded(found, "value")
        returns = plain(found, value[1], "return") if value is not None else None
        if value is None or returns is None or value[1].numel() < MIN_VALUES:
            return
        given, earned = here(value[1]).reshape(-1), here(returns[1]).reshape(-1)
        spread = float(earned.var())
        if spread > 0:
            self.hub.record("explained_variance", 1 - float((earned - given).var()) / spread)

    def _take_advantages(self, name: str, advantage: torch.Tensor) -> None:
        values = here(advantage).reshape(-1)
        std = float(values.std())
        self._mean.add(float(values.mean()))
        self._std.add(std)
        self._zero += std <= SAME
        self._one_sign += bool((values > 0).all() or (values < 0).all())
        self.hub.measure(
            AdvantageSpread(
                looks=self._std.count, mean=self._mean.mean, std=self._std.mean, largest_std=self._std.high,
                zero=self._zero, one_sign=self._one_sign, where=name,
            )
        )  # fmt: skip

    def _take_lengths(self, found: Variables) -> torch.Tensor | None:
        pair = next(((name, one) for name, one in found.all("mask") if one.dim() == 2), None)
        if pair is None:
            return None
        lengths = here(pair[1]).sum(1)
        longest = int(lengths.max())
        self._longest = max(self._longest, longest)
        self._lengths.add(float(lengths.mean()))
        self._at_longest.add(float((lengths >= self._longest).float().mean()))
        self.hub.record("completion_length", self._lengths.values[-1])
        limit = found.setting("limit")
        self.hub.measure(
            AnswerLengths(
                looks=self._lengths.count, mean=self._lengths.late, first_mean=self._lengths.early,
                longest=self._longest, at_longest=self._at_longest.late, limit=int(limit) if limit else 0,
                where=pair[0],
            )
        )  # fmt: skip
        return lengths

    def _take_rewards(self, found: Variables, lengths: torch.Tensor | None) -> None:
        pair = next(
            ((name, one) for name, one in found.all("reward") if one.numel() > 1 and not one.requires_grad), None
        )
        if pair is None:
            return
        rewards = here(pair[1])
        alike = [here(one) for _, one in found.all("return") if one.numel() == pair[1].numel()]
        views = [one for one in alike if torch.equal(one.reshape(-1).to(rewards), rewards.reshape(-1))]
        if len(views) < len(alike):
            return  # rewards of single steps
        # rewards by another name and in rows: one row is what one prompt earned
        rewards = next((one for one in views if one.dim() == 2), rewards)
        size = _group_size(rewards, found)
        groups = rewards.reshape(-1, size) if size else rewards.reshape(1, -1)
        spread = groups.std(1)
        self._groups += len(groups)
        self._same += int((spread <= SAME).sum())
        self._constant += float(rewards.max()) == float(rewards.min())
        self._reward.add(float(rewards.mean()))
        self._within.add(float(spread.mean()))
        flat = rewards.reshape(-1)
        if lengths is not None and lengths.numel() == flat.numel():
            follows = correlation(flat, lengths)
            if follows is not None:
                self._length.add(follows)
        self._answers.look(flat, found, pair[0])
        advantage = next((one for _, one in found.all("advantage") if one.numel() == flat.numel()), None)
        if advantage is not None:
            centred = groups - groups.mean(1, keepdim=True)
            follows = correlation(centred, here(advantage))
            if follows is not None:
                self._advantage.add(follows)
            self._crossed += _is_crossed(here(advantage).reshape(groups.shape))
        self.hub.record("reward", self._reward.values[-1])
        self.hub.record("reward_std", self._within.values[-1])
        self.hub.measure(
            RewardGroups(
                looks=self._reward.count, groups=self._groups, same=self._same, size=size, mean=self._reward.late,
                first_mean=self._reward.early, std=self._within.mean,
                length=self._length.mean if self._length.count else None,
                advantage=self._advantage.mean if self._advantage.count else None, constant=self._constant,
                crossed=self._crossed, where=pair[0],
            )
        )  # fmt: skip

    def _take_entropy(self, found: Variables) -> None:
        pair = next(
            ((name, one) for name, one in found.all("entropy") if one.is_floating_point() and one.numel()), None
        )
        if pair is None:
            return
        value = float(counted(pair[1], found).mean())
        self._entropy.add(value)
        self.hub.record("entropy", value)
        track = self._entropy
        self.hub.measure(
            PolicyEntropy(
                looks=track.count, first=track.first, last=track.last, lowest=track.low, early=track.early,
                where=pair[0],
            )
        )  # fmt: skip


def _weighing(found: Variables) -> tuple[str, torch.Tensor] | None:
    """The advantages of the rows of this loss; of several the least spread, since they may be normalised on the way."""
    acted = graded(found, "ratio", "logprob")
    sizes = {acted[1].numel(), len(acted[1]) if acted[1].dim() else 1} if acted is not None else set()
    fitting = [(name, one) for name, one in found.all("advantage") if one.numel() > 1 and one.numel() in sizes]
    return min(fitting, key=lambda pair: float(here(pair[1]).std()), default=None)


def _is_crossed(advantages: torch.Tensor) -> bool:
    """Whether the mean that was subtracted is that of answers to different prompts at one place of their groups."""
    spread = float(advantages.std())
    if len(advantages) < 2 or not spread:
        return False
    across, within = (float(advantages.mean(axis).abs().max()) / spread for axis in (0, 1))
    return across <= CENTRED and within >= OFF


def _group_size(rewards: torch.Tensor, found: Variables) -> int:
    """Answers of one prompt: by a setting of the script, else by the shape of the rewards; 0 where neither tells."""
    reported = found.setting("group")
    if reported is not None and reported >= 2 and rewards.numel() % int(reported) == 0 and reported == int(reported):
        return int(reported)
    return rewards.shape[1] if rewards.dim() == 2 and rewards.shape[1] > 1 else 0
