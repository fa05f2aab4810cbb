"""A cosine decay after the optimiser, stepped with every update."""

from __future__ import annotations

import libcst as cst

from traindx.trials.editing import Evidence
from traindx.trials.schedules import with_schedule
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    return with_schedule(
        module, f"torch.optim.lr_scheduler.CosineAnnealingLR({{optimizer}}, T_max={int(setting.number(1.0))})"
    )
