"""A sigmoid in place of a softmax over one output."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    softmaxes = [call for call in syntax.calls_in(module) if syntax.called(call) in ("softmax", "Softmax")]
    if len(softmaxes) != 1 or not isinstance(softmaxes[0].func, cst.Attribute):
        return None
    old, owner = softmaxes[0], softmaxes[0].func.value
    if syntax.called(old) == "Softmax":
        new: cst.BaseExpression = old.with_changes(func=cst.Attribute(owner, cst.Name("Sigmoid")), args=[])
    elif syntax.dotted(owner) in ("torch", "F", "nn.functional", "torch.nn.functional", "functional"):
        if not old.args:
            return None
        bare = old.args[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        new = cst.Call(cst.Attribute(cst.Name("torch"), cst.Name("sigmoid")), [bare])
    else:  # a method of the tensor
        new = old.with_changes(func=cst.Attribute(owner, cst.Name("sigmoid")), args=[])
    return syntax.rewrite_calls(module, lambda call: new if call.deep_equals(old) else None)
