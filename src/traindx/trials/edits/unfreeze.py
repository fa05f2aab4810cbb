"""Remove what freezes parameters: `requires_grad = False`, `requires_grad_(False)`."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    return syntax.removed(module, _freezes)


def _freezes(line: cst.SimpleStatementLine) -> bool:
    for part in line.body:
        if m.matches(
            part, m.Assign(targets=[m.AssignTarget(m.Attribute(attr=m.Name("requires_grad")))], value=m.Name("False"))
        ):
            return True
        if m.matches(part, m.Expr(m.Call(m.Attribute(attr=m.Name("requires_grad_")), [m.Arg(m.Name("False"))]))):
            return True
    return False
