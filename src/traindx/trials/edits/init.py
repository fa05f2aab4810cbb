"""Initialisation by fan-in, by a small deviation, or torch's own, where the script sets its weights itself."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_SETS = frozenset({
    "zeros_", "ones_", "constant_", "normal_", "uniform_", "kaiming_normal_", "kaiming_uniform_", "xavier_normal_",
    "xavier_uniform_",
    "trunc_normal_", "eye_",
})  # fmt: skip
_FILLED = ("torch.ones", "torch.zeros", "torch.full")
_CAUSES = ("init-too-large", "init-too-small", "constant-init")
SMALL = 0.02


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    if setting.value == "default":
        return _without_change(module, evidence) or syntax.removed(
            module, lambda line: any(_is_init(call) for call in syntax.calls_in(line))
        )
    if _changing(module, evidence) is not None or _named_elsewhere(evidence):
        return None  # what is set there is not what does the harm
    squashed = {"Tanh", "Sigmoid", "tanh", "sigmoid"} & {syntax.called(call) for call in syntax.calls_in(module)}
    changed_weights = 0

    def change(call: cst.Call) -> cst.Call | None:
        nonlocal changed_weights
        if not _is_init(call) or not isinstance(call.func, cst.Attribute):
            return None
        target = call.args[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        if syntax.last_name(target.value) == "bias":
            return call.with_changes(func=call.func.with_changes(attr=cst.Name("zeros_")), args=[target])
        changed_weights += 1
        if setting.value == "small":
            made = call.with_changes(func=call.func.with_changes(attr=cst.Name("normal_")), args=[target])
            return syntax.with_argument(made, "std", syntax.number(SMALL))
        name = "xavier_normal_" if squashed else "kaiming_normal_"
        made = call.with_changes(func=call.func.with_changes(attr=cst.Name(name)), args=[target])
        return made if squashed else syntax.with_argument(made, "nonlinearity", cst.SimpleString('"relu"'))

    changed = syntax.rewrite_calls(module, change)
    return changed if changed_weights else _by_hand(module, setting, evidence)


def _without_change(module: cst.Module, evidence: Evidence) -> cst.Module | None:
    """Without the statement on the line that the recording names, where it does nothing but change weights in place:
    `for p in model.parameters(): p.data.mul_(30)`."""
    named = _changing(module, evidence)
    return None if named is None else syntax.removed(module, lambda line: line is named)


def _named_elsewhere(evidence: Evidence) -> bool:
    return any(evidence.lines.get(cause, (evidence.file, 0))[0] != evidence.file for cause in _CAUSES)


def _changing(module: cst.Module, evidence: Evidence) -> cst.SimpleStatementLine | None:
    for cause in _CAUSES:
        here = syntax.statements_at(module, evidence.line(cause))
        if len(here) == 1 and all(map(_changes_in_place, here[0].body)):
            return here[0]
    return None


def _changes_in_place(part: cst.BaseSmallStatement) -> bool:
    """Not a call of `nn.init` alone, which is set right where it stands."""
    if isinstance(part, cst.Expr) and isinstance(part.value, cst.Call) and _is_init(part.value):
        return False
    calls = syntax.calls_in(part.value) if isinstance(part, cst.Expr) else []
    return any(isinstance(call.func, cst.Attribute) and _in_place(syntax.called(call)) for call in calls)


def _in_place(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _by_hand(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """`torch.ones(a, b) * scale` on the line that the recording names: random numbers of the same scale."""
    made = [call for call in syntax.calls_in(module) if syntax.dotted(call.func) in _FILLED and len(call.args) > 1]
    places = syntax.lines_of(module, made)
    here = [call for call in made if places.get(call) == evidence.line("constant-init")]
    if len(here) != 1:
        return None
    call, given = here[0], here[0].args
    if syntax.called(call) == "full":
        shape = given[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        given = [shape, *given[2:]]
    drawn = call.with_changes(func=cst.parse_expression("torch.randn"), args=given)
    if setting.value == "fan_in" and syntax.called(call) == "ones":
        return syntax.replaced(module, call, drawn)
    small = cst.BinaryOperation(drawn, cst.Multiply(), syntax.number(SMALL), [cst.LeftParen()], [cst.RightParen()])
    return syntax.replaced(module, call, small) if setting.value == "small" else None


def _is_init(call: cst.Call) -> bool:
    inside = isinstance(call.func, cst.Attribute) and syntax.dotted(call.func.value).rpartition(".")[2] == "init"
    return inside and syntax.called(call) in _SETS and bool(call.args)
