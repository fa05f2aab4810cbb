"""`nn.ReLU()` between linear layers that follow each other in an `nn.Sequential`."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

LINEAR = ("Linear", "Conv1d", "Conv2d")
PASSED = ("Dropout", "Dropout2d", "BatchNorm1d", "BatchNorm2d", "Flatten")


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    return syntax.rewrite_calls(module, _bent)


def _bent(call: cst.Call) -> cst.Call | None:
    """The same layers with a ReLU before each linear one that a linear one feeds."""
    if syntax.called(call) != "Sequential" or any(arg.star or arg.keyword for arg in call.args):
        return None
    found: list[cst.Arg] = []
    flat = False  # what comes so far ends in a linear layer
    for arg in call.args:
        name = syntax.called(arg.value)
        if name in LINEAR and flat:
            assert isinstance(arg.value, cst.Call)
            kind = arg.value.func
            relu = kind.with_changes(attr=cst.Name("ReLU")) if isinstance(kind, cst.Attribute) else cst.Name("ReLU")
            found.append(found[-1].with_changes(value=cst.Call(relu)))
        flat = name in LINEAR or (flat and name in PASSED)
        found.append(arg)
    return call.with_changes(args=found) if len(found) > len(call.args) else None
