"""No half precision: casts to it go, autocast is switched off."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_HALF = frozenset({"bfloat16", "float16", "half"})


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    changed = syntax.rewrite_calls(module, _whole)
    if changed is None:
        return None
    return syntax.removed(changed, _idle) or changed


def _whole(call: cst.Call) -> cst.BaseExpression | None:
    name = syntax.called(call)
    if name == "autocast" and call.args and syntax.argument(call, "enabled") is None:
        return syntax.with_argument(call, "enabled", cst.Name("False"))
    if not isinstance(call.func, cst.Attribute):
        return None
    if name in ("half", "bfloat16") and not call.args:
        return call.func.value
    if name == "to" and len(call.args) == 1 and syntax.last_name(call.args[0].value) in _HALF:
        return call.func.value
    return None


def _idle(line: cst.SimpleStatementLine) -> bool:
    """`model = model` is what is left of a cast, or just `model`."""
    for part in line.body:
        if isinstance(part, cst.Assign) and len(part.targets) == 1 and isinstance(part.value, cst.Name):
            return part.targets[0].target.deep_equals(part.value)
        if m.matches(part, m.Expr(m.Name())):
            return True
    return False
