"""Held-out data prepared like the training data: pairs of names, and statements of one that the other lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
import libcst.matchers as m

from traindx.lines.pairs import about, is_held_out, is_trained
from traindx.trials import syntax

_STATISTICS = frozenset({"mean", "std", "var", "min", "max", "amin", "amax", "median", "quantile", "percentile",
                         "nanmean", "nanstd", "std_mean", "var_mean"})  # fmt: skip
_FITTED = {"fit_transform": "transform"}


@dataclass(frozen=True)
class Set:
    """`name = value`, in the order of the source; `line` is the statement."""

    line: cst.SimpleStatementLine
    name: str
    value: cst.BaseExpression


def same_calls(module: cst.Module) -> cst.Module | None:
    """`val = f(val_rows, g(val_rows))` beside `train = f(train_rows, table)` becomes `f(val_rows, table)`, and what
    fits itself to held-out data only transforms it."""
    return _only_transformed(module) or _with_the_same(module)


def _with_the_same(module: cst.Module) -> cst.Module | None:
    sets = list(_sets(module))
    for held in sets:
        if not is_held_out(held.name) or not isinstance(held.value, cst.Call):
            continue
        for other in sets:
            if is_held_out(other.name) or about(other.name) != about(held.name) or not _alike(held.value, other.value):
                continue
            assert isinstance(other.value, cst.Call)
            for one, model in zip(held.value.args, other.value.args, strict=True):
                if _plain(model.value) and not one.value.deep_equals(model.value) and _of_held_out(one.value):
                    return syntax.replaced(module, one.value, model.value.deep_clone())
    return None


def _alike(one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    """Calls of one function with as many arguments of the same names, the first of which differs in name only."""
    if not isinstance(one, cst.Call) or not isinstance(other, cst.Call) or not one.func.deep_equals(other.func):
        return False
    words = [[arg.keyword.value if arg.keyword else "" for arg in call.args] for call in (one, other)]
    first = [syntax.dotted(call.args[0].value) if call.args else "" for call in (one, other)]
    return words[0] == words[1] and len(words[0]) > 1 and bool(first[0]) and about(first[0]) == about(first[1])


def _plain(node: cst.BaseExpression) -> bool:
    """A name that is of no part of the data alone, or a number."""
    name = syntax.dotted(node)
    return (bool(name) and not is_held_out(name) and not is_trained(name)) or syntax.number_of(node) is not None


def _of_held_out(node: cst.BaseExpression) -> bool:
    """Calculated from held-out data."""
    names = [one.value for one in m.findall(node, m.Name()) if isinstance(one, cst.Name)]
    return not isinstance(node, cst.Name) and any(map(is_held_out, names))


def _only_transformed(module: cst.Module) -> cst.Module | None:
    """`scaler.fit_transform(x_val)`, where `scaler` was fitted to something else before."""
    fitted = [
        call for call in syntax.calls_in(module)
        if syntax.called(call) in ("fit", *_FITTED) and isinstance(call.func, cst.Attribute) and call.args
    ]  # fmt: skip
    for call in fitted:
        assert isinstance(call.func, cst.Attribute)
        owner, name = syntax.dotted(call.func.value), syntax.dotted(call.args[0].value)
        before = [
            one for one in fitted
            if one is not call and isinstance(one.func, cst.Attribute) and syntax.dotted(one.func.value) == owner
            and not is_held_out(syntax.dotted(one.args[0].value))
        ]  # fmt: skip
        new = _FITTED.get(syntax.called(call))
        if owner and name and is_held_out(name) and before and new:
            return syntax.replaced(module, call.func.attr, cst.Name(new))
    return None


def unchanged_at(module: cst.Module, line: int | None) -> cst.Module | None:
    """Without the statement on a line that only makes something anew of itself where a model is evaluated."""
    here = syntax.statements_at(module, line)
    around = syntax.function_around(module, here[0]) if len(here) == 1 else None
    if around is None or "backward" in {syntax.called(call) for call in syntax.calls_in(around)}:
        return None
    own = [each for each in _sets(module) if each.line is here[0]]
    if len(own) != 1 or len(here[0].body) > 1 or not _calculated_from_itself(own[0]):
        return None
    return syntax.removed(module, lambda other: other is here[0])


def held_out_at(module: cst.Module, line: int | None) -> cst.Module | None:
    """`valid = sample(train_idx)` becomes `valid = sample(valid_idx)`, where that is made and read nowhere."""
    here = syntax.statements_at(module, line)
    if len(here) != 1:
        return None
    given = [node for node in m.findall(module, m.Name()) if isinstance(node, cst.Name)]
    made = {target.value for one in _targets(module) for target in m.findall(one, m.Name())}  # type: ignore[attr-defined]
    names = [node for node in m.findall(here[0], m.Name()) if isinstance(node, cst.Name) and is_trained(node.value)]
    changed = []
    for node in names:
        unread = [
            name for name in made
            if is_held_out(name) and about(name) == about(node.value)
            and sum(one.value == name for one in given) == 1
        ]  # fmt: skip
        if len(unread) == 1:
            changed.append((node, unread[0]))
    if len(changed) != 1:
        return None
    return syntax.replaced(module, changed[0][0], cst.Name(changed[0][1]))


def _targets(module: cst.Module) -> Iterator[cst.CSTNode]:
    """Where names are given a value."""
    for node in m.findall(module, m.AssignTarget() | m.Param()):
        yield node.target if isinstance(node, cst.AssignTarget) else node.name  # type: ignore[attr-defined]


def same_statements(module: cst.Module) -> cst.Module | None:
    """`x_train = (x_train - mean) / std`: the same for `x_val`, which is left as it is or changed in another way."""
    sets = list(_sets(module))
    for own in sets:
        if is_held_out(own.name) or not _calculated_from_itself(own):
            continue
        scope = syntax.function_around(module, own.line)
        partners = [
            one for one in sets
            if is_held_out(one.name) and about(one.name) == about(own.name)
            and syntax.function_around(module, one.line) is scope
        ]  # fmt: skip
        for name in dict.fromkeys(one.name for one in partners):
            changed = _mirrored(module, own, [one for one in partners if one.name == name])
            if changed is not None:
                return changed
    return None


def _mirrored(module: cst.Module, own: Set, partners: list[Set]) -> cst.Module | None:
    name = partners[0].name
    value = own.value.visit(_Renamed(own.name, name))
    assert isinstance(value, cst.BaseExpression)
    there = [one for one in partners if _calculated_from_itself(one)]
    if any(one.value.deep_equals(value) for one in there):
        return None
    if there:
        return syntax.replaced(module, there[-1].value, value) if len(there) == 1 else None
    places = syntax.lines_of(module, [own.line, *(one.line for one in partners)])
    after = max(places[one.line] for one in partners) > places[own.line]
    if after and _reads(value, own.name):
        return None  # its statistics are of what is prepared by then
    code = f"{name} = {module.code_for_node(value)}"
    if after:
        last = max(partners, key=lambda one: places[one.line])
        return syntax.insert(module, lambda line: line is last.line, after=[code])
    return syntax.insert(module, lambda line: line is own.line, before=[code])


class _Renamed(cst.CSTTransformer):
    """The data by another name; statistics of the first stay what they are."""

    def __init__(self, old: str, new: str) -> None:
        super().__init__()
        self.old, self.new = old, new
        self.kept: set[cst.CSTNode] = set()

    def visit_Call(self, node: cst.Call) -> bool:
        return syntax.called(node) not in _STATISTICS

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value=self.new) if updated_node.value == self.old else updated_node


def _calculated_from_itself(one: Set) -> bool:
    """`x = (x - mean) / std`, `x = x / 255`, `x = normalize(x)`."""
    if not _reads(one.value, one.name):
        return False
    inner = one.value.visit(_Renamed(one.name, f"{one.name}_"))
    changes = isinstance(one.value, cst.BinaryOperation | cst.Call)
    return changes and isinstance(inner, cst.BaseExpression) and _reads(inner, f"{one.name}_")


def _reads(node: cst.CSTNode, name: str) -> bool:
    return bool(m.findall(node, m.Name(name)))


def _sets(module: cst.Module) -> Iterator[Set]:
    """Every name that a statement sets; what several names are unpacked from has no value of its own."""
    for line in m.findall(module, m.SimpleStatementLine(body=[m.Assign()])):
        assert isinstance(line, cst.SimpleStatementLine)
        assign = line.body[0]
        assert isinstance(assign, cst.Assign)
        target, value = assign.targets[0].target, assign.value
        if isinstance(target, cst.Name):
            yield Set(line, target.value, value)
        elif isinstance(target, cst.Tuple):
            apart = isinstance(value, cst.Tuple) and len(value.elements) == len(target.elements)
            for place, element in enumerate(target.elements):
                if isinstance(element.value, cst.Name):
                    own = value.elements[place].value if apart and isinstance(value, cst.Tuple) else value
                    yield Set(line, element.value.value, own if apart else cst.Ellipsis())
