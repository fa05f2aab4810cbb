"""`model.train()` before the loop over the training batches."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    named = syntax.switched(module, evidence.line("eval-mode-during-training"), "eval", "train")
    if named is not None:
        return named
    switched = {
        syntax.dotted(call.func.value)
        for call in syntax.calls_in(module)
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "eval" and not call.args
    }
    loops = [node for node in m.findall(module, m.For()) if isinstance(node, cst.For) and _trains(node)]
    inner = [loop for loop in loops if not any(other is not loop and _holds(loop, other) for other in loops)]
    if len(switched) != 1 or len(inner) != 1:
        return None
    model = switched.pop()
    used = {syntax.dotted(call.func) for call in syntax.calls_in(inner[0])}
    if model not in used:
        return None
    placing = _Before(inner[0], f"{model}.train()")
    changed = module.visit(placing)
    return changed if placing.count else None


def _trains(node: cst.For) -> bool:
    return "backward" in {syntax.called(call) for call in syntax.calls_in(node)}


def _holds(outer: cst.For, inner: cst.For) -> bool:
    return any(found is inner for found in m.findall(outer.body, m.For()))


class _Before(cst.CSTTransformer):
    def __init__(self, loop: cst.For, code: str) -> None:
        super().__init__()
        self.loop, self.code = loop, code
        self.count = 0

    def leave_For(
        self, original_node: cst.For, updated_node: cst.For
    ) -> cst.For | cst.FlattenSentinel[cst.BaseStatement]:
        if original_node is not self.loop:
            return updated_node
        self.count += 1
        before = syntax.statement(self.code).with_changes(leading_lines=updated_node.leading_lines)
        return cst.FlattenSentinel([before, updated_node.with_changes(leading_lines=())])
