"""`functools.cache` on the `__getitem__` of the only data set there is, where nothing in it is random."""

from __future__ import annotations

import re

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_CHANGES = re.compile(r"rand|transform|augment|choice|noise|shuffle|jitter", re.IGNORECASE)
_GETITEM = m.FunctionDef(name=m.Name("__getitem__"))


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    found = [node for node in m.findall(module, _GETITEM) if isinstance(node, cst.FunctionDef)]
    if len(found) != 1 or found[0].decorators or _CHANGES.search(module.code_for_node(found[0])):
        return None
    decorator = cst.Decorator(cst.Attribute(cst.Name("functools"), cst.Name("cache")))
    kept = module.deep_replace(found[0], found[0].with_changes(decorators=[decorator]))
    if not isinstance(kept, cst.Module):
        return None
    if any("functools" in module.code_for_node(node) for node in m.findall(module, m.Import())):
        return kept
    imports = [line for line in kept.body if m.matches(line, m.SimpleStatementLine([m.Import() | m.ImportFrom()]))]
    later = [line for line in imports if not m.matches(line, _FUTURE)]
    return syntax.insert(kept, lambda line: line is later[0], before=["import functools"]) if later else None


_FUTURE = m.SimpleStatementLine([m.ImportFrom(module=m.Name("__future__"))])
