"""The whole model's parameters for the optimiser instead of a part's."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """`SGD(model.head.parameters(), …)` becomes `SGD(model.parameters(), …)`; layers in a plain list, which the model
    does not know of, go into a ModuleList."""
    if "not registered" in evidence.texts.get("parameters-not-optimized", ""):
        return _registered(module)
    optimizers = [call for call in syntax.calls_in(module) if syntax.is_optimizer(call)]
    if len(optimizers) != 1:
        return None
    given = _given(module, optimizers[0])
    if given is None or not isinstance(given.func, cst.Attribute):
        return None
    owner = syntax.dotted(given.func.value)
    models = _models(module)
    whole = next((name for name in models if owner.startswith(f"{name}.")), None) or _of_itself(
        module, optimizers[0], owner
    )
    if whole is None or whole == owner:
        return None
    new = given.with_changes(func=cst.Attribute(cst.parse_expression(whole), cst.Name("parameters")))
    return syntax.rewrite_calls(module, lambda call: new if call.deep_equals(given) else None)


def _given(module: cst.Module, optimizer: cst.Call) -> cst.Call | None:
    """The one call of `parameters()` that an optimiser is given, directly, in a group or by a name of its function."""
    value = optimizer.args[0].value
    if isinstance(value, cst.Name):
        around: cst.CSTNode = syntax.function_around(module, optimizer) or module
        named = [
            one.value for one in m.findall(around, m.Assign(targets=[m.AssignTarget(m.Name(value.value))]))
            if isinstance(one, cst.Assign)
        ]  # fmt: skip
        if len(named) != 1:
            return None
        value = named[0]
    calls = [call for call in syntax.calls_in(value) if syntax.called(call) == "parameters" and not call.args]
    return calls[0] if len(calls) == 1 else None


def _registered(module: cst.Module) -> cst.Module | None:
    """`self.blocks = [nn.Linear(…) …]` becomes `self.blocks = nn.ModuleList([…])`, for every such list of layers."""
    prefix = next((name for name in ("nn.", "torch.nn.") if f"{name}Module" in module.code), None)
    if prefix is None:
        return None
    own = {
        node.name.value for node in m.findall(module, m.ClassDef())
        if isinstance(node, cst.ClassDef) and any("Module" in syntax.last_name(base.value) for base in node.bases)
    }  # fmt: skip
    held = m.Attribute(value=m.Name("self"))
    lists = {
        node.value for node in m.findall(module, m.Assign(targets=[m.AssignTarget(target=held)]))
        if isinstance(node, cst.Assign) and _of_layers(node.value, own)
    }  # fmt: skip
    if not lists:
        return None

    class Wrap(cst.CSTTransformer):
        def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
            if original_node.value not in lists:
                return updated_node
            wrapper = cst.parse_expression(f"{prefix}ModuleList")
            return updated_node.with_changes(value=cst.Call(wrapper, [cst.Arg(updated_node.value)]))

    return module.visit(Wrap())


def _of_layers(value: cst.BaseExpression, own: set[str]) -> bool:
    """A list that holds nothing but layers: `nn.Something(…)` or modules that this file defines."""
    made = [value.elt] if isinstance(value, cst.ListComp) else []
    if isinstance(value, cst.List):
        made = [element.value for element in value.elements]
    return bool(made) and all(
        isinstance(one, cst.Call)
        and (syntax.dotted(one.func).startswith(("nn.", "torch.nn.")) or syntax.dotted(one.func) in own)
        for one in made
    )


def _of_itself(module: cst.Module, optimizer: cst.Call, owner: str) -> str | None:
    """'self' in a class that is a model and builds its own optimiser; the first name where a function is given one."""
    function = syntax.function_around(module, optimizer)
    if function is None:
        return None
    first = owner.partition(".")[0]
    if first == "self":
        owners = [
            one for one in m.findall(module, m.ClassDef())
            if any(inner is function for inner in m.findall(one, m.FunctionDef()))
            and m.findall(one, m.FunctionDef(name=m.Name("forward") | m.Name("training_step")))
        ]  # fmt: skip
        return "self" if owners else None
    named = {parameter.name.value for parameter in function.params.params}
    return first if first in named else None


def _models(module: cst.Module) -> list[str]:
    """Names, with their dots, that are called somewhere and given something: candidates for a whole model."""
    called = {syntax.dotted(call.func) for call in syntax.calls_in(module) if call.args}
    assigned = {
        syntax.dotted(node.targets[0].target)
        for node in m.findall(module, m.Assign())
        if isinstance(node, cst.Assign) and len(node.targets) == 1
    }
    return sorted((called & assigned) - {""}, key=len, reverse=True)
