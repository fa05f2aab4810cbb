"""Another optimiser: 'adamw', 'sgd', …; at its usual rate where the script's means something else to it."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.trials.optimizers import USUAL_RATE, chosen, rate_for, takes
from traindx.trials.setting import Setting
from traindx.trials.treatment import Treatment


class Another(Treatment):
    """The names of torch's optimisers stand for the wanted one: what the script makes is that, and an instance of what
    it asked for."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._new = chosen(setting.value)

    def attach(self) -> None:
        for old in USUAL_RATE:
            original = getattr(torch.optim, old, None)
            if original is not None and old != self._new:
                setattr(torch.optim, old, self._in_place_of(old))
                self.hub.patches.add(partial(setattr, torch.optim, old, original))

    def _in_place_of(self, old: str) -> type[Optimizer]:
        new, treatment = self._new, self
        base: type[Any] = getattr(torch.optim, new)

        class Instead(base):  # type: ignore[misc]
            def __init__(self, params: Any, lr: Any = None, **options: Any) -> None:
                treatment.acted += 1
                rate = rate_for(old, new)
                given = rate if rate is not None else lr
                kept = {name: value for name, value in options.items() if takes(new, name)}
                groups = list(params)
                if groups and isinstance(groups[0], dict):
                    groups = [
                        {k: v for k, v in one.items() if takes(new, k) and (rate is None or k != "lr")}
                        for one in groups
                    ]
                super().__init__(groups, **({} if given is None else {"lr": given}), **kept)

        Instead.__name__ = Instead.__qualname__ = new
        return Instead


TREATMENT = Another
