"""The optimiser built before the loop instead of in it."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    named = [one for one in syntax.statements_at(module, evidence.line("optimizer-recreated")) if _builds(one)]
    alike = [
        one for one in m.findall(module, m.SimpleStatementLine())
        if named and isinstance(one, cst.SimpleStatementLine) and one is not named[0] and _same(one, named[0])
    ]  # fmt: skip
    if alike:  # it was built before as well
        return syntax.removed(module, lambda line: line is named[0])
    moving = _Moving()
    changed = module.visit(moving)
    return changed if moving.count == 1 else None


class _Moving(cst.CSTTransformer):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def leave_For(
        self, original_node: cst.For, updated_node: cst.For
    ) -> cst.For | cst.FlattenSentinel[cst.BaseStatement]:
        body = list(updated_node.body.body)
        built = [line for line in body if isinstance(line, cst.SimpleStatementLine) and _builds(line)]
        variable = syntax.last_name(original_node.target) if isinstance(original_node.target, cst.Name) else ""
        used = {name.value for line in built for name in _names(line)}
        if not built or variable in used or len(built) == len(body):
            return updated_node
        self.count += 1
        kept = [line for line in body if line not in built]
        first = built[0].with_changes(leading_lines=updated_node.leading_lines)
        return cst.FlattenSentinel([
            first, *built[1:],
            updated_node.with_changes(leading_lines=(), body=updated_node.body.with_changes(body=kept)),
        ])  # fmt: skip


def _same(one: cst.SimpleStatementLine, other: cst.SimpleStatementLine) -> bool:
    parts = zip(one.body, other.body, strict=False)
    return len(one.body) == len(other.body) and all(mine.deep_equals(its) for mine, its in parts)


def _builds(line: cst.SimpleStatementLine) -> bool:
    return any(
        isinstance(part, cst.Assign) and any(syntax.is_optimizer(call) for call in syntax.calls_in(part.value))
        for part in line.body
    )


def _names(node: cst.CSTNode) -> list[cst.Name]:
    return [name for name in m.findall(node, m.Name()) if isinstance(name, cst.Name)]
