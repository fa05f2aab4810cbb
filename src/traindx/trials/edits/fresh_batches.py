"""The seed that is set in the loop, taken away, so that every update draws its own batch; a generator that is made
there, made once before."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_MAKING = frozenset({"manual_seed", "default_rng", "RandomState", "Random", "Generator"})


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """The statement on the line that the recording names, where it does nothing else than seed."""
    here = syntax.statements_at(module, evidence.line("same-batch-forever"))
    if len(here) != 1:
        return None
    if _only_seeds(here[0]) or _sets_again(module, here[0]):
        return syntax.removed(module, lambda line: line is here[0])
    return _made_before(module, here[0]) if _makes_generator(here[0]) else _without_generator(module, here[0])


def _without_generator(module: cst.Module, line: cst.SimpleStatementLine) -> cst.Module | None:
    """`torch.randint(…, generator=torch.Generator().manual_seed(0))`: a generator that begins anew at every draw."""
    found = [call for call in syntax.calls_in(line) if _begun_anew(syntax.argument(call, "generator"))]
    return (
        syntax.replaced(module, found[0], syntax.without_argument(found[0], "generator")) if len(found) == 1 else None
    )


def _begun_anew(given: cst.Arg | None) -> bool:
    return given is not None and syntax.called(given.value) in _MAKING


def _only_seeds(line: cst.SimpleStatementLine) -> bool:
    """`torch.manual_seed(0)`, or several of its kind on a line."""
    calls: list[cst.BaseExpression] = []
    for part in line.body:
        value = part.value if isinstance(part, cst.Expr) else None
        calls += [one.value for one in value.elements] if isinstance(value, cst.Tuple) else [value or cst.Name("_")]
    return all("seed" in syntax.called(call).lower() for call in calls)


def _sets_again(module: cst.Module, line: cst.SimpleStatementLine) -> bool:
    """What the loop around has just set is set to something else: `for x, y in loader: x, y = first`."""
    [part, *others] = line.body
    if others or not isinstance(part, cst.Assign) or len(part.targets) != 1:
        return False
    loops = [
        one for one in m.findall(module, m.For())
        if isinstance(one, cst.For) and any(inner is line for inner in one.body.body)
    ]  # fmt: skip
    own, set_by_loop = _plain_names(part.targets[0].target), _plain_names(loops[0].target) if loops else set()
    made_of = {name.value for name in m.findall(part.value, m.Name()) if isinstance(name, cst.Name)}
    anew = syntax.called(part.value) in ("next", "setdefault") or not made_of & own
    return bool(own) and own <= set_by_loop and anew


def _plain_names(target: cst.BaseExpression) -> set[str]:
    return {name.value for name in m.findall(target, m.Name()) if isinstance(name, cst.Name)}


def _makes_generator(line: cst.SimpleStatementLine) -> bool:
    """`rng = np.random.default_rng(0)`, and nothing else on the line."""
    [part, *others] = line.body
    given = isinstance(part, cst.Assign) and len(part.targets) == 1 and isinstance(part.targets[0].target, cst.Name)
    return given and not others and isinstance(part, cst.Assign) and syntax.called(part.value) in _MAKING


def _made_before(module: cst.Module, line: cst.SimpleStatementLine) -> cst.Module | None:
    """The statement before the outermost loop of its function, else before the function or its class. Not where it is
    made of something that is only known inside."""
    around = [
        one for one in m.findall(module, m.For() | m.While() | m.FunctionDef() | m.ClassDef())
        if any(part is line for part in syntax.parts_of(one))
    ]  # fmt: skip
    around.sort(key=lambda one: -sum(1 for _ in syntax.parts_of(one)))  # the outermost first
    functions = [place for place, one in enumerate(around) if isinstance(one, cst.FunctionDef)]
    loops = [one for one in around[functions[-1] if functions else 0 :] if isinstance(one, cst.For | cst.While)]
    outside = (loops or around)[:1]
    if not outside or _needs(line) & _given_in(outside[0], line):
        return None
    return module.visit(_Moved(line, outside[0]))


def _needs(line: cst.SimpleStatementLine) -> set[str]:
    assign = line.body[0]
    value = assign.value if isinstance(assign, cst.Assign) else assign
    return {name.value for name in m.findall(value, m.Name()) if isinstance(name, cst.Name)}


def _given_in(place: cst.CSTNode, line: cst.SimpleStatementLine) -> set[str]:
    """Names that are given a value in a part of the source, this line left out."""
    inside = {id(part) for part in syntax.parts_of(line)}
    targets = m.findall(place, m.AssignTarget() | m.For() | m.Param() | m.NamedExpr() | m.AugAssign() | m.AsName())
    names: set[str] = set()
    for one in targets:
        if id(one) not in inside:
            target: cst.CSTNode = getattr(one, "target", None) or getattr(one, "name", None) or place
            names |= {name.value for name in m.findall(target, m.Name()) if isinstance(name, cst.Name)}
    return names


class _Moved(cst.CSTTransformer):
    def __init__(self, line: cst.SimpleStatementLine, place: cst.CSTNode) -> None:
        super().__init__()
        self.line, self.place = line, place

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        return cst.RemoveFromParent() if original_node is self.line else updated_node

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> object:  # type: ignore[override]
        changed = super().on_leave(original_node, updated_node)
        if original_node is not self.place or not isinstance(changed, cst.BaseStatement):
            return changed
        lead = getattr(changed, "leading_lines", ())
        first = self.line.with_changes(leading_lines=lead)
        kept = [cst.EmptyLine(), cst.EmptyLine()] if isinstance(changed, cst.FunctionDef | cst.ClassDef) else []
        return cst.FlattenSentinel([first, changed.with_changes(leading_lines=kept)])
