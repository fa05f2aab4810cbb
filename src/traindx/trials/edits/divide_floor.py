"""A small number added to the divisor that was zero."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

DEFAULT_FLOOR = 1e-5


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """The only division on the line that the recording names."""
    at = evidence.places.get("nan-from-division")
    divisions = [
        node
        for node in m.findall(module, m.BinaryOperation(operator=m.Divide()))
        if isinstance(node, cst.BinaryOperation)
    ]
    lines = syntax.lines_of(module, divisions)
    here = [node for node in divisions if at is not None and lines.get(node) == at[1]]
    if len(here) != 1:
        return None
    least = syntax.number(setting.number_or(DEFAULT_FLOOR))
    inside = [cst.LeftParen()], [cst.RightParen()]
    divisor = cst.BinaryOperation(here[0].right, cst.Add(), least, lpar=inside[0], rpar=inside[1])
    changed = module.deep_replace(here[0], here[0].with_changes(right=divisor))
    return changed if isinstance(changed, cst.Module) else None
