"""Other activation layers in the hidden part of the model, and the initialisation that goes with them."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_NEW = {"relu": {"Sigmoid": "ReLU", "Tanh": "ReLU"}, "leaky": {"ReLU": "LeakyReLU"}}


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """Layers only: what `forward` calls by itself may belong to the output."""
    names = _NEW.get(setting.value, {})
    last = {
        id(call.args[-1].value) for call in syntax.calls_in(module) if syntax.called(call) == "Sequential" and call.args
    }
    kept = [call for call in syntax.calls_in(module) if id(call) in last]
    returned = {syntax.dotted(call.func) for line in m.findall(module, m.Return()) for call in syntax.calls_in(line)}

    def change(call: cst.Call) -> cst.Call | None:
        new = names.get(syntax.called(call))
        if (
            new is None
            or not isinstance(call.func, cst.Attribute)
            or any(one.deep_equals(call) for one in kept)
            or returned & _held(module, call)
        ):
            return _initialised(call) if setting.value == "relu" else None
        return call.with_changes(func=call.func.with_changes(attr=cst.Name(new)))

    if not any(
        syntax.called(call) in names and not any(one.deep_equals(call) for one in kept)
        for call in syntax.calls_in(module)
    ):
        return None
    return syntax.rewrite_calls(module, change)


def _held(module: cst.Module, call: cst.Call) -> set[str]:
    """Attributes that hold a layer like this one."""
    return {
        syntax.dotted(node.targets[0].target)
        for node in m.findall(module, m.Assign())
        if isinstance(node, cst.Assign) and len(node.targets) == 1 and node.value.deep_equals(call)
    }


def _initialised(call: cst.Call) -> cst.Call | None:
    if syntax.called(call) not in ("xavier_normal_", "xavier_uniform_") or not isinstance(call.func, cst.Attribute):
        return None
    target = call.args[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    name = syntax.called(call).replace("xavier", "kaiming")
    made = call.with_changes(func=call.func.with_changes(attr=cst.Name(name)), args=[target])
    return syntax.with_argument(made, "nonlinearity", cst.SimpleString('"relu"'))
