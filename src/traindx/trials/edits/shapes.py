"""`.squeeze(1)` on a prediction that has one column more than its target."""

from __future__ import annotations

import re

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """All calls of the loss that the recording saw broadcast; the other ones get the same two."""
    at = evidence.places.get("shapes-broadcast")
    if at is None or evidence.line("loss-shape-broadcast") not in (None, at[1]):
        return _written_out(module, evidence.line("loss-shape-broadcast"))
    calls = [call for call in syntax.calls_in(module) if len(call.args) >= 2]
    lines = syntax.lines_of(module, calls)
    here = [call for call in calls if lines.get(call) == at[1] and syntax.dotted(call.func)]
    losses = [call for call in here if "loss" in _word(call) or "mse" in _word(call) or "crit" in _word(call)]
    if len(losses) != 1:
        return _written_out(module, at[1])
    name, wide = syntax.dotted(losses[0].func), int(_target_is_wider(evidence))

    def change(call: cst.Call) -> cst.Call | None:
        if (
            syntax.dotted(call.func) != name
            or len(call.args) < 2
            or syntax.called(call.args[wide].value) in ("squeeze", "flatten", "view")
        ):
            return None
        args = list(call.args)
        flat = cst.Call(cst.Attribute(args[wide].value, cst.Name("squeeze")), [cst.Arg(cst.Integer("1"))])
        args[wide] = args[wide].with_changes(value=flat)
        return call.with_changes(args=args)

    return syntax.rewrite_calls(module, change)


def _written_out(module: cst.Module, line: int | None) -> cst.Module | None:
    """The one difference on the line that the recording names, of a prediction with a column more."""
    found = [
        node
        for node in m.findall(module, m.BinaryOperation(operator=m.Subtract()))
        if isinstance(node, cst.BinaryOperation) and all(map(_is_plain, (node.left, node.right)))
    ]
    places = syntax.lines_of(module, found)
    here = [node for node in found if line is not None and places.get(node) == line]
    if len(here) != 1:
        return None
    swapped = _TARGET.search(_last_word(here[0].left)) and not _TARGET.search(_last_word(here[0].right))
    prediction = here[0].right if swapped else here[0].left
    flat = cst.Call(cst.Attribute(prediction, cst.Name("squeeze")), [cst.Arg(cst.parse_expression("-1"))])
    return syntax.replaced(module, prediction, flat)


def _target_is_wider(evidence: Evidence) -> bool:
    """The recording saw a target with one dimension more than the prediction."""
    shapes = _SHAPES.search(evidence.texts.get("shapes-broadcast", ""))
    return shapes is not None and shapes["target"].count(",") > shapes["output"].count(",")


_SHAPES = re.compile(r"output of shape \(?(?P<output>[\d, ×x]+)\)? with a target of shape \(?(?P<target>[\d, ×x]+)")
# what targets are called
_TARGET = re.compile(r"^(y|t|yb|y_?true|y_?batch|targets?|labels?|truth|gt|ground_truth|y_?i|yy)$", re.IGNORECASE)


def _is_plain(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript)


def _last_word(node: cst.BaseExpression) -> str:
    while isinstance(node, cst.Subscript | cst.Call):
        node = node.value if isinstance(node, cst.Subscript) else node.func
    return syntax.last_name(node)


def _word(call: cst.Call) -> str:
    return syntax.dotted(call.func).lower()
