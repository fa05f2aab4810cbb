"""The weight decay of the optimiser."""

from __future__ import annotations

import libcst as cst

from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting
from traindx.trials.trainer_arguments import in_arguments
from traindx.trials.values import set_optimizer_argument


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    return set_optimizer_argument(module, "weight_decay", setting) or in_arguments(module, ("weight_decay",), setting)
