"""The minus of a loss that is maximised, taken away; or put in front of one that lacks it."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    uphill = [call for call in syntax.calls_in(module) if syntax.is_optimizer(call) and _goes_uphill(call)]
    if len(uphill) == 1:
        return _replaced(module, uphill[0], syntax.without_argument(uphill[0], "maximize"))
    found = list(_negated(module))
    places = syntax.lines_of(module, [node for node, _ in found])
    here = [(node, kept) for node, kept in found if places.get(node) == line]
    if len(here) == 1:
        return _replaced(module, *here[0])
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


def _goes_uphill(call: cst.Call) -> bool:
    given = syntax.argument(call, "maximize")
    return given is not None and m.matches(given.value, m.Name("True"))


def _negated(module: cst.Module) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """`-x`, `x * -1`, `-1 * x`, `x / -1`, `x.neg()` and `torch.neg(x)`, each with its x."""
    for node in m.findall(module, _MINUS | m.BinaryOperation() | m.Call()):
        if isinstance(node, cst.UnaryOperation):
            yield node, node.expression
        elif isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply | cst.Divide):
            if syntax.number_of(node.right) == -1:
                yield node, node.left
            elif syntax.number_of(node.left) == -1 and isinstance(node.operator, cst.Multiply):
                yield node, node.right
        elif isinstance(node, cst.Call) and syntax.called(node) in ("neg", "negative"):
            given = node.args[0].value if node.args else getattr(node.func, "value", None)
            if isinstance(given, cst.BaseExpression):
                yield node, given


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
