"""The momentum of SGD."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting
from traindx.trials.values import set_optimizer_argument


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    if any(syntax.is_optimizer(call) and syntax.called(call) != "SGD" for call in syntax.calls_in(module)):
        return None
    return set_optimizer_argument(module, "momentum", setting)
