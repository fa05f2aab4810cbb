"""`optimizer.zero_grad()` before the `backward()` of each optimiser that has none."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    calls = syntax.calls_in(module)
    owners = sorted({name for call in calls if (name := _stepped(call))})
    cleared = {
        syntax.dotted(call.func.value)
        for call in calls
        if syntax.called(call) == "zero_grad" and isinstance(call.func, cst.Attribute)
    }
    missing = [name for name in owners if name not in cleared]
    if len(missing) != 1 or cleared - set(owners):  # a model that is cleared stands for one of them
        return None
    inserting = _Inserting(missing[0])
    changed = module.visit(inserting)
    return changed if inserting.count else None


def _stepped(call: cst.Call) -> str:
    """The optimiser of `optimizer.step()` and of `scaler.step(optimizer)`, or ''."""
    if syntax.called(call) != "step" or not isinstance(call.func, cst.Attribute):
        return ""
    name = syntax.dotted(call.func.value)
    if "scaler" in name.lower():
        return syntax.dotted(call.args[0].value) if call.args else ""
    return "" if call.args or "sched" in name.lower() else name


class _Inserting(cst.CSTTransformer):
    """Before the last `backward()` that stands before the step in its block; after the step where none does."""

    def __init__(self, owner: str) -> None:
        super().__init__()
        self.owner = owner
        self.count = 0

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        return updated_node.with_changes(body=self._cleared(updated_node.body))

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        return updated_node.with_changes(body=self._cleared(updated_node.body))

    def _cleared(self, body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
        lines = list(body)
        at = next((i for i, line in enumerate(lines) if self._steps(line)), None)
        if at is None:
            return lines
        self.count += 1
        before = [i for i in range(at) if _differentiates(lines[i])]
        clearing = syntax.statement(f"{self.owner}.zero_grad()")
        if before:
            place = before[-1]
            found = lines[place]
            assert isinstance(found, cst.SimpleStatementLine)
            clearing = clearing.with_changes(leading_lines=found.leading_lines)
            lines[place : place + 1] = [clearing, found.with_changes(leading_lines=())]
        else:
            lines.insert(at + 1, clearing)
        return lines

    def _steps(self, line: cst.BaseStatement) -> bool:
        return isinstance(line, cst.SimpleStatementLine) and any(
            _stepped(call) == self.owner for call in syntax.calls_in(line)
        )


def _differentiates(line: cst.BaseStatement) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and any(
        syntax.called(call) == "backward" for call in syntax.calls_in(line)
    )
