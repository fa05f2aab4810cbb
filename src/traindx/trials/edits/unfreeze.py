"""Remove what freezes parameters: `requires_grad = False`, `requires_grad_(False)`; or give True to a function that
sets it as it is asked to."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_ON = cst.Name("True")
_METHOD = m.Attribute(attr=m.Name("requires_grad_"))
_OFF = m.Call(_METHOD, [m.Arg(m.Name("False"))])
_FIELD = m.AssignTarget(m.Attribute(attr=m.Name("requires_grad")))


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    line = evidence.line("frozen-params")
    named = [one for one in syntax.statements_at(module, line) if _freezes(one)]
    if named:  # what else is frozen may be so on purpose
        return syntax.removed(module, lambda one: one is named[0])
    elsewhere = line is None and "frozen-params" in evidence.lines
    unfrozen = None if elsewhere else syntax.removed(module, _freezes)
    return unfrozen or _asked_to(module, line) or _always(module)


def _freezes(line: cst.SimpleStatementLine) -> bool:
    for part in line.body:
        if m.matches(part, m.Assign(targets=[_FIELD], value=m.Name("False"))):
            return True
        if m.matches(part, m.Expr(_OFF | m.ListComp(elt=_OFF))):
            return True
    return False


def _asked_to(module: cst.Module, line: int | None) -> cst.Module | None:
    """`set_trainable(net.encoder, warm)` on the line that the recording names is given True."""
    for statement in syntax.statements_at(module, line):
        call = m.extract(statement, m.SimpleStatementLine([m.Expr(m.SaveMatchedNode(m.Call(), "call"))]))
        found = None if call is None else call["call"]
        if isinstance(found, cst.Call) and len(found.args) == 2 and not found.args[1].star:
            return syntax.replaced(module, found.args[1].value, _ON)
    return None


def _always(module: cst.Module) -> cst.Module | None:
    """`p.requires_grad_(flag)` and `p.requires_grad = flag`, where the flag is a parameter of the function."""
    flags = [
        flag
        for function in m.findall(module, m.FunctionDef())
        if isinstance(function, cst.FunctionDef)
        for flag in _flags(function)
    ]
    return syntax.replaced(module, flags[0], _ON) if len(flags) == 1 else None


def _flags(function: cst.FunctionDef) -> list[cst.Name]:
    given = {one.name.value for one in (*function.params.params, *function.params.kwonly_params)}
    set_to = [one.args[0].value for one in m.findall(function, m.Call(_METHOD, [m.Arg()])) if isinstance(one, cst.Call)]
    fields = [one.value for one in m.findall(function, m.Assign(targets=[_FIELD])) if isinstance(one, cst.Assign)]
    return [one for one in (*set_to, *fields) if isinstance(one, cst.Name) and one.value in given]
