"""When a loop that optimises a policy is looked at: its first deep steps, and two updates in a row every so often
later, whatever the budget for whole deep steps has left. One such look takes about a millisecond."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from traindx.live.events.hub import Hub

EVERY_DEEP = 24  # looks that are had on every deep step
FIRST_PAIR = 4  # step of the first pair of later looks,
GROWTH = 0.3  # and how much later than a pair, by its step, the next one comes
IDLE = 12  # looks without any sign of such an objective, after which nobody looks any more


class Schedule:
    """`looks` were had so far, `idle` in vain."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.looks = self.idle = 0
        self._next = FIRST_PAIR
        self._paired = -1

    @property
    def resigned(self) -> bool:
        return not self.looks and self.idle >= IDLE

    def due(self, loss: torch.Tensor) -> bool:
        """Whether to look now. Devices are waited for on deep steps only."""
        hub = self._hub
        if self.resigned or (not hub.deep and not loss.is_cpu):
            return False
        return self.wants(hub.step) or (hub.deep and self.looks < EVERY_DEEP)

    def wants(self, step: int) -> bool:
        """Whether a look outside deep steps is due at this step."""
        return bool(self.looks) and (step >= self._next or step == self._paired)

    def looked(self) -> None:
        self.looks += 1
        step = self._hub.step
        if step >= self._next and step != self._paired:
            self._paired = step + 1
            self._next = step + 2 + int(GROWTH * step)
