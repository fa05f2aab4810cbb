"""Texts that a policy wrote, beside what they earned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from traindx.live.rl.frames import Variables
from traindx.live.tokens.finding import find_vocabulary
from traindx.live.tokens.vocabulary import Vocabulary
from traindx.measurements import RewardedAnswer, RewardedAnswers

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub

KEPT = 6  # texts of a batch
MOST_TOKENS = 160  # of a text
SHOWN = (1, 8, 64, 512)  # looks of which a batch is kept
TRIES = 3  # batches in which a tokenizer is looked for


class Answers:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._looks = self._tries = 0
        self._vocabulary: Vocabulary | None = None

    def look(self, rewards: torch.Tensor, found: Variables, where: str) -> None:
        """One reward for each row of the widest table of tokens that fits."""
        tables = [one for one in found.ids if len(one) == len(rewards) and int(one.max()) > 1]
        if not tables:
            return
        self._looks += 1
        if self._looks not in SHOWN:
            return
        ids = _in_host(max(tables, key=lambda one: one.shape[1]))
        self._find(int(ids.max()))
        order = rewards.argsort(descending=True).tolist()
        step = max(1, (len(order) - 1) / max(1, KEPT - 1))
        chosen = list(dict.fromkeys(order[min(len(order) - 1, round(place * step))] for place in range(KEPT)))
        self._hub.measure(
            RewardedAnswers(
                answers=tuple(self._answer(ids[number].tolist(), float(rewards[number])) for number in chosen),
                total=len(order), private=self._hub.private, where=where,
            )
        )  # fmt: skip

    def _answer(self, ids: list[int], reward: float) -> RewardedAnswer:
        pad = self._vocabulary.pad if self._vocabulary is not None else None
        first, last = 0, len(ids)
        while last - first > 1 and ids[last - 1] == ids[last - 2] == pad:  # one may be the end itself
            last -= 1
        while last - first > 1 and ids[first] == pad:
            first += 1
        kept = ids[first:last]
        if self._hub.private or self._vocabulary is None:
            return RewardedAnswer("", len(kept), reward)
        return RewardedAnswer("".join(self._vocabulary.pieces(kept[:MOST_TOKENS])), len(kept), reward)

    def _find(self, largest: int) -> None:
        """By the size of the table of words of a model at hand."""
        if self._vocabulary is not None or self._tries >= TRIES or self._hub.private:
            return
        self._tries += 1
        sizes = {
            module.num_embeddings for model in self._hub.models.values() for module in model.modules()
            if isinstance(module, torch.nn.Embedding) and module.num_embeddings > largest
        }  # fmt: skip
        found = (find_vocabulary(size) for size in sorted(sizes, reverse=True))
        self._vocabulary = next((one for one in found if one is not None), None)


def _in_host(ids: torch.Tensor) -> torch.Tensor:
    """Whole numbers in host memory, which `here` would make fractions of."""
    return ids.detach() if ids.is_cpu else ids.detach().cpu()
