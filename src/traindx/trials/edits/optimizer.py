"""Another optimiser: 'adamw', 'sgd', …; at its usual rate where the script's means something else to it."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.optimizers import chosen, rate_for, takes
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    new = chosen(setting.value)
    made = [call for call in syntax.calls_in(module) if syntax.is_optimizer(call)]
    if len(made) != 1 or not isinstance(made[0].func, cst.Attribute) or syntax.called(made[0]) == new:
        return None  # a bare name would need another import
    if len([one for one in made[0].args if one.keyword is None]) > 2:
        return None  # what stands third differs from optimiser to optimiser

    def change(call: cst.Call) -> cst.Call | None:
        if not syntax.is_optimizer(call) or not isinstance(call.func, cst.Attribute):
            return None
        old = syntax.called(call)
        for name in [one.keyword.value for one in call.args if one.keyword is not None]:
            if not takes(new, name):
                call = syntax.without_argument(call, name)
        rate = rate_for(old, new)
        if rate is not None:
            call = syntax.with_argument(call, "lr", syntax.number(rate), 1)
        return call.with_changes(func=call.func.with_changes(attr=cst.Name(new)))

    return syntax.rewrite_calls(module, change)
