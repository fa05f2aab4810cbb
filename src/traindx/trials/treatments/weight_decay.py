"""The weight decay: a number, or 'x0.01' to scale it."""

from __future__ import annotations

from typing import Any

from traindx.trials.groups import GroupTreatment


class WeightDecay(GroupTreatment):
    def change(self, group: dict[str, Any]) -> bool:
        if "weight_decay" not in group or (self.setting.scales and not group["weight_decay"]):
            return False
        group["weight_decay"] = self.setting.number(group["weight_decay"])
        return True


TREATMENT = WeightDecay
