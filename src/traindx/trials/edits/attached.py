"""The only `.detach()` of the forward passes, taken away."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_DETACH = m.Call(func=m.Attribute(attr=m.Name("detach")), args=[])


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    found = [
        call
        for function in m.findall(module, m.FunctionDef(name=m.Name("forward")))
        for call in m.findall(function, _DETACH)
    ]
    if len(found) != 1 or not isinstance(found[0], cst.Call) or not isinstance(found[0].func, cst.Attribute):
        return None
    changed = module.deep_replace(found[0], found[0].func.value)
    return changed if isinstance(changed, cst.Module) else None
