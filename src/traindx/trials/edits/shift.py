"""A target that is cut from the data like the input, one token later."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_ONE = cst.Integer("1")
_WHERE = (
    m.Name() | m.BinaryOperation() | m.Attribute() | m.Call() | m.Subscript()
)  # a bound that is computed, not written

_ALL_BUT_THE_LAST = m.UnaryOperation(operator=m.Minus(), expression=m.Integer("1"))
_BOUNDED = m.Slice(lower=_WHERE, upper=_WHERE) | m.Slice(lower=None, upper=_ALL_BUT_THE_LAST)


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """Two statements after each other that cut the same piece: the second is the target. Else the one piece that is cut
    on the line that the recording names."""
    return _by_its_input(module) or _on_the_line(module, evidence.line("target-not-shifted"))


def _on_the_line(module: cst.Module, line: int | None) -> cst.Module | None:
    """`labels = ids[:, :-1]` becomes `labels = ids[:, 1:]`."""
    for statement in syntax.statements_at(module, line):
        pieces = [one for one in m.findall(statement, _BOUNDED) if isinstance(one, cst.Slice)]
        if len(pieces) == 1:
            return syntax.replaced(module, pieces[0], _later(pieces[0]))
    return None


def _by_its_input(module: cst.Module) -> cst.Module | None:
    found = [
        second
        for block in m.findall(module, m.IndentedBlock() | m.Module())
        if isinstance(block, cst.IndentedBlock | cst.Module)
        for first, second in zip(block.body, block.body[1:], strict=False)
        if (cut := _cut(first)) is not None and (other := _cut(second)) is not None and cut.deep_equals(other)
    ]
    if len(found) != 1:
        return None
    later = found[0].visit(_Later())
    changed = module.deep_replace(found[0], later) if isinstance(later, cst.BaseStatement) else None
    return changed if isinstance(changed, cst.Module) else None


def _cut(statement: cst.CSTNode) -> cst.BaseExpression | None:
    """What one name is given by a statement, where that is one piece of something from here to there."""
    found = m.extract(
        statement,
        m.SimpleStatementLine([m.Assign([m.AssignTarget(m.Name())], m.SaveMatchedNode(m.DoNotCare(), "value"))]),
    )
    value = None if found is None else found["value"]
    if not isinstance(value, cst.BaseExpression):
        return None
    return value if len(m.findall(value, m.Slice(lower=_WHERE, upper=_WHERE))) == 1 else None


class _Later(cst.CSTTransformer):
    def leave_Slice(self, original_node: cst.Slice, updated_node: cst.Slice) -> cst.Slice:
        if updated_node.lower is None or updated_node.upper is None:
            return updated_node
        return _later(updated_node)


def _later(piece: cst.Slice) -> cst.Slice:
    """The same piece, one further on."""
    if piece.lower is None:  # all but the last
        return piece.with_changes(lower=_ONE, upper=None)
    assert piece.upper is not None
    return piece.with_changes(
        lower=cst.BinaryOperation(piece.lower, cst.Add(), _ONE),
        upper=cst.BinaryOperation(piece.upper, cst.Add(), _ONE),
    )
