"""The learning rate, where the optimiser gets it or where that value comes from."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting
from traindx.trials.trainer_arguments import in_arguments
from traindx.trials.values import set_value

_PEAKED = frozenset({"OneCycleLR", "CyclicLR"})  # schedules with a peak of their own


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    optimizers = [call for call in syntax.calls_in(module) if syntax.is_optimizer(call)]
    peaked = [call for call in syntax.calls_in(module) if syntax.called(call) in _PEAKED]
    if not optimizers and not peaked:
        return in_arguments(module, ("learning_rate",), setting)
    if len(optimizers) != 1 or len(peaked) > 1:
        return None
    call, name, place = (peaked[0], "max_lr", 1) if peaked else (optimizers[0], *_rate_of(optimizers[0]))
    given = syntax.argument(call, name, place)

    def put(value: cst.BaseExpression) -> cst.Module | None:
        return syntax.rewrite_calls(
            module, lambda one: syntax.with_argument(one, name, value, place) if one.deep_equals(call) else None
        )

    if given is None:  # the library's default
        current = evidence.config.get("lr")
        return put(syntax.number(setting.number(float(current)))) if isinstance(current, int | float) else None
    return set_value(module, given.value, setting, put)


def _rate_of(optimizer: cst.Call) -> tuple[str, int]:
    """Name and place of the rate: Keras takes it first, torch after the parameters, which are never a number."""
    first = optimizer.args[0]
    number = first.keyword is None and isinstance(first.value, cst.BaseNumber)
    return ("learning_rate", 0) if number or syntax.argument(optimizer, "learning_rate") else ("lr", 1)
