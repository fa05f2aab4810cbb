"""What cuts the graph, taken away: `.detach()`, `.data` or a `torch.no_grad()` block, on the line that the recording
names, or the only `.detach()` of the forward passes."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_DETACH = m.Call(func=m.Attribute(attr=m.Name("detach")), args=[])
_DATA = m.Attribute(attr=m.Name("data"))
_NO_GRAD = m.With(
    items=[m.WithItem(item=m.Call(func=m.Attribute(attr=m.Name("no_grad")) | m.Name("no_grad"), args=[]), asname=None)],
    body=m.IndentedBlock(),
)


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    line = evidence.line("detached-graph")
    if line is not None:
        return _at(module, line)
    found = [
        call
        for function in m.findall(module, m.FunctionDef(name=m.Name("forward")))
        for call in m.findall(function, _DETACH)
    ]
    return _without(module, found[0]) if len(found) == 1 else None


def _at(module: cst.Module, line: int) -> cst.Module | None:
    """The one cut that stands on a line, or the block without gradients around it."""
    cuts = [node for node in m.findall(module, _DETACH | _DATA) if isinstance(node, cst.Call | cst.Attribute)]
    places = syntax.lines_of(module, cuts)
    here = [cut for cut in cuts if places.get(cut) == line]
    if len(here) == 1:
        return _without(module, here[0])
    around = [block for block in m.findall(module, _NO_GRAD) if isinstance(block, cst.With)]
    spans = syntax.spans_of(module, around)
    blocks = [block for block in around if spans[block][0] <= line <= spans[block][1]]
    return _without_block(module, blocks[-1]) if len(blocks) == 1 and not here else None


def _without(module: cst.Module, cut: cst.CSTNode) -> cst.Module | None:
    kept = cut.func.value if isinstance(cut, cst.Call) and isinstance(cut.func, cst.Attribute) else None
    if isinstance(cut, cst.Attribute):
        kept = cut.value
    if kept is None:
        return None
    changed = module.deep_replace(cut, kept)
    return changed if isinstance(changed, cst.Module) else None


def _without_block(module: cst.Module, block: cst.With) -> cst.Module | None:
    """The statements of a block, one level further out."""

    class Lifted(cst.CSTTransformer):
        def leave_With(
            self, original_node: cst.With, updated_node: cst.With
        ) -> cst.With | cst.FlattenSentinel[cst.BaseStatement]:
            if original_node is not block or not isinstance(updated_node.body, cst.IndentedBlock):
                return updated_node
            first, *rest = updated_node.body.body
            lead = [*updated_node.leading_lines, *getattr(first, "leading_lines", ())]
            return cst.FlattenSentinel([first.with_changes(leading_lines=lead), *rest])

    changed = module.visit(Lifted())
    return changed if isinstance(changed, cst.Module) else None
