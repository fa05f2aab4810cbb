"""`.clamp(min=…)` on what the logarithm is given that made infinity or NaN."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

DEFAULT_FLOOR = 1e-7


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """Those on the line that the recording names; without one, all of them where they stand on one line."""
    logs = [call for call in syntax.calls_in(module) if syntax.logarithm_of(call) is not None]
    lines = syntax.lines_of(module, logs)
    named = evidence.near("log-of-zero", "nan-from-log")
    by_line = [[call for call in logs if lines.get(call) == line] for line in named] if named else [logs]
    here = next(filter(None, by_line), [])
    if len({lines.get(call) for call in here}) != 1:
        return None
    least = syntax.number(setting.number_or(DEFAULT_FLOOR))

    def change(call: cst.Call) -> cst.Call | None:
        value = syntax.logarithm_of(call)
        if value is None or not any(call.deep_equals(one) for one in here):
            return None
        if syntax.called(value) in ("clamp", "clamp_min"):
            return None
        clamped = syntax.method(value, "clamp", syntax.keyword("min", least))
        if call.args:
            return call.with_changes(args=[call.args[0].with_changes(value=clamped)])
        assert isinstance(call.func, cst.Attribute)
        return call.with_changes(func=call.func.with_changes(value=clamped))

    return syntax.rewrite_calls(module, change)
