"""The probability of the dropout layers."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_LAYERS = frozenset({"Dropout", "Dropout1d", "Dropout2d", "Dropout3d"})


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    def change(call: cst.Call) -> cst.Call | None:
        given = syntax.argument(call, "p", 0) if syntax.called(call) in _LAYERS else None
        value = syntax.number_of(given.value) if given is not None else None
        if value is None:
            return None
        return syntax.with_argument(call, "p", syntax.number(setting.number(value)), 0)

    return syntax.rewrite_calls(module, change)
