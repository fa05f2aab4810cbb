"""The loss divided by the number of batches that one update accumulates, where the loop says how many these are."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_COUNTED = m.Name() | m.Attribute() | m.Integer()


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """`loss.backward()` in a loop that steps under `if … % N`: the loss is divided by that N."""
    found = [
        (passes[0], counts[0])
        for loop in m.findall(module, m.For() | m.While())
        if len(passes := _backward(loop)) == 1 and len(counts := _parts(loop)) == 1
    ]
    if not found:
        return None
    call, parts = found[-1]  # the innermost
    assert isinstance(call.func, cst.Attribute)
    scaled = call.func.value
    if m.matches(scaled, m.Call(func=m.Attribute(attr=m.Name("scale")), args=[m.Arg()])):
        assert isinstance(scaled, cst.Call)
        loss = scaled.args[0].value
        return syntax.replaced(module, loss, _divided(loss, parts, bare=True))
    return syntax.replaced(module, scaled, _divided(scaled, parts))


def _backward(loop: cst.CSTNode) -> list[cst.Call]:
    found = m.findall(loop, m.Call(func=m.Attribute(attr=m.Name("backward"))))
    return [one for one in found if isinstance(one, cst.Call)]


def _parts(loop: cst.CSTNode) -> list[cst.BaseExpression]:
    """The N of `if (i + 1) % N == 0: optimizer.step()`, as often as it is written differently."""
    found: list[cst.BaseExpression] = []
    for guard in m.findall(loop, m.If()):
        if not isinstance(guard, cst.If) or not m.findall(guard, m.Call(func=m.Attribute(attr=m.Name("step")))):
            continue
        for one in m.findall(guard.test, m.BinaryOperation(operator=m.Modulo(), right=_COUNTED)):
            assert isinstance(one, cst.BinaryOperation)
            if not any(one.right.deep_equals(other) for other in found):
                found.append(one.right)
    return found


def _divided(loss: cst.BaseExpression, parts: cst.BaseExpression, *, bare: bool = False) -> cst.BaseExpression:
    whole = loss if isinstance(loss, cst.Name | cst.Attribute | cst.Call | cst.Subscript) else _in_brackets(loss)
    divided = cst.BinaryOperation(whole, cst.Divide(), parts.deep_clone())
    return divided if bare else _in_brackets(divided)


def _in_brackets(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
