"""A floor under what was zero: a small number added to a divisor, a least value for what a root is taken of."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

DEFAULT_FLOOR = 1e-5
UNDER_A_ROOT = 1e-3  # times that: the root of it is the floor of what comes out
_DIVIDING = ("div", "true_divide", "divide")
_LIBRARIES = ("torch",)


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """The only division or square root on the line that the recording names."""
    least = setting.number_or(DEFAULT_FLOOR)
    found = list(_guarded(module, least))
    lines = syntax.lines_of(module, [where for where, _, _ in found])
    for line in evidence.near("division-by-zero", "nan-from-division"):
        here = [(old, new) for where, old, new in found if lines.get(where) == line]
        if len(here) == 1:
            return syntax.replaced(module, *here[0])
    return None


def _guarded(module: cst.Module, least: float) -> Iterator[tuple[cst.CSTNode, cst.CSTNode, cst.CSTNode]]:
    """Operations that zero makes infinite: what tells their line, the part to replace, and what by."""
    for node in m.findall(module, m.BinaryOperation(operator=m.Divide())):
        if isinstance(node, cst.BinaryOperation) and syntax.number_of(node.right) is None:
            yield node.operator, node, node.with_changes(right=_added(node.right, least, parentheses=True))
    for node in m.findall(module, m.BinaryOperation(operator=m.Power())):
        if isinstance(node, cst.BinaryOperation) and syntax.number_of(node.right) in (0.5, -0.5):
            yield node.operator, node, node.with_changes(left=_clamped(node.left, UNDER_A_ROOT * least))
    for call in syntax.calls_in(module):
        operand = _operand(call)
        if operand is not None:
            old, root = operand
            bare = old is not getattr(call.func, "value", None)
            yield call, old, _clamped(old, UNDER_A_ROOT * least) if root else _added(old, least, parentheses=not bare)


def _operand(call: cst.Call) -> tuple[cst.BaseExpression, bool] | None:
    """What a call divides by, or takes the root of; and whether it is a root. Places of the arguments are those of the
    function, where it is one of torch's, and one less where it is a method."""
    if not isinstance(call.func, cst.Attribute):
        return None
    name, owner = call.func.attr.value, call.func.value
    function = syntax.dotted(owner) in _LIBRARIES
    given = [one.value for one in call.args if one.keyword is None and not one.star]
    operands = given if function else [owner, *given]
    if name in ("sqrt", "rsqrt") and len(operands) == 1:
        return operands[0], True
    if name == "pow" and len(operands) == 2 and syntax.number_of(operands[1]) in (0.5, -0.5):
        return operands[0], True
    if name in _DIVIDING and len(operands) == 2 and syntax.number_of(operands[1]) is None:
        return operands[1], False
    return (operands[0], False) if name == "reciprocal" and len(operands) == 1 else None


def _added(value: cst.BaseExpression, least: float, *, parentheses: bool = False) -> cst.BaseExpression:
    left, right = ([cst.LeftParen()], [cst.RightParen()]) if parentheses else ([], [])
    return cst.BinaryOperation(value, cst.Add(), syntax.number(least), lpar=left, rpar=right)


def _clamped(value: cst.BaseExpression, least: float) -> cst.BaseExpression:
    """`value.clamp(min=…)`: it changes nothing else, and where it does, no gradient passes."""
    return syntax.method(value, "clamp", syntax.keyword("min", syntax.number(least)))
