"""`dim=1` in a softmax over the batch."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_NAMES = {"softmax": 1, "log_softmax": 1, "Softmax": 0, "LogSoftmax": 0}


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    def change(call: cst.Call) -> cst.Call | None:
        place = _NAMES.get(syntax.called(call))
        if place is None:
            return None
        function = isinstance(call.func, cst.Attribute) and syntax.dotted(call.func.value) in (
            "torch", "F", "nn.functional", "torch.nn.functional", "functional", "nn", "torch.nn",
        )  # fmt: skip
        given = syntax.argument(call, "dim", place if function or isinstance(call.func, cst.Name) else 0)
        if given is None or syntax.number_of(given.value) != 0:
            return None
        return call.with_changes(
            args=[one.with_changes(value=cst.Integer("1")) if one is given else one for one in call.args]
        )

    return syntax.rewrite_calls(module, change)
