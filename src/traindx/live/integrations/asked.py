"""Callbacks that come without a change of code, and only where they were asked for: with TRAINDX=1 in the environment,
or in a script under `traindx run`. Frameworks import this module in every training, so it imports nothing until
then."""

from __future__ import annotations

import importlib
import os
from typing import Any

from traindx.live.host.bootstrap import RECORD

SWITCH = "TRAINDX"


def asked() -> bool:
    wanted = os.environ.get(SWITCH, "").strip().lower() in ("1", "true", "yes", "on")
    return wanted or bool(os.environ.get(RECORD))


def lightning_callbacks() -> list[Any]:
    """What Lightning adds to every Trainer (entry points `lightning.pytorch.callbacks_factory` and its older
    namesake)."""
    if not asked():
        return []
    from traindx.live.integrations.lightning import TraindxCallback

    return [TraindxCallback()]


def extend_trainer() -> None:
    """Give every Hugging Face Trainer of this process the callback. The list is not public, so that a version without
    it is left as it is."""
    from traindx.live.integrations.huggingface import TraindxCallback

    known = getattr(importlib.import_module("transformers.trainer"), "DEFAULT_CALLBACKS", None)
    if isinstance(known, list) and TraindxCallback not in known:
        known.append(TraindxCallback)
