"""Nothing but other random numbers: what such a trial shows is chance."""

from __future__ import annotations

import torch

from traindx.trials.treatment import Treatment


class Nothing(Treatment):
    """For trials of the trials themselves: the training stays as it is, its random numbers are others."""

    def before_recorder(self) -> None:
        self.before_step(lambda optimizer: self._draw())

    def _draw(self) -> None:
        if not self.acted:
            torch.rand(int(self.setting.number_or(1.0)))
        self.acted += 1


TREATMENT = Nothing
