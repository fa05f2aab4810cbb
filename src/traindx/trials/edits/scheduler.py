"""`scheduler.step()` at the end of the epoch instead of every batch."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    schedulers = {
        syntax.dotted(node.targets[0].target)
        for node in m.findall(module, m.Assign())
        if isinstance(node, cst.Assign)
        and len(node.targets) == 1
        and syntax.called(node.value).endswith(("LR", "Restarts"))
    } - {""}
    if len(schedulers) != 1:
        return None
    name = schedulers.pop()
    moving = _Moving(name)
    changed = module.visit(moving)
    return changed if moving.count == 1 else _once(module, name)


def _once(module: cst.Module, name: str) -> cst.Module | None:
    """A schedule that is stepped in two places: not right after the optimiser as well."""
    steps = m.SimpleStatementLine([m.Expr(m.Call(m.Attribute(attr=m.Name("step"))))])
    stepped: list[tuple[cst.CSTNode, bool]] = []
    for block in m.findall(module, m.IndentedBlock()):
        assert isinstance(block, cst.IndentedBlock)
        owners = [syntax.dotted(line.body[0].value.func.value) if m.matches(line, steps) else "" for line in block.body]  # type: ignore[attr-defined]
        others = any(owner not in ("", name) for owner in owners)
        stepped += [(line, others) for line, owner in zip(block.body, owners, strict=True) if owner == name]
    after = [line for line, others in stepped if others]
    if len(stepped) != 2 or len(after) != 1:
        return None
    return syntax.removed(module, lambda line: line is after[0])


class _Moving(cst.CSTTransformer):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.count = 0

    def leave_For(self, original_node: cst.For, updated_node: cst.For) -> cst.For:
        """Only a loop that directly holds the loop in which the scheduler is stepped."""
        body = list(updated_node.body.body)
        for place, inner in enumerate(body):
            if not isinstance(inner, cst.For) or not isinstance(inner.body, cst.IndentedBlock):
                continue
            kept = [line for line in inner.body.body if not self._steps(line)]
            if len(kept) < len(inner.body.body) and kept:
                self.count += 1
                body[place] = inner.with_changes(body=inner.body.with_changes(body=kept))
                return updated_node.with_changes(
                    body=updated_node.body.with_changes(body=[*body, syntax.statement(f"{self.name}.step()")])
                )
        return updated_node

    def _steps(self, line: cst.CSTNode) -> bool:
        return isinstance(line, cst.SimpleStatementLine) and any(
            isinstance(call.func, cst.Attribute)
            and call.func.attr.value == "step"
            and syntax.dotted(call.func.value) == self.name
            for call in syntax.calls_in(line)
        )
