"""How many different transitions the batches of a value loss hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from traindx.live.rl import stepping
from traindx.live.rl.by_graph import inputs_of
from traindx.live.rl.frames import Variables
from traindx.live.rl.part import here
from traindx.measurements import ReplayVariety

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub

WORDS = ("obs", "observation", "observations", "state", "states", "s", "x")
MOST_KEPT = 20_000  # fingerprints of transitions
MIN_BATCH = 8


class Transitions:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._seen: set[int] = set()
        self._rows = self._looks = 0
        self._shares = 0.0

    def look(self, found: Variables, loss: torch.Tensor) -> None:
        """By what networks were given, where no variable is called an observation."""
        reward = next((one for _, one in found.all("reward") if one.numel() >= MIN_BATCH), None)
        if reward is None or found.first("advantage") is not None or len(self._seen) > MOST_KEPT:
            return
        if not any(one.numel() == reward.numel() for _, one in found.all("done", "next_value")):
            return
        rows = reward.numel()
        columns = [
            (name, one) for name, one in found.others
            if one.dim() >= 2 and len(one) == rows and not one.requires_grad and set(_words(name)) & set(WORDS)
        ]  # fmt: skip
        columns = columns or [("the network's input", one) for one in inputs_of(loss) if len(one) == rows]
        if not columns:
            return
        table = torch.cat([here(one).reshape(rows, -1) for _, one in columns[:2]] + [here(reward).reshape(rows, 1)], 1)
        marks = [hash(row.tobytes()) for row in table.float().numpy()]
        self._seen.update(marks)
        self._looks += 1
        self._rows += rows
        self._shares += len(set(marks)) / rows
        self._hub.measure(
            ReplayVariety(
                looks=self._looks, rows=self._rows, distinct=len(self._seen), batch=rows,
                batch_distinct=self._shares / self._looks, met=stepping.observations(), stepped=stepping.steps(),
                where=columns[0][0],
            )
        )  # fmt: skip


def _words(name: str) -> list[str]:
    return [word for word in name.lower().split("_") if word]
