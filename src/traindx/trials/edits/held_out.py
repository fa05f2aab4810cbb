"""Evaluate on the held-out data that the script has made, where it takes those it trains on."""

from __future__ import annotations

import libcst as cst

from traindx.trials import mirrored
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    return mirrored.held_out_at(module, evidence.line("train-val-leak"))
