"""What cuts the graph, taken away on the line that the recording names: `.detach()`, `.data`, a tensor made anew of
plain numbers or of an array, a block or a function without gradients; else the only `.detach()` of a forward pass."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_DETACH = m.Call(func=m.Attribute(attr=m.Name("detach")), args=[])
_OFF = m.Call(
    func=m.Attribute(attr=m.Name("no_grad") | m.Name("inference_mode")) | m.Name("no_grad") | m.Name("inference_mode"),
    args=[],
)
_NO_GRAD = m.With(items=[m.WithItem(item=_OFF, asname=None)], body=m.IndentedBlock())
_LEAVING = frozenset({"detach", "detach_", "item", "numpy", "tolist"})  # methods that give up the graph
_ARRAYS = frozenset({"numpy", "tolist"})
_MAKING = frozenset({"tensor", "as_tensor", "from_numpy", "asarray", "array", "FloatTensor", "Tensor"})
_LIBRARIES = ("torch", "np", "numpy")


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    line = evidence.line("detached-graph")
    if line is not None:
        return _at(module, line)
    found = [
        call
        for function in m.findall(module, m.FunctionDef(name=m.Name("forward")))
        for call in m.findall(function, _DETACH)
        if isinstance(call, cst.Call)
    ]
    return _joined(module, found[0]) if len(found) == 1 else None


def _at(module: cst.Module, line: int) -> cst.Module | None:
    """The one cut that stands on a line, or the block or the function without gradients around it."""
    outermost = [cut for statement in syntax.statements_at(module, line) for cut in _cuts(statement)]
    places = syntax.lines_of(module, outermost)
    here = [cut for cut in outermost if places.get(cut) == line] or outermost
    if len(here) == 1:
        return _joined(module, here[0])
    if here:
        return None
    around = [block for block in m.findall(module, _NO_GRAD) if isinstance(block, cst.With)]
    spans = syntax.spans_of(module, around)
    blocks = [block for block in around if spans[block][0] <= line <= spans[block][1]]
    return _without_block(module, blocks[-1]) if len(blocks) == 1 else _without_decorator(module, line)


def _cuts(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """What gives up the graph below a node, the outermost only."""
    if isinstance(node, cst.Call | cst.Attribute) and _inside(node) is not None:
        return [node]
    return [cut for child in node.children for cut in _cuts(child)]


def _inside(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What one such step is made of."""
    if isinstance(node, cst.Attribute):
        return node.value if node.attr.value == "data" else None
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    name, owner = node.func.attr.value, node.func.value
    if name in _MAKING and syntax.dotted(owner) in _LIBRARIES:
        return node.args[0].value if node.args and not isinstance(node.args[0].value, cst.List) else None
    if name in _LEAVING and not node.args:
        return owner
    elsewhere = name == "requires_grad_" and _inside(owner) is not None
    return owner if elsewhere else None


def _bare(node: cst.BaseExpression) -> cst.BaseExpression:
    """Through all of such steps after each other."""
    array = False
    while True:
        name = syntax.called(node)
        inner = node.func.value if array and name == "cpu" and isinstance(node, cst.Call) and isinstance(
            node.func, cst.Attribute) else _inside(node)  # fmt: skip
        if inner is None:
            return node
        array = array or name in _ARRAYS
        node = inner


def _joined(module: cst.Module, cut: cst.BaseExpression) -> cst.Module | None:
    """Without the cut; and where it went through an array that has a name, without the way back."""
    kept = _bare(cut)
    name = _array_of(module, cut)
    if _only_renames(module, cut, kept):
        return syntax.removed(module, lambda line: any(cut is part for part in syntax.parts_of(line)))
    changed = syntax.replaced(module, cut, kept)
    if changed is None or not name:
        return changed
    back = [
        call
        for call in syntax.calls_in(changed)
        if syntax.called(call) in _MAKING and call.args and syntax.dotted(call.args[0].value) == name
    ]
    return syntax.replaced(changed, back[0], back[0].args[0].value) if len(back) == 1 else changed


def _only_renames(module: cst.Module, cut: cst.BaseExpression, kept: cst.BaseExpression) -> bool:
    """A statement that is left as `x = x` without the cut."""
    name = syntax.dotted(kept)
    return bool(name) and any(
        isinstance(one, cst.Assign) and one.value is cut and [syntax.dotted(t.target) for t in one.targets] == [name]
        for one in m.findall(module, m.Assign())
    )


def _array_of(module: cst.Module, cut: cst.BaseExpression) -> str:
    """The name that is given the plain numbers of a tensor, or ''."""
    if syntax.called(cut) not in _LEAVING:
        return ""
    for node in m.findall(module, m.Assign(targets=[m.AssignTarget(m.Name())])):
        if isinstance(node, cst.Assign) and node.value is cut:
            return syntax.dotted(node.targets[0].target)
    return ""


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


def _without_decorator(module: cst.Module, line: int) -> cst.Module | None:
    """`@torch.no_grad()` above the function that the line stands in."""
    found = [
        (function, decorator)
        for function in m.findall(module, m.FunctionDef())
        if isinstance(function, cst.FunctionDef)
        for decorator in function.decorators
        if m.matches(decorator.decorator, _OFF)
    ]
    spans = syntax.spans_of(module, [function for function, _ in found])
    here = [(one, off) for one, off in found if spans[one][0] <= line <= spans[one][1]]
    if len(here) != 1:
        return None
    function, decorator = here[0]
    kept = [one for one in function.decorators if one is not decorator]
    return syntax.replaced(module, function, function.with_changes(decorators=kept))
