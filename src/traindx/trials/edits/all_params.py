"""The whole model's parameters for the optimiser instead of a part's."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    wider = _with_further_models(module, optimizers[0], evidence.texts.get("parameters-not-optimized", ""))
    if wider is not None:
        return wider
    given = _given(module, optimizers[0])
    if given is None or not isinstance(given.func, cst.Attribute):
        return None
    owner = syntax.dotted(given.func.value)
    models = _models(module)
    whole = next((name for name in models if owner.startswith(f"{name}.")), None) or _of_itself(
        module, optimizers[0], owner
    )
    if whole is None and owner in _models(module):
        whole = owner
    if whole == owner:
        return _not_a_part(module, optimizers[0], owner)
    if whole is None:
        return None
    new = given.with_changes(func=cst.Attribute(cst.parse_expression(whole), cst.Name("parameters")))
    return syntax.rewrite_calls(module, lambda call: new if call.deep_equals(given) else None)


def _with_further_models(module: cst.Module, optimizer: cst.Call, said: str) -> cst.Module | None:
    """Models that stand beside those the optimiser is given: they are given to it as well. `said` names the parameters
    that are left out, by the class of their model."""
    around: cst.CSTNode = syntax.function_around(module, optimizer) or module
    held = _whole_argument(around, optimizer)
    if held is None:
        return None
    made = {
        syntax.dotted(node.targets[0].target): syntax.called(node.value)
        for node in m.findall(around, m.Assign(targets=[m.AssignTarget(m.Name() | m.Attribute())]))
        if isinstance(node, cst.Assign)
    }
    inside = {
        syntax.dotted(name)
        for name in m.findall(held, m.Name() | m.Attribute())
        if isinstance(name, cst.Name | cst.Attribute)
    }
    used = {syntax.dotted(call.func) for call in syntax.calls_in(module) if call.args}
    missing = [
        name for name, kind in made.items()
        if kind and re.search(rf"\b{kind}\.\w", said) and name not in inside and name in used
    ]  # fmt: skip
    wider = _widened(held, missing) if missing else None
    return None if wider is None else syntax.replaced(module, held, wider)


def _whole_argument(around: cst.CSTNode, optimizer: cst.Call) -> cst.BaseExpression | None:
    """What an optimiser is given to update, where that is written: there, or by a name of its function."""
    value = optimizer.args[0].value
    if not isinstance(value, cst.Name):
        return value
    named = [
        one.value for one in m.findall(around, m.Assign(targets=[m.AssignTarget(m.Name(value.value))]))
        if isinstance(one, cst.Assign)
    ]  # fmt: skip
    return named[0] if len(named) == 1 else None


def _widened(held: cst.BaseExpression, missing: Sequence[str]) -> cst.BaseExpression | None:
    """`[*a.parameters()]`, `list(a.parameters()) + …`, `chain(a.parameters(), …)`, groups or `a.parameters()` itself,
    with the parameters of further models behind them."""
    calls = [cst.parse_expression(f"{name}.parameters()") for name in missing]
    if isinstance(held, cst.List) and held.elements:
        last = held.elements[-1]
        if isinstance(last, cst.StarredElement):
            more: list[cst.BaseElement] = [cst.StarredElement(one) for one in calls]
        elif isinstance(last.value, cst.Dict):
            more = [cst.Element(cst.parse_expression(f'{{"params": {name}.parameters()}}')) for name in missing]
        else:
            return None
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        more = [one.with_changes(comma=comma) for one in more]
        more[-1] = more[-1].with_changes(comma=last.comma)
        return held.with_changes(elements=[*held.elements[:-1], last.with_changes(comma=comma), *more])
    if isinstance(held, cst.BinaryOperation) and isinstance(held.operator, cst.Add):
        text = " + ".join(f"list({name}.parameters())" for name in missing)
        return cst.BinaryOperation(held, cst.Add(), cst.parse_expression(text))
    if isinstance(held, cst.Call) and syntax.called(held) == "chain":
        return held.with_changes(args=[*held.args, *(cst.Arg(one) for one in calls)])
    if isinstance(held, cst.Call) and syntax.called(held) == "list" and len(held.args) == 1:
        text = " + ".join(f"list({name}.parameters())" for name in missing)
        return cst.BinaryOperation(held, cst.Add(), cst.parse_expression(text))
    if isinstance(held, cst.Call) and syntax.called(held) == "parameters":
        starred = [cst.StarredElement(held), *(cst.StarredElement(one) for one in calls)]
        return cst.List(starred)
    return None


def _not_a_part(module: cst.Module, optimizer: cst.Call, model: str) -> cst.Module | None:
    """`list(model.parameters())[-2:]` becomes `model.parameters()`; what `requires_grad` picks stays."""
    held = _whole_argument(syntax.function_around(module, optimizer) or module, optimizer)
    if held is None or not isinstance(held, cst.Subscript) or m.findall(held, m.Name("requires_grad")):
        return None
    return syntax.replaced(module, held, cst.parse_expression(f"{model}.parameters()"))


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
