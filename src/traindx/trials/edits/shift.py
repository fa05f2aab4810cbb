"""A target that is cut from the data like the input, one token later."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_ONE = cst.Integer("1")
_WHERE = (
    m.Name() | m.BinaryOperation() | m.Attribute() | m.Call() | m.Subscript()
)  # a bound that is computed, not written


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """Two statements after each other that cut the same piece: the second is the target."""
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
        return updated_node.with_changes(
            lower=cst.BinaryOperation(updated_node.lower, cst.Add(), _ONE),
            upper=cst.BinaryOperation(updated_node.upper, cst.Add(), _ONE),
        )
