"""Finding and removing the activation behind the last layer of a model, in its source."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax

SOFTMAX = frozenset({"softmax", "Softmax"})
SIGMOID = frozenset({"sigmoid", "Sigmoid", "hardsigmoid"})
ANY = SIGMOID | frozenset(
    {"relu", "ReLU", "tanh", "Tanh", "softplus", "Softplus", "relu_", "sigmoid_", "Hardtanh", "ReLU6"}
)
_LIBRARIES = ("torch", "F", "nn.functional", "torch.nn.functional", "functional", "nn", "torch.special")


def without_last(module: cst.Module, names: frozenset[str]) -> cst.Module | None:
    """The module with the one such activation at an output removed; None where there is none or more than one."""
    places = [*_returned(module, names), *_ending_sequence(module, names), *_given_to_loss(module, names)]
    unique = list({id(old): (old, new) for old, new in places}.values())
    if len(unique) != 1:
        return None
    old, new = unique[0]
    changed = module.deep_replace(old, new)
    assert isinstance(changed, cst.Module)
    return changed


def _bare(node: cst.BaseExpression, names: frozenset[str]) -> cst.BaseExpression | None:
    """What an activation is applied to: `F.softmax(x, dim=1)`, `x.softmax(1)`, `self.act(x)` where `act` is none of
    ours."""
    if not isinstance(node, cst.Call) or syntax.called(node) not in names:
        return None
    if isinstance(node.func, cst.Attribute) and syntax.dotted(node.func.value) not in _LIBRARIES:
        if syntax.dotted(node.func.value) == "self":  # a layer of the model that is called like an activation
            return node.args[0].value if len(node.args) == 1 else None
        return node.func.value
    return node.args[0].value if node.args and node.args[0].keyword is None else None


def _inner(node: cst.BaseExpression) -> cst.BaseExpression:
    """Through reshapes: `torch.relu(x).squeeze(1)` ends in the activation too."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and syntax.called(node) in (
        "squeeze", "flatten", "view", "reshape", "float", "unsqueeze",
    ):  # fmt: skip
        node = node.func.value
    return node


def _returned(module: cst.Module, names: frozenset[str]) -> list[tuple[cst.CSTNode, cst.CSTNode]]:
    """In the return of `forward`, directly or by a name assigned just before, also through a layer held by the
    model."""
    found: list[tuple[cst.CSTNode, cst.CSTNode]] = []
    layers = frozenset(syntax.assigned(module, names))  # `self.act = nn.Sigmoid()`
    for function in m.findall(module, m.FunctionDef(name=m.Name("forward"))):
        assert isinstance(function, cst.FunctionDef)
        for line in m.findall(function, m.Return()):
            assert isinstance(line, cst.Return)
            if line.value is None:
                continue
            end = _inner(line.value)
            bare = _bare(end, names) or _through_layer(end, layers)
            if bare is not None:
                found.append((end, bare))
            elif isinstance(end, cst.Name):
                found += _last_assigned(function, end.value, names, layers)
    return found


def _last_assigned(
    function: cst.FunctionDef, name: str, names: frozenset[str], layers: frozenset[str]
) -> list[tuple[cst.CSTNode, cst.CSTNode]]:
    given = [
        node
        for node in m.findall(function, m.Assign(targets=[m.AssignTarget(m.Name(name))]))
        if isinstance(node, cst.Assign)
    ]
    if not given:
        return []
    end = _inner(given[-1].value)
    bare = _bare(end, names) or _through_layer(end, layers)
    return [(end, bare)] if bare is not None else []


def _through_layer(node: cst.BaseExpression, layers: frozenset[str]) -> cst.BaseExpression | None:
    if isinstance(node, cst.Call) and syntax.dotted(node.func) in layers and len(node.args) == 1:
        return node.args[0].value
    return None


def _ending_sequence(module: cst.Module, names: frozenset[str]) -> list[tuple[cst.CSTNode, cst.CSTNode]]:
    """As the last layer of an `nn.Sequential` that is no part of another one, or of a list of layers."""
    found: list[tuple[cst.CSTNode, cst.CSTNode]] = []
    sequences = [call for call in syntax.calls_in(module) if syntax.called(call) == "Sequential" and len(call.args) > 1]
    inside = {id(inner) for call in sequences for inner in syntax.calls_in(call) if inner is not call}
    for call in sequences:
        if id(call) not in inside and syntax.called(call.args[-1].value) in names:
            kept = list(call.args[:-1])
            if isinstance(call.args[-1].comma, cst.MaybeSentinel):
                kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            else:
                kept[-1] = kept[-1].with_changes(comma=call.args[-1].comma)
            found.append((call, call.with_changes(args=kept)))
    return found if len(found) == 1 else []


def _given_to_loss(module: cst.Module, names: frozenset[str]) -> list[tuple[cst.CSTNode, cst.CSTNode]]:
    """Between the model and the loss: `criterion(torch.softmax(model(x), 1), y)`, or a name assigned so in the training
    loop."""
    found: list[tuple[cst.CSTNode, cst.CSTNode]] = []
    for node in m.findall(module, m.Assign() | m.Arg()):
        if not isinstance(node, cst.Assign | cst.Arg):
            continue
        bare = _bare(_inner(node.value), names)
        if bare is not None and isinstance(_inner(bare), cst.Call) and _is_model(_inner(bare)):
            found.append((_inner(node.value), bare))
    return found


def _is_model(node: cst.BaseExpression) -> bool:
    name = syntax.dotted(node.func).rpartition(".")[2].lower() if isinstance(node, cst.Call) else ""
    return name in ("model", "net", "network", "classifier", "encoder", "mlp", "cnn", "module", "regressor", "policy")
