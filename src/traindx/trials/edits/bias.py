"""Biases that the script sets, at this value."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    def change(call: cst.Call) -> cst.Call | None:
        name = syntax.called(call)
        if name == "constant_" and call.args and syntax.last_name(call.args[0].value) == "bias":
            return syntax.with_argument(call, "val", syntax.number(setting.number(0.0)), 1)
        if name == "fill_" and isinstance(call.func, cst.Attribute) and ".bias" in f".{syntax.dotted(call.func.value)}":
            return call.with_changes(args=[call.args[0].with_changes(value=syntax.number(setting.number(0.0)))])
        return None

    return syntax.rewrite_calls(module, change)
