"""`model.eval()` before evaluation, and `model.train()` after it where nothing else says so."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_NO_GRAD = frozenset({"no_grad", "inference_mode"})


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    switched = syntax.switched(module, evidence.line("train-mode-during-eval"), "train", "eval")
    names = {syntax.called(call) for call in syntax.calls_in(module)}
    if switched is not None or "eval" in names:
        return switched
    placing = _Placing(_called_names(module), back="train" not in names)
    changed = module.visit(placing)
    return changed if placing.count else None


def _called_names(module: cst.Module) -> set[str]:
    """Names that something is a model by: its parameters are asked for, or a function has it as a parameter."""
    asked = {
        syntax.dotted(call.func.value)
        for call in syntax.calls_in(module)
        if isinstance(call.func, cst.Attribute)
        and call.func.attr.value in ("parameters", "named_parameters", "train", "state_dict")
    }
    taken = {node.name.value for node in m.findall(module, m.Param()) if isinstance(node, cst.Param)}
    return (asked | (taken & {"model", "net", "network"})) - {""}


class _Placing(cst.CSTTransformer):
    def __init__(self, models: set[str], back: bool) -> None:
        super().__init__()
        self.models, self.back = models, back
        self.count = 0

    def leave_With(
        self, original_node: cst.With, updated_node: cst.With
    ) -> cst.With | cst.FlattenSentinel[cst.BaseStatement]:
        if not any(syntax.called(item.item) in _NO_GRAD for item in original_node.items):
            return updated_node
        used = {syntax.dotted(call.func) for call in syntax.calls_in(original_node.body)} & self.models
        if len(used) != 1 or "backward" in {syntax.called(call) for call in syntax.calls_in(original_node.body)}:
            return updated_node
        self.count += 1
        name = used.pop()
        before = syntax.statement(f"{name}.eval()").with_changes(leading_lines=updated_node.leading_lines)
        after = [syntax.statement(f"{name}.train()")] if self.back else []
        return cst.FlattenSentinel([before, updated_node.with_changes(leading_lines=()), *after])
