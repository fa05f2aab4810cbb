"""Keep the learning rate at the highest it has been, however the script lowers it."""

from __future__ import annotations

from torch.optim import Optimizer

from traindx.trials.rates import RateTreatment


class HoldLr(RateTreatment):
    def before_recorder(self) -> None:
        super().before_recorder()
        self._peaks: dict[int, float] = {}

    def factor(self, optimizer: Optimizer, group: dict[str, object], step: int) -> float:
        rate = float(group["lr"])  # type: ignore[arg-type]
        first = id(group["params"][0])  # type: ignore[index]
        self._peaks[first] = max(rate, self._peaks.get(first, 0.0))
        return self._peaks[first] / rate if rate > 0 else 1.0


TREATMENT = HoldLr
