"""Finding and removing the activation behind the last layer of a model, in its source."""

from __future__ import annotations

from collections.abc import Sequence

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


def bare(node: cst.BaseExpression, names: frozenset[str]) -> cst.BaseExpression | None:
    """What an activation is applied to: `F.softmax(x, dim=1)`, `x.softmax(1)`, `self.act(x)` where `act` is none of
    ours."""
    if not isinstance(node, cst.Call) or syntax.called(node) not in names:
        return None
    if isinstance(node.func, cst.Attribute) and syntax.dotted(node.func.value) not in _LIBRARIES:
        if syntax.dotted(node.func.value) == "self":  # a layer of the model that is called like an activation
            return node.args[0].value if len(node.args) == 1 else None
        return node.func.value
    return node.args[0].value if node.args and node.args[0].keyword is None else None


def without_at(module: cst.Module, names: frozenset[str], line: int) -> cst.Module | None:
    """The module with the one such activation on a line removed: a call, a layer that is called, or one of a list."""
    found = [*_applied(module, names), *_listed(module, names)]
    places = syntax.lines_of(module, [at for at, _, _ in found])
    here = [(old, new) for at, old, new in found if places.get(at) == line]
    return syntax.replaced(module, *here[0]) if len(here) == 1 else None


def _applied(module: cst.Module, names: frozenset[str]) -> list[tuple[cst.CSTNode, cst.CSTNode, cst.CSTNode]]:
    layers = frozenset(syntax.assigned(module, names))
    return [
        (call, call, kept)
        for call in syntax.calls_in(module)
        if (kept := bare(call, names) or _through_layer(call, layers)) is not None
    ] + [
        (node, node, kept)
        for node in m.findall(module, m.BinaryOperation(operator=m.Divide()))
        if isinstance(node, cst.BinaryOperation) and (kept := _written_out(module, node, names)) is not None
    ]


def _written_out(module: cst.Module, node: cst.BinaryOperation, names: frozenset[str]) -> cst.BaseExpression | None:
    """What a quotient makes probabilities of: z of `e / e.sum(1, keepdim=True)`, where `e` is `exp(z)`, and of
    `1 / (1 + exp(-z))`."""
    shares = isinstance(node.left, cst.Name) and any(
        syntax.called(call) == "sum" and m.findall(call, m.Name(node.left.value))
        for call in syntax.calls_in(node.right)
    )
    if shares and isinstance(node.left, cst.Name) and names & SOFTMAX:
        made = [
            one for one in m.findall(module, m.Assign(targets=[m.AssignTarget(m.Name(node.left.value))]))
            if isinstance(one, cst.Assign)
        ]  # fmt: skip
        powers = [_exponent(one.value) for one in made if _before(module, one, node)]
        return powers[-1] if powers else None
    if syntax.number_of(node.left) != 1 or not names & SIGMOID:
        return None
    inner = [given for call in syntax.calls_in(node.right) if (given := _exponent(call)) is not None]
    negative = len(inner) == 1 and isinstance(inner[0], cst.UnaryOperation)
    minus = negative and isinstance(inner[0], cst.UnaryOperation) and isinstance(inner[0].operator, cst.Minus)
    return inner[0].expression if minus and isinstance(inner[0], cst.UnaryOperation) else None


def _before(module: cst.Module, one: cst.CSTNode, other: cst.CSTNode) -> bool:
    lines = syntax.lines_of(module, [one, other])
    return lines.get(one, 0) < lines.get(other, 0)


def _exponent(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """z of `torch.exp(z)` and `z.exp()`."""
    if syntax.called(node) != "exp" or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    return node.args[0].value if node.args else node.func.value


def _listed(module: cst.Module, names: frozenset[str]) -> list[tuple[cst.CSTNode, cst.CSTNode, cst.CSTNode]]:
    """`nn.Softmax(dim=1)` among the layers that a container is given."""
    found: list[tuple[cst.CSTNode, cst.CSTNode, cst.CSTNode]] = []
    for call in syntax.calls_in(module):
        for one in call.args:
            if len(call.args) > 1 and syntax.called(one.value) in names and syntax.called(one.value)[0].isupper():
                found.append((one.value, call, call.with_changes(args=_without(call.args, one))))
    return found


def _without(args: Sequence[cst.Arg], one: cst.Arg) -> list[cst.Arg]:
    """The arguments without one; what follows the last stays where it is, and so does a comment before it."""
    kept = [other for other in args if other is not one]
    if one is not args[-1]:
        return kept
    before, after = kept[-1].comma, one.comma
    if not isinstance(after, cst.Comma):
        return [*kept[:-1], kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)]
    if isinstance(before, cst.Comma) and isinstance(before.whitespace_after, cst.ParenthesizedWhitespace):
        first = before.whitespace_after.first_line
        if first.comment is not None and isinstance(after.whitespace_after, cst.ParenthesizedWhitespace):
            after = after.with_changes(whitespace_after=after.whitespace_after.with_changes(first_line=first))
    return [*kept[:-1], kept[-1].with_changes(comma=after)]


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
            applied = bare(end, names) or _through_layer(end, layers)
            if applied is not None:
                found.append((end, applied))
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
    applied = bare(end, names) or _through_layer(end, layers)
    return [(end, applied)] if applied is not None else []


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
            found.append((call, call.with_changes(args=_without(call.args, call.args[-1]))))
    return found if len(found) == 1 else []


def _given_to_loss(module: cst.Module, names: frozenset[str]) -> list[tuple[cst.CSTNode, cst.CSTNode]]:
    """Between the model and the loss: `criterion(torch.softmax(model(x), 1), y)`, or a name assigned so in the training
    loop."""
    found: list[tuple[cst.CSTNode, cst.CSTNode]] = []
    for node in m.findall(module, m.Assign() | m.Arg()):
        if not isinstance(node, cst.Assign | cst.Arg):
            continue
        applied = bare(_inner(node.value), names)
        if applied is not None and isinstance(_inner(applied), cst.Call) and _is_model(_inner(applied)):
            found.append((_inner(node.value), applied))
    return found


def _is_model(node: cst.BaseExpression) -> bool:
    name = syntax.dotted(node.func).rpartition(".")[2].lower() if isinstance(node, cst.Call) else ""
    return name in ("model", "net", "network", "classifier", "encoder", "mlp", "cnn", "module", "regressor", "policy")
