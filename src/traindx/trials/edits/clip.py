"""`clip_grad_norm_` before each `step()`, or the limit of the one that is there."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting
from traindx.trials.values import set_value


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    there = [call for call in syntax.calls_in(module) if syntax.called(call) in ("clip_grad_norm_", "clip_grad_norm")]
    if len(there) == 1:
        limit = syntax.argument(there[0], "max_norm", 1)
        if limit is None:
            return None

        def put(value: cst.BaseExpression) -> cst.Module | None:
            return syntax.rewrite_calls(
                module,
                lambda one: syntax.with_argument(one, "max_norm", value, 1) if one.deep_equals(there[0]) else None,
            )

        return set_value(module, limit.value, setting, put)
    if there or setting.scales:
        return None
    made = [
        (syntax.dotted(node.targets[0].target), syntax.dotted(call.func.value))
        for node in _assignments(module)
        for call in syntax.calls_in(node.value)
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "parameters"
        and any(syntax.is_optimizer(outer) for outer in syntax.calls_in(node.value))
    ]  # fmt: skip
    if (
        len(made) != 1
        or not all(made[0])
        or any(syntax.called(call) == "GradScaler" for call in syntax.calls_in(module))
    ):
        return None
    optimizer, model = made[0]
    limit_text = f"{setting.number(1.0):g}"

    def is_step(line: cst.SimpleStatementLine) -> bool:
        return any(
            isinstance(call.func, cst.Attribute)
            and call.func.attr.value == "step"
            and syntax.dotted(call.func.value) == optimizer
            for call in syntax.calls_in(line)
        )

    return syntax.insert(
        module, is_step, before=[f"torch.nn.utils.clip_grad_norm_({model}.parameters(), {limit_text})"]
    )


def _assignments(module: cst.Module) -> list[cst.Assign]:
    import libcst.matchers as m

    return [node for node in m.findall(module, m.Assign()) if isinstance(node, cst.Assign) and len(node.targets) == 1]
