"""Ratios of new to old probabilities, and how far sampler and reference are from the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from traindx.live.rl.frames import Variables
from traindx.live.rl.part import Part, counted, graded, here, plain
from traindx.live.rl.relations import correlation
from traindx.live.rl.rollouts import Use
from traindx.live.rl.tracking import Track
from traindx.measurements import KlToReference, RatioSpread, SamplerGap

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub

ONE = 1e-6  # how far rounding moves a ratio of 1
USUAL_CLIP = 0.2  # Schulman et al. 2017
FAR = (0.5, 2.0)
ROUNDING = 1e-3  # mean difference of log-probabilities from which two computations differ
MOST_LOG = 60.0  # of a ratio, so that its exponential is a number


class Ratios(Part):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._outside, self._far = Track(), Track()
        self._low, self._high = float("inf"), float("-inf")
        self._reused = self._pinned = self._fresh = 0
        self._gap, self._alike = Track(), Track()
        self._apart = 0
        self._distance = Track()
        self._same = self._copies = 0

    def look(self, loss: torch.Tensor, found: Variables, where: str, use: Use) -> str:
        logs = _log_ratio(found)
        if logs is not None:
            self._take_ratio(logs, found, where, use)
            if use == "fresh":
                self._take_gap(logs, found, where)
        self._take_reference(found)
        return ""

    def _take_ratio(self, logs: torch.Tensor, found: Variables, where: str, use: Use) -> None:
        ratio = logs.clamp(-MOST_LOG, MOST_LOG).exp()
        clip = found.setting("clip")
        clip = clip if clip is not None and 0 < clip < 1 else USUAL_CLIP
        self._outside.add(float(((ratio - 1).abs() > clip).float().mean()))
        self._far.add(float(((ratio < FAR[0]) | (ratio > FAR[1])).float().mean()))
        self._low, self._high = min(self._low, float(ratio.min())), max(self._high, float(ratio.max()))
        self._fresh += use == "fresh"
        if use == "reused":
            self._reused += 1
            self._pinned += bool(((ratio - 1).abs() <= ONE).all())
        self.hub.record("clip_fraction", self._outside.values[-1])
        self.hub.measure(
            RatioSpread(
                looks=self._outside.count, reused=self._reused, pinned=self._pinned, fresh=self._fresh,
                lowest=self._low, highest=self._high, outside=self._outside.mean, clip=clip, far=self._far.mean,
                first_outside=self._outside.halves[0], where=where,
            )
        )  # fmt: skip

    def _take_gap(self, logs: torch.Tensor, found: Variables, where: str) -> None:
        gap = float(logs.abs().mean())
        self._gap.add(gap)
        self._apart += gap > ROUNDING
        policy = graded(found, "logprob")
        old = plain(found, policy[1], "old_logprob", "logprob") if policy is not None else None
        alike = correlation(here(policy[1]), here(old[1])) if policy is not None and old is not None else None
        if alike is not None:
            self._alike.add(alike)
        first, second = self._gap.halves
        self.hub.measure(
            SamplerGap(
                looks=self._gap.count, apart=self._apart, typical=self._gap.mean, largest=self._gap.high,
                changes=second - first, correlation=self._alike.mean if self._alike.count else 1.0, where=where,
            )
        )  # fmt: skip

    def _take_reference(self, found: Variables) -> None:
        policy = graded(found, "logprob")
        if policy is None:
            return
        reference = next(((name, one) for name, one in found.all("ref_logprob") if one.shape == policy[1].shape), None)
        if reference is None:
            return
        apart = counted(here(policy[1]) - here(reference[1]), found)
        self._distance.add(float(apart.mean()))
        if self.hub.step:
            self._copies += 1
            self._same += not bool(apart.any())
        self.hub.record("kl_to_reference", self._distance.values[-1])
        self.hub.measure(
            KlToReference(
                looks=self._distance.count, mean=self._distance.last, largest=self._distance.high, same=self._same,
                later=self._copies, coefficient=found.setting("beta"), where=f"{policy[0]}, {reference[0]}",
            )
        )  # fmt: skip


def _log_ratio(found: Variables) -> torch.Tensor | None:
    """The logarithm of each ratio that counts."""
    ratio = graded(found, "ratio")
    if ratio is not None and bool((here(ratio[1]) > 0).all()):
        return counted(here(ratio[1]).log(), found)
    policy = graded(found, "logprob")
    if policy is None:
        return None
    old = next((one for _, one in found.all("old_logprob") if one.shape == policy[1].shape), None)
    return None if old is None else counted(here(policy[1]) - here(old), found)
