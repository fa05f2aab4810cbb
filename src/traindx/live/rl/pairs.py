"""Pairs of a chosen and a rejected answer: margins, identical pairs, and a reference that is the policy itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from traindx.live.rl.frames import Variables
from traindx.live.rl.margins import Margin, same_margin
from traindx.live.rl.part import Part, graded, here
from traindx.live.rl.relations import correlation
from traindx.live.rl.rollouts import Use
from traindx.live.rl.tracking import Track
from traindx.measurements import PreferencePairs

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub

FIRST_LOOKS = 3  # at which the model is still the one that training began from
SIDES = (("chosen_logprob", "rejected_logprob"), ("chosen_reward", "rejected_reward"))


class Pairs(Part):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._pairs = self._identical = self._copies = self._on_reference = 0
        self._margin, self._right, self._chosen = Track(), Track(), Track()
        self._longer, self._length, self._likelier = Track(), Track(), Track()

    def look(self, loss: torch.Tensor, found: Variables, where: str, use: Use) -> str:
        sides = next((pair for names in SIDES if (pair := _sides(found, *names)) is not None), None)
        sides_are_logprobs = _sides(found, *SIDES[0]) is not None
        if sides is None:
            return ""
        chosen, rejected = sides
        self._pairs += len(chosen)
        self._identical += int((chosen == rejected).sum())
        margin = chosen - rejected
        reference = [_plain(found, f"ref_{role}", chosen) for role in SIDES[0]]
        if found.margin is not None:
            margin = self._compared(found.margin, margin)
        elif reference[0] is not None and reference[1] is not None:
            self._compare((chosen == reference[0]) & (rejected == reference[1]))
            margin = margin - (reference[0] - reference[1])
        if sides_are_logprobs and self._likelier.count < FIRST_LOOKS:
            self._likelier.add(float((chosen > rejected).float().mean()))
        self._margin.add(float(margin.mean()))
        self._right.add(float((margin > 0).float().mean()))
        self._chosen.add(float(chosen.mean()))
        self._take_lengths(found, margin)
        self._measure(found, where)
        return ""

    def _compared(self, seen: Margin, margin: torch.Tensor) -> torch.Tensor:
        """The margin less the reference's, by the graph."""
        if seen.apart is None:
            return margin
        self._compare(same_margin(seen))
        return margin - seen.apart

    def _compare(self, same: torch.Tensor) -> None:
        """Before the first update policy and reference are equal by design."""
        if self.hub.step:
            self._copies += len(same)
            self._on_reference += int(same.sum())

    def _take_lengths(self, found: Variables, margin: torch.Tensor) -> None:
        """A mask over both halves of a batch, chosen answers first, as pairs are usually laid out."""
        tables = (*(one for _, one in found.all("mask")), *found.ids)
        mask = next((one for one in tables if one.dim() == 2 and len(one) == 2 * len(margin) and _is_mask(one)), None)
        if mask is None:
            return
        lengths = here(mask).sum(1)
        apart = lengths[: len(margin)] - lengths[len(margin) :]
        self._longer.add(float((apart > 0).float().mean()))
        follows = correlation(margin, apart)
        if follows is not None:
            self._length.add(follows)

    def _measure(self, found: Variables, where: str) -> None:
        margin = self._margin
        self.hub.record("reward_margin", margin.values[-1])
        self.hub.measure(
            PreferencePairs(
                looks=margin.count, pairs=self._pairs, identical=self._identical, margin=margin.last,
                first_margin=margin.first, right=self._right.last, later=self._copies, on_reference=self._on_reference,
                beta=found.setting("beta"), chosen=self._chosen.last, first_chosen=self._chosen.first,
                longer=self._longer.mean if self._longer.count else None,
                length=self._length.late if self._length.count else None,
                likelier=self._likelier.mean if self._likelier.count else None, where=where,
            )
        )  # fmt: skip


def _sides(found: Variables, chosen: str, rejected: str) -> tuple[torch.Tensor, torch.Tensor] | None:
    first, second = graded(found, chosen), graded(found, rejected)
    if first is None or second is None or first[1].numel() != second[1].numel():
        return None
    return here(first[1]).reshape(-1), here(second[1]).reshape(-1)


def _is_mask(table: torch.Tensor) -> bool:
    """Ones and zeros, as the attention mask of a batch is."""
    values = here(table)
    return bool(((values == 0) | (values == 1)).all())


def _plain(found: Variables, role: str, like: torch.Tensor) -> torch.Tensor | None:
    """The reference's log-probabilities. A reference that is the policy itself may have kept its graph."""
    return next((here(one).reshape(-1) for _, one in found.all(role) if one.numel() == like.numel()), None)
