"""`optimizer.zero_grad()` before each `backward()`."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    stepped = {
        syntax.dotted(call.func.value)
        for call in syntax.calls_in(module)
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "step" and not call.args
    }
    owners = sorted(name for name in stepped if "sched" not in name.lower() and "scaler" not in name.lower() and name)
    cleared = [call for call in syntax.calls_in(module) if syntax.called(call) == "zero_grad"]
    if len(owners) != 1 or cleared:
        return None

    def is_backward(line: cst.SimpleStatementLine) -> bool:
        return any(syntax.called(call) == "backward" for call in syntax.calls_in(line))

    return syntax.insert(module, is_backward, before=[f"{owners[0]}.zero_grad()"])
