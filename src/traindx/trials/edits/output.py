"""Remove the activation behind the model's last layer: the one on the line that the recording names, else the only
one."""

from __future__ import annotations

import libcst as cst

from traindx.trials import outputs
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    for cause in ("relu-on-output", "bounded-output"):
        line = evidence.line(cause)
        if line is not None and (changed := outputs.without_at(module, outputs.ANY, line)) is not None:
            return changed
    return outputs.without_last(module, outputs.ANY)
