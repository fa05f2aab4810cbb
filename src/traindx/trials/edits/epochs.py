"""How many epochs, or iterations, the training loop makes."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting
from traindx.trials.trainer_arguments import in_arguments
from traindx.trials.values import set_value

_STEPPING = ("backward", "step")


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    loop = _outer_loop(module)
    if loop is None or not isinstance(loop.iter, cst.Call) or syntax.called(loop.iter) not in ("range", "trange"):
        return in_arguments(module, ("max_steps", "num_train_epochs"), setting) if loop is None else None
    count = loop.iter.args[-1 if len(loop.iter.args) < 3 else 1].value
    if isinstance(count, cst.BinaryOperation) and isinstance(count.left, cst.Name | cst.Attribute):
        count = count.left  # range(1, epochs + 1)
    old = loop.iter

    def put(value: cst.BaseExpression) -> cst.Module | None:
        new = old.deep_replace(count, value)
        return syntax.rewrite_calls(module, lambda call: new if call.deep_equals(old) else None)

    return set_value(module, count, setting, put)


def _outer_loop(module: cst.Module) -> cst.For | None:
    """The outermost loop in which the training happens, or in which a function is called that makes it."""
    training = {
        node.name.value
        for node in m.findall(module, m.FunctionDef())
        if isinstance(node, cst.FunctionDef) and _trains(node, set())
    }
    loops = [node for node in m.findall(module, m.For()) if isinstance(node, cst.For) and _trains(node, training)]
    outer = [
        loop
        for loop in loops
        if not any(loop is not other and other.deep_equals(loop) is False and _holds(other, loop) for other in loops)
    ]
    counted = [loop for loop in outer if isinstance(loop.iter, cst.Call)]
    in_functions = [loop for loop in counted if syntax.called(loop.iter) in ("range", "trange")]
    return in_functions[-1] if len(in_functions) >= 1 else None


def _trains(node: cst.CSTNode, functions: set[str]) -> bool:
    names = {syntax.called(call) for call in syntax.calls_in(node)}
    return set(_STEPPING) <= names or bool(names & functions)


def _holds(outer: cst.For, inner: cst.For) -> bool:
    return any(found is inner for found in m.findall(outer.body, m.For()))
