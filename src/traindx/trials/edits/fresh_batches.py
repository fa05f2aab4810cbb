"""The seed that is set in the loop, taken away, so that every update draws its own batch."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """The statement on the line that the recording names, where it does nothing else than seed."""
    here = syntax.statements_at(module, evidence.line("same-batch-forever"))
    if len(here) != 1 or not _only_seeds(here[0]):
        return None
    return syntax.removed(module, lambda line: line is here[0])


def _only_seeds(line: cst.SimpleStatementLine) -> bool:
    return all(
        isinstance(part, cst.Expr) and isinstance(part.value, cst.Call) and "seed" in syntax.called(part.value).lower()
        for part in line.body
    )
