"""The minus of a loss that is maximised, taken away; or put in front of one that lacks it."""

from __future__ import annotations

import re

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

# what parts of a loss are called
_TERM = re.compile(r"loss|bce|dice|kl|mse|nll|penalty|reg|recon|term|cost|^ce$|^l\d|iou|entropy|l1|l2")
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
    less = _subtracted(module, line)
    if less is not None:
        return _replaced(module, less, less.with_changes(operator=cst.Add()))
    values = [node for node in m.findall(module, m.Return() | m.Assign()) if isinstance(node, cst.Return | cst.Assign)]
    lines = syntax.lines_of(module, values)
    value = next((node.value for node in values if lines.get(node) == line), None)
    if value is None:
        return None
    plain = isinstance(value, cst.Call | cst.Name | cst.Attribute) or bool(getattr(value, "lpar", ()))
    inner = value if plain else value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return _replaced(module, value, cst.UnaryOperation(cst.Minus(), inner))


def _subtracted(module: cst.Module, line: int) -> cst.BinaryOperation | None:
    """`fit - weight * penalty` on a line that sums up terms: the one that is taken away should be added."""
    for statement in syntax.statements_at(module, line):
        value = getattr(statement.body[0], "value", None)
        taken = isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Subtract)
        if isinstance(value, cst.BinaryOperation) and taken and _is_term(value.left) and _is_term(value.right):
            return value
    return None


def _is_term(node: cst.BaseExpression) -> bool:
    """A name, or a weight times one: what differences of predictions and targets are not made of."""
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, cst.Multiply | cst.Add) and any(map(_is_term, (node.left, node.right)))
    name = syntax.dotted(node).rpartition(".")[2].lower()
    return bool(_TERM.search(name))


def _replaced(module: cst.Module, old: cst.CSTNode, new: cst.BaseExpression) -> cst.Module | None:
    changed = module.deep_replace(old, new)
    return changed if isinstance(changed, cst.Module) else None
