"""The momentum of SGD, or the first beta of Adam."""

from __future__ import annotations

from typing import Any

from traindx.trials.groups import GroupTreatment


class Momentum(GroupTreatment):
    def change(self, group: dict[str, Any]) -> bool:
        if "momentum" in group:
            group["momentum"] = self.setting.number(group["momentum"])
        elif "betas" in group:
            group["betas"] = (self.setting.number(group["betas"][0]), *group["betas"][1:])
        return "momentum" in group or "betas" in group


TREATMENT = Momentum
