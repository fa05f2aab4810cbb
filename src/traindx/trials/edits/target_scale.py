"""Standardised targets in the loss, by the mean and deviation that the recording saw."""

from __future__ import annotations

import re

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_SEEN = re.compile(r"mean (-?[\d.e+-]+) and standard deviation ([\d.e+-]+)")
_LOSSES = frozenset({"MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss"})
_FUNCTIONS = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """The model then predicts in standard deviations from the mean: whoever reads its outputs must scale them back."""
    seen = _SEEN.search(evidence.texts.get("targets-unscaled", ""))
    if seen is None or float(seen.group(2)) <= 0:
        return None
    mean, spread = float(seen.group(1)), float(seen.group(2))
    criteria = syntax.assigned(module, _LOSSES)

    def change(call: cst.Call) -> cst.Call | None:
        is_loss = syntax.called(call) in _FUNCTIONS or syntax.dotted(call.func) in criteria
        if not is_loss or len(call.args) < 2 or call.args[1].keyword is not None:
            return None
        target = call.args[1]
        scaled = cst.parse_expression(f"({module.code_for_node(target.value)} - {mean:g}) / {spread:g}")
        return call.with_changes(args=[call.args[0], target.with_changes(value=scaled), *call.args[2:]])

    return syntax.rewrite_calls(module, change)
