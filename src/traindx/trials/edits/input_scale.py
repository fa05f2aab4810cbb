"""Standardise each feature of the input: the data themselves where they are held by a name, else by a BatchNorm without
weights."""

from __future__ import annotations

import re

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_HELD_OUT = re.compile(r"(^|_)(x|X)?_?(val|valid|test|dev|eval|te|va|v)\d*$")  # names of data that is not trained on
TINY = "1e-8"  # for features that never change
MEAN, SPREAD = "input_mean", "input_std"
_KEEPING = frozenset({"to", "float", "cuda", "cpu", "contiguous", "detach"})  # methods that give the same samples


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    names = {syntax.called(call) for call in syntax.calls_in(module)}
    if names & {"Embedding", "LSTM", "GRU", "RNN", "TransformerEncoder", "Conv1d", "Conv3d"}:
        return None
    optimizers = [call for call in syntax.calls_in(module) if syntax.is_optimizer(call)]
    if len(optimizers) != 1:
        return None
    given = optimizers[0].args[0].value
    model = (
        syntax.dotted(given.func.value) if isinstance(given, cst.Call) and isinstance(given.func, cst.Attribute) else ""
    )
    over = "" if "Conv2d" in names else "0"
    return _data_standardised(module, model, over) or _layer_before(module, model, bool(over == ""))


# --- the data ---------------------------------------------------------------------------------------------------------


def _data_standardised(module: cst.Module, model: str, over: str) -> cst.Module | None:
    """The tensors that the model is given, right where they are made; statistics are those of the training samples."""
    inputs = _inputs(module, model)
    lines = {name: _last_assignment(module, name) for name in inputs}
    if all(_HELD_OUT.search(name) for name in inputs):  # what is trained on goes by another name
        return None
    if any(line is None or _computed_with(module, name, line) for name, line in lines.items()):
        return None
    train = next((name for name in inputs if "tr" in name.lower()), inputs[0])
    part = _training_part(module, train) if len(inputs) == 1 else None
    changed: cst.Module | None = module
    if part is not None and (line := _last_assignment(module, part)) is not None:
        first, second = lines[train], line
        assert first is not None
        order = syntax.lines_of(module, [first, second])
        sample = f"{train}[:{part}]"
        code = f"{train} = ({train} - {sample}.mean({over})) / ({sample}.std({over}) + {TINY})  # standardised"
        return _after(module, first if order[first] > order[second] else second, [code])
    order = syntax.lines_of(module, [line for line in lines.values() if line is not None])
    if any(order[lines[name]] < order[lines[train]] for name in inputs if name != train):  # type: ignore[index]
        return None
    for name in reversed(inputs):
        if changed is None:
            return None
        wanted = _last_assignment(changed, name)
        stats = [f"{MEAN}, {SPREAD} = {train}.mean({over}), {train}.std({over}) + {TINY}"] if name == train else []
        changed = (
            None
            if wanted is None
            else _after(changed, wanted, [*stats, f"{name} = ({name} - {MEAN}) / {SPREAD}  # standardised"])
        )
    return changed


def _inputs(module: cst.Module, model: str) -> list[str]:
    """The names whose rows the model is called with, or that a TensorDataset holds, in the order of the source."""
    found: list[str] = []
    for call in syntax.calls_in(module):
        if call.args and (syntax.dotted(call.func) == model or syntax.called(call) == "TensorDataset"):
            name = _held_by(call.args[0].value)
            if name and name not in found:
                found.append(name)
    return [name for name in found if _last_assignment(module, name) is not None] if model else []


def _held_by(node: cst.BaseExpression) -> str:
    """'x' of `x`, `x[index]` and `x[index].to(device)`."""
    while True:
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _KEEPING:
            node = node.func.value
        elif isinstance(node, cst.Subscript):
            node = node.value
        else:
            return node.value if isinstance(node, cst.Name) else ""


def _last_assignment(module: cst.Module, name: str) -> cst.SimpleStatementLine | None:
    """The last statement that gives this name a value, alone or among others."""
    found = None
    for line in m.findall(module, m.SimpleStatementLine(body=[m.Assign()])):
        assert isinstance(line, cst.SimpleStatementLine)
        assign = line.body[0]
        assert isinstance(assign, cst.Assign)
        for target in assign.targets:
            whole = target.target
            parts = [one.value for one in whole.elements] if isinstance(whole, cst.Tuple) else [whole]
            if any(isinstance(part, cst.Name) and part.value == name for part in parts):
                found = line
    return found


def _computed_with(module: cst.Module, name: str, since: cst.SimpleStatementLine) -> bool:
    """Whether something else, such as the targets, is computed from the samples after they are made: it would change
    too."""
    found = [node for node in m.findall(module, m.BinaryOperation()) if isinstance(node, cst.BinaryOperation)]
    used = [node for node in found if name in (_held_by(node.left), _held_by(node.right))]
    lines = syntax.lines_of(module, [since, *used])
    return any(lines[node] > lines[since] for node in used)


def _training_part(module: cst.Module, name: str) -> str | None:
    """'n' where the script takes `name[:n]` somewhere: the rows it trains on."""
    for node in m.findall(
        module,
        m.Subscript(
            value=m.Name(name), slice=[m.SubscriptElement(m.Slice(lower=None, upper=m.Name())), m.ZeroOrMore()]
        ),
    ):
        assert isinstance(node, cst.Subscript)
        part = node.slice[0].slice
        assert isinstance(part, cst.Slice)
        if part.upper is not None:
            return syntax.dotted(part.upper)
    return None


def _after(module: cst.Module, wanted: cst.SimpleStatementLine, codes: list[str]) -> cst.Module | None:
    return syntax.insert(module, lambda line: line is wanted, after=codes)


# --- a layer ----------------------------------------------------------------------------------------------------------


def _layer_before(module: cst.Module, model: str, images: bool) -> cst.Module | None:
    made = [
        node
        for node in m.findall(module, m.Assign(targets=[m.AssignTarget(m.Name(model))]))
        if isinstance(node, cst.Assign)
    ]
    if not model.isidentifier() or len(made) != 1:
        return None
    layer = "LazyBatchNorm2d" if images else "LazyBatchNorm1d"
    prefix = "torch.nn" if _imports_torch(module) else "nn"
    code = f"{model} = {prefix}.Sequential({prefix}.{layer}(affine=False), {model})  # standardises the inputs"
    return syntax.insert(module, lambda line: any(part is made[0] for part in line.body), after=[code])


def _imports_torch(module: cst.Module) -> bool:
    return bool(
        m.findall(
            module, m.Import(names=[m.ZeroOrMore(), m.ImportAlias(name=m.Name("torch"), asname=None), m.ZeroOrMore()])
        )
    )
