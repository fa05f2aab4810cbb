"""Labels in the order of their inputs: the permutation on the line that the recording names, taken away, or the one
that is drawn there for one side only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_DRAWN = ("randperm", "permutation", "argsort")  # an order of its own, as an index
_MOVED = ("flip", "roll", "flipud")  # the same values in another order
_LISTED = ("sorted", "reversed")  # the same for what is no tensor


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    line = evidence.line("labels-misaligned")
    if line is None:
        return None
    found = [
        (node, kept)
        for node in m.findall(module, m.Subscript() | m.Call())
        if isinstance(node, cst.Subscript | cst.Call) and (kept := _in_order(node)) is not None
    ]
    places = syntax.lines_of(module, [node for node, _ in found])
    here = [(node, kept) for node, kept in found if places.get(node) == line]
    if not here:
        return _unshuffled(module, line) or _one_sided(module, line)
    if len(here) != 1:
        return _drawn_once(module, [node for node, _ in here])
    node, kept = here[0]
    if isinstance(kept, cst.GeneratorExp):  # sorted() made a list of it
        kept = cst.ListComp(kept.elt, kept.for_in)
    order = _order_nearby(module, node) if isinstance(node, cst.Subscript) else None
    if order is not None and isinstance(node, cst.Subscript):
        kept = node.with_changes(slice=[cst.SubscriptElement(cst.Index(cst.Name(order)))])
    return syntax.replaced(module, node, kept)


def _drawn_once(module: cst.Module, nodes: Sequence[cst.CSTNode]) -> cst.Module | None:
    """`x[torch.randperm(n)], y[torch.randperm(n)]`: one order for all of them, drawn before."""
    drawn = [node for node in nodes if isinstance(node, cst.Subscript)]
    statements = [
        one for one in m.findall(module, m.SimpleStatementLine())
        if isinstance(one, cst.SimpleStatementLine) and any(part is drawn[0] for part in syntax.parts_of(one))
    ] if drawn else []  # fmt: skip
    whole = len(drawn) == len(nodes) and len(statements) == 1
    if not whole or any(all(part is not one for part in syntax.parts_of(statements[0])) for one in drawn):
        return None
    name = next(one for one in ("order", "shuffled_order", "common_order") if not m.findall(module, m.Name(one)))
    index = drawn[0].slice[0].slice
    assert isinstance(index, cst.Index)
    drawing = syntax.statement(f"{name} = {module.code_for_node(index.value)}")
    return module.visit(_Once(statements[0], drawn, name, drawing))


class _Once(cst.CSTTransformer):
    """These orders become a name, and the statement that sets it goes before theirs."""

    def __init__(
        self, line: cst.SimpleStatementLine, drawn: Sequence[cst.Subscript], name: str, drawing: cst.SimpleStatementLine
    ) -> None:
        super().__init__()
        self.line, self.drawn, self.name, self.drawing = line, drawn, name, drawing

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.Subscript:
        if not any(original_node is one for one in self.drawn):
            return updated_node
        return updated_node.with_changes(slice=[cst.SubscriptElement(cst.Index(cst.Name(self.name)))])

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.BaseStatement]:
        if original_node is not self.line:
            return updated_node
        drawing = self.drawing.with_changes(leading_lines=updated_node.leading_lines)
        return cst.FlattenSentinel([drawing, updated_node.with_changes(leading_lines=())])


def _unshuffled(module: cst.Module, line: int) -> cst.Module | None:
    """Without a statement that does nothing but shuffle something in place: `rng.shuffle(labels)`."""
    shuffles = m.Call(func=m.Attribute(attr=m.Name("shuffle")) | m.Name("shuffle"))
    alone = m.SimpleStatementLine(body=[m.Expr(shuffles)])
    here = [one for one in syntax.statements_at(module, line) if m.matches(one, alone)]
    return syntax.removed(module, lambda one: one is here[0]) if len(here) == 1 else None


def _one_sided(module: cst.Module, line: int) -> cst.Module | None:
    """An order that is drawn on the line, or just before it, and used once: what it is used for keeps its own."""
    for at in (line, line - 1):
        for statement in syntax.statements_at(module, at):
            assign = statement.body[0]
            if not isinstance(assign, cst.Assign) or syntax.called(assign.value) not in _DRAWN:
                continue
            name = syntax.dotted(assign.targets[0].target)
            index = m.Subscript(slice=[m.SubscriptElement(m.Index(m.Name(name)))])
            uses = [one for one in m.findall(module, index) if isinstance(one, cst.Subscript)]
            if name and len(uses) == 1 and len(m.findall(module, m.Name(name))) == 2:
                changed = syntax.replaced(module, uses[0], uses[0].value)
                return None if changed is None else syntax.removed(changed, partial(_assigns, name))
    return None


def _assigns(name: str, line: cst.SimpleStatementLine) -> bool:
    return m.matches(line, m.SimpleStatementLine(body=[m.Assign(targets=[m.AssignTarget(m.Name(name))])]))


def _order_nearby(module: cst.Module, node: cst.Subscript) -> str | None:
    """The drawn order that the statement gives something else: 'rows' of `x[rows], y[torch.randperm(n)]`."""
    drawn = {
        syntax.dotted(one.targets[0].target)
        for one in m.findall(module, m.Assign())
        if isinstance(one, cst.Assign) and syntax.called(one.value) in _DRAWN
    }
    for line in m.findall(module, m.SimpleStatementLine()):
        subscripts = m.findall(line, m.Subscript(slice=[m.SubscriptElement(m.Index(m.Name()))]))
        if any(inner is node for inner in m.findall(line, m.Subscript())):
            names = {name.value for one in subscripts for index in one.children for name in m.findall(index, m.Name())}  # type: ignore[attr-defined]
            orders = names & drawn
            return orders.pop() if len(orders) == 1 else None
    return None


def _in_order(node: cst.Subscript | cst.Call) -> cst.BaseExpression | None:
    """What is put into another order here."""
    if isinstance(node, cst.Call):
        if syntax.dotted(node.func) in _LISTED:
            return node.args[0].value if node.args else None
        if syntax.called(node) not in _MOVED or not isinstance(node.func, cst.Attribute):
            return None
        of_a_module = m.matches(node.func.value, m.Name("torch") | m.Name("np") | m.Name("numpy"))
        return node.args[0].value if of_a_module and node.args else node.func.value
    index = node.slice[0].slice if len(node.slice) == 1 else None
    drawn = isinstance(index, cst.Index) and isinstance(index.value, cst.Call) and syntax.called(index.value) in _DRAWN
    return node.value if drawn else None
