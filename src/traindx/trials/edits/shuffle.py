"""`shuffle=True` for the training data loader."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """The first loader is that of training, unless the second one alone is called so."""
    loaders = [call for call in syntax.calls_in(module) if syntax.called(call) == "DataLoader" and call.args]
    named = [call for call in loaders if "train" in module.code_for_node(call.args[0]).lower()]
    chosen = (named or loaders)[:1]
    if not chosen or any(syntax.argument(chosen[0], name) for name in ("sampler", "batch_sampler")):
        return None
    return syntax.rewrite_calls(
        module,
        lambda call: (
            syntax.with_argument(call, "shuffle", cst.Name("True"), 2) if call.deep_equals(chosen[0]) else None
        ),
    )
