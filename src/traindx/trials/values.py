"""Changing a number of the script where it is written: in the call itself, in a constant, a default or an argument's
default."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from traindx.trials import syntax
from traindx.trials.setting import Setting


def set_value(
    module: cst.Module,
    node: cst.BaseExpression,
    setting: Setting,
    replace: Callable[[cst.BaseExpression], cst.Module | None],
) -> cst.Module | None:
    """The module with the value of an expression changed, wherever it is written. `replace` puts another expression in
    place of this one, for values that cannot be followed."""
    value = syntax.number_of(node)
    if value is not None:
        return replace(syntax.number(setting.number(value)))
    if isinstance(node, cst.Name):
        known = syntax.constants(module)
        if node.value in known:
            return syntax.with_constant(module, node.value, setting.number(known[node.value]))
        changed = _with_default(module, node.value, setting)
        if changed is not None:
            return changed
    if isinstance(node, cst.Attribute):
        changed = _with_option(module, node.attr.value, setting)
        if changed is not None:
            return changed
    if setting.scales and not isinstance(node, cst.Lambda | cst.IfExp):
        return replace(
            cst.BinaryOperation(
                node,
                cst.Multiply(cst.SimpleWhitespace(" "), cst.SimpleWhitespace(" ")),
                syntax.number(setting.number(1.0)),
            )
        )
    return None if setting.scales else replace(syntax.number(setting.number(0.0)))


def _with_default(module: cst.Module, name: str, setting: Setting) -> cst.Module | None:
    """A parameter's default, where exactly one function has it."""

    class Defaulting(cst.CSTTransformer):
        count = 0

        def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:
            value = syntax.number_of(updated_node.default) if updated_node.default is not None else None
            if updated_node.name.value != name or value is None:
                return updated_node
            self.count += 1
            return updated_node.with_changes(default=syntax.number(setting.number(value)))

    defaulting = Defaulting()
    changed = module.visit(defaulting)
    if defaulting.count != 1:
        return None
    given = [
        call
        for call in syntax.calls_in(module)
        if syntax.argument(call, name) is not None and not syntax.is_optimizer(call)
    ]
    return None if given else changed


def _with_option(module: cst.Module, name: str, setting: Setting) -> cst.Module | None:
    """`args.lr`: the default of `--lr`, or a field of a settings class."""

    def change(call: cst.Call) -> cst.Call | None:
        if syntax.called(call) != "add_argument" or not call.args:
            return None
        names = [
            a.value.evaluated_value for a in call.args if a.keyword is None and isinstance(a.value, cst.SimpleString)
        ]
        default = syntax.argument(call, "default")
        value = syntax.number_of(default.value) if default is not None else None
        if not any(str(one).lstrip("-").replace("-", "_") == name for one in names) or value is None:
            return None
        return syntax.with_argument(call, "default", syntax.number(setting.number(value)))

    changed = syntax.rewrite_calls(module, change)
    if changed is not None:
        return changed

    class Fields(cst.CSTTransformer):
        count = 0

        def leave_AnnAssign(self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign) -> cst.AnnAssign:
            value = syntax.number_of(updated_node.value) if updated_node.value is not None else None
            if syntax.last_name(updated_node.target) != name or value is None:
                return updated_node
            self.count += 1
            return updated_node.with_changes(value=syntax.number(setting.number(value)))

    fields = Fields()
    changed = module.visit(fields)
    return changed if fields.count == 1 else None


def set_optimizer_argument(module: cst.Module, name: str, setting: Setting) -> cst.Module | None:
    """An argument of the one optimiser there is; one that is not given is added, unless it would have to be scaled."""
    optimizers = [call for call in syntax.calls_in(module) if syntax.is_optimizer(call)]
    if len(optimizers) != 1:
        return None
    call = optimizers[0]
    given = syntax.argument(call, name)

    def put(value: cst.BaseExpression) -> cst.Module | None:
        return syntax.rewrite_calls(
            module, lambda one: syntax.with_argument(one, name, value) if one.deep_equals(call) else None
        )

    if given is None:
        return None if setting.scales else put(syntax.number(setting.number(0.0)))
    return set_value(module, given.value, setting, put)
