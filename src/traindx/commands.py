"""The commands that pages tell people to type, in one place: the engine and the reporters name what to do, and this is
how it is typed. `{script}`, `{source}` and `{cause}` are filled with the run's own names."""

from __future__ import annotations

import shlex

PROGRAM = "traindx"
RUN = f"{PROGRAM} run {{script}}"
FIX = f"{PROGRAM} fix {{script}}"
SANITY = f"{PROGRAM} sanity {{script}}"
GRADIENTS = f"{PROGRAM} gradients {{script}}"
ACTIVATIONS = f"{PROGRAM} activations {{script}}"
LR_RANGE = f"{PROGRAM} lr-range {{script}}"
CURVATURE = f"{PROGRAM} curvature {{script}}"
SPEED = f"{PROGRAM} speed {{script}}"
CHECKPOINT = f"{PROGRAM} checkpoint CHECKPOINT"
ASK = f"{PROGRAM} ask {{source}}"
CLASSES = f"{PROGRAM} diagnose {{source}} --classes N"
CONFIG = f"{PROGRAM} diagnose {{source}} --config config.yaml"
DIAGNOSE = f"{PROGRAM} diagnose"
DIAGNOSE_LOG = f"{PROGRAM} diagnose LOG"
ADD_CHECKPOINT = f"{PROGRAM} checkpoint … --add-to RUN.traindx"
PLOT = f"{PROGRAM} plot"
PLOT_RUN = f"{PROGRAM} plot {{source}}"
WHY = f"{PROGRAM} explain --why {{source}} {{cause}}"
EXPLAIN = f"{PROGRAM} explain {{cause}}"


def typed(command: str, *, script: str = "", source: str = "", cause: str = "") -> str:
    """A command with the names of a run in it, quoted for a shell."""
    return command.format(script=shlex.quote(script), source=shlex.quote(source), cause=cause)


def is_typed(text: str) -> bool:
    """Whether this is a command, and no advice in words."""
    return text.startswith(f"{PROGRAM} ")
