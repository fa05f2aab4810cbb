"""The minus of a loss that is maximised, taken away; or put in front of one that lacks it."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_MINUS = m.UnaryOperation(operator=m.Minus(), expression=~m.OneOf(m.Integer(), m.Float()))


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """On the line that the recording names. Without a minus there, what the line returns or assigns gets one."""
    line = evidence.line("loss-sign-flipped")
    if line is None:
        return None
    found = [node for node in m.findall(module, _MINUS) if isinstance(node, cst.UnaryOperation)]
    places = syntax.lines_of(module, found)
    here = [node for node in found if places.get(node) == line]
    if len(here) == 1:
        return _replaced(module, here[0], here[0].expression)
    if here:
        return None
    values = [node for node in m.findall(module, m.Return() | m.Assign()) if isinstance(node, cst.Return | cst.Assign)]
    lines = syntax.lines_of(module, values)
    value = next((node.value for node in values if lines.get(node) == line), None)
    if value is None:
        return None
    plain = isinstance(value, cst.Call | cst.Name | cst.Attribute) or bool(getattr(value, "lpar", ()))
    inner = value if plain else value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return _replaced(module, value, cst.UnaryOperation(cst.Minus(), inner))


def _replaced(module: cst.Module, old: cst.CSTNode, new: cst.BaseExpression) -> cst.Module | None:
    changed = module.deep_replace(old, new)
    return changed if isinstance(changed, cst.Module) else None
