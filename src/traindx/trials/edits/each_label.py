"""A loss for each label by itself where a sample may have several: binary cross-entropy instead of cross-entropy."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.losses import with_other_loss
from traindx.trials.setting import Setting

_FOR_EACH = {"cross_entropy": "binary_cross_entropy_with_logits", "CrossEntropyLoss": "BCEWithLogitsLoss"}
_SHARED = ("reduction", "input", "target")  # options that both losses have


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    options = {
        one.keyword.value
        for call in syntax.calls_in(module)
        if syntax.called(call) in _FOR_EACH
        for one in call.args
        if one.keyword is not None
    }
    return None if options - set(_SHARED) else with_other_loss(module, _FOR_EACH)
