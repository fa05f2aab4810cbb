"""What clears the gradients, moved from between `backward()` and `step()` to after `step()`."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """`zero_grad()` wherever it stands there; else the statement on the line that the recording names."""
    moving = _Moving(())
    changed = module.visit(moving)
    if not moving.count:
        moving = _Moving(syntax.statements_at(module, evidence.line("gradients-cleared-before-step")))
        changed = module.visit(moving)
    return changed if moving.count else None


class _Moving(cst.CSTTransformer):
    def __init__(self, named: Sequence[cst.BaseStatement]) -> None:
        super().__init__()
        self.named = named
        self.count = 0

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        return updated_node.with_changes(body=self._moved(updated_node.body))

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        return updated_node.with_changes(body=self._moved(updated_node.body))

    def _moved(self, body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
        lines = list(body)
        for line in body:
            clears = _calls(line, "zero_grad") or any(line.deep_equals(one) for one in self.named)
            if not clears:
                continue
            place = next(i for i, one in enumerate(lines) if one is line)
            after = next((i for i in range(place + 1, len(lines)) if _calls(lines[i], "step", "backward")), None)
            ran = any(_calls(one, "backward") for one in lines[:place])
            if ran and after is not None and _calls(lines[after], "step"):
                lines.insert(after + 1, line)
                del lines[place]
                self.count += 1
        return lines


def _calls(line: cst.BaseStatement, *names: str) -> bool:
    """A statement of one line that calls a method of one of these names; the step of a schedule is none."""
    return isinstance(line, cst.SimpleStatementLine) and any(
        syntax.called(call) in names and "sched" not in syntax.dotted(call.func).lower()
        for call in syntax.calls_in(line)
    )
