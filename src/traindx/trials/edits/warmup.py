"""A linear warm-up after the optimiser, stepped with every update."""

from __future__ import annotations

import libcst as cst

from traindx.trials.editing import Evidence
from traindx.trials.schedules import with_schedule
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    steps = int(setting.number(1.0))
    return with_schedule(
        module, f"torch.optim.lr_scheduler.LinearLR({{optimizer}}, start_factor={1 / steps:.3g}, total_iters={steps})"
    )
