"""`num_workers` of the data loaders."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """Workers that are started anew every epoch cost more than they give where epochs are short."""

    def change(call: cst.Call) -> cst.Call | None:
        if syntax.called(call) != "DataLoader" or not call.args:
            return None
        given = syntax.argument(call, "num_workers")
        current = 0.0 if given is None else syntax.number_of(given.value)
        if current is None:
            return None
        call = syntax.with_argument(call, "num_workers", syntax.number(setting.number(current)))
        return syntax.with_argument(call, "persistent_workers", cst.Name("True"))

    return syntax.rewrite_calls(module, change)
