"""`log_softmax` and `logsigmoid` instead of the logarithm of a softmax or a sigmoid."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

import libcst as cst
import libcst.matchers as m
from libcst.metadata import ExpressionContext, ExpressionContextProvider, MetadataWrapper

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.picking import PICKING
from traindx.trials.setting import Setting

FUNCTIONS = ("torch", "F", "nn.functional", "torch.nn.functional", "functional")
_TORCH = re.compile(r"^\s*import torch\s*(,|#|$)", re.MULTILINE)


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """All of them: the numbers are the same wherever the old form was finite. Shares that have a name get their
    logarithms a name too."""
    named = {
        name: call
        for name, call in _named(module).items()
        if not re.search(rf"\blog_(not_)?{name}\b", module.code)  # its logarithms could not have a name of their own
    }
    space = _Space(named, bool(_TORCH.search(module.code)))

    def change(call: cst.Call) -> cst.BaseExpression | None:
        value = syntax.logarithm_of(call)
        return None if value is None else space.logs(value)

    changed = syntax.rewrite_calls(module, change)
    for name, lines in space.lines.items():
        made = partial(_assigns, name)
        if changed is not None:
            changed = syntax.insert(changed, made, after=list(dict.fromkeys(lines)))
        if changed is not None and len(m.findall(changed, m.Name(name))) == 1:  # the shares are asked for no more
            changed = syntax.removed(changed, made)
    return changed


class _Space:
    """Rewrites expressions in shares as the same of their logarithms, and notes the lines that make the logarithms of
    named ones."""

    def __init__(self, named: Mapping[str, cst.Call], torch: bool) -> None:
        self.named, self.torch = named, torch
        self.lines: dict[str, list[str]] = {}

    def logs(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """The logarithm of an expression, None where it is of no share."""
        if isinstance(node, cst.BinaryOperation):
            one = isinstance(node.operator, cst.Subtract) and syntax.number_of(node.left) == 1
            return self._share(node.right, rest=True) if one else None
        if isinstance(node, cst.Subscript):
            inner = self.logs(node.value)
            return None if inner is None else node.with_changes(value=inner)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in PICKING:
            inner = self.logs(node.func.value)
            return None if inner is None else node.with_changes(func=node.func.with_changes(value=inner))
        return self._share(node, rest=False)

    def _share(self, node: cst.BaseExpression, *, rest: bool) -> cst.BaseExpression | None:
        if not isinstance(node, cst.Name):
            return _logs_of(node, rest, self.torch)
        call = self.named.get(node.value)
        made = None if call is None else _logs_of(call, rest, self.torch)
        if made is None:
            return None
        new = f"log_not_{node.value}" if rest else f"log_{node.value}"
        self.lines.setdefault(node.value, []).append(f"{new} = {cst.Module([]).code_for_node(made)}")
        return cst.Name(new)


def _logs_of(node: cst.BaseExpression, rest: bool, torch: bool) -> cst.BaseExpression | None:
    """The call that makes the logarithms of this one's shares, or of what they lack to one."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    owner, kind = syntax.dotted(node.func.value), node.func.attr.value
    if kind == "softmax" and not rest:
        return node.with_changes(func=node.func.with_changes(attr=cst.Name("log_softmax")))
    if kind != "sigmoid":
        return None
    function = owner in FUNCTIONS
    given = node.args[0].value if function and len(node.args) == 1 else node.func.value
    if function != (len(node.args) == 1) or not (torch or owner == "F"):
        return None
    home = "F" if owner == "F" else "torch.nn.functional"
    return cst.Call(cst.parse_expression(f"{home}.logsigmoid"), [cst.Arg(_minus(given) if rest else given)])


def _minus(node: cst.BaseExpression) -> cst.BaseExpression:
    bare = isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript) or bool(node.lpar)
    return cst.UnaryOperation(
        cst.Minus(), node if bare else node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    )


def _named(module: cst.Module) -> dict[str, cst.Call]:
    """Names that are given a softmax or a sigmoid on a line of their own, and nothing else anywhere."""
    found = {}
    for line in m.findall(module, m.SimpleStatementLine(body=[m.Assign(targets=[m.AssignTarget(m.Name())])])):
        assert isinstance(line, cst.SimpleStatementLine)
        assign = line.body[0]
        assert isinstance(assign, cst.Assign)
        name = syntax.last_name(assign.targets[0].target)
        if syntax.called(assign.value) in ("softmax", "sigmoid") and _times_given(module, name) == 1:
            assert isinstance(assign.value, cst.Call)
            found[name] = assign.value
    return found


def _times_given(module: cst.Module, name: str) -> int:
    """How often a name is given a value: assigned in any way, or as a parameter."""
    contexts = MetadataWrapper(module, unsafe_skip_copy=True).resolve(ExpressionContextProvider)
    stored = [one for one in m.findall(module, m.Name(name)) if contexts.get(one) is ExpressionContext.STORE]
    return len(stored) + len(m.findall(module, m.Param(name=m.Name(name))))


def _assigns(name: str, line: cst.SimpleStatementLine) -> bool:
    return m.matches(line, m.SimpleStatementLine(body=[m.Assign(targets=[m.AssignTarget(m.Name(name))])]))
