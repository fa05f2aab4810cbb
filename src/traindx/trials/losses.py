"""Another loss function in a source: its name where it is called or built, and where it is imported."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax


def with_other_loss(module: cst.Module, names: Mapping[str, str]) -> cst.Module | None:
    """Another name for the loss where it is called, and where it is imported by itself."""
    imported = {
        one.name.value
        for node in m.findall(module, m.ImportFrom())
        if isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar)
        for one in node.names
        if isinstance(one.name, cst.Name) and one.asname is None
    }
    changed = syntax.rewrite_calls(module, partial(_renamed, names, imported))
    return None if changed is None else _imported(changed, names)


def _renamed(names: Mapping[str, str], imported: set[str], call: cst.Call) -> cst.Call | None:
    name = names.get(syntax.called(call))
    if name is None:
        return None
    if isinstance(call.func, cst.Name):
        return call.with_changes(func=cst.Name(name)) if call.func.value in imported else None
    assert isinstance(call.func, cst.Attribute)
    return call.with_changes(func=call.func.with_changes(attr=cst.Name(name)))


def _imported(module: cst.Module, names: Mapping[str, str]) -> cst.Module:
    class Importing(cst.CSTTransformer):
        def leave_ImportAlias(self, original_node: cst.ImportAlias, updated_node: cst.ImportAlias) -> cst.ImportAlias:
            new = names.get(syntax.dotted(updated_node.name))
            return updated_node if new is None else updated_node.with_changes(name=cst.Name(new))

    return module.visit(Importing())
