"""Subjects from files: a factory that makes the model, a saved batch, and weights."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import torch

from traindx.errors import TraindxError
from traindx.live.events.hub import CRITERIA
from traindx.probes.given import subject_of
from traindx.probes.subject import Subject
from traindx.probes.tables import WEIGHTS, tensors_of

MOST_CLASSES = 1 << 20


def subject_from_files(factory: str, data: Path, checkpoint: Path | None = None, loss: str | None = None) -> Subject:
    """The model that `package.module:factory` makes, on the batch in `data`."""
    model = _model(factory)
    if checkpoint is not None:
        _load_weights(model, checkpoint)
    batch = tensors_of(data)
    if loss is not None and loss not in CRITERIA:
        raise TraindxError(
            f"{loss!r} is no loss function of torch.nn.functional.", f"Such as: {', '.join(CRITERIA[:4])}."
        )
    if isinstance(batch, dict):
        return subject_of(model, batch)
    if isinstance(batch, torch.Tensor) or len(batch) < 2:
        # without a target there is still a gradient to look at: that of the outputs' mean square
        only = (batch,) if isinstance(batch, torch.Tensor) else tuple(batch)
        return subject_of(model, only, lambda model, batch: _first(model(*batch)).float().square().mean())
    name = loss or _guess(tuple(batch)[-1])
    return subject_of(model, tuple(batch), getattr(torch.nn.functional, name))


def _model(factory: str) -> torch.nn.Module:
    module, _, name = factory.partition(":")
    if not module or not name:
        saved = "A saved model is a pickle, which is never opened: " if Path(factory).suffix else ""
        raise TraindxError(
            f"--model {factory} names no factory.",
            f"{saved}write --model package.module:function_or_class, and its weights as --checkpoint FILE ({WEIGHTS}).",
        )
    sys.path.insert(0, os.getcwd())
    try:
        made = getattr(importlib.import_module(module), name)
        model = made if isinstance(made, torch.nn.Module) else made()
    except (ImportError, AttributeError, TypeError) as error:
        raise TraindxError(
            f"--model {factory}: {error}.", "It must be importable from here and need no arguments."
        ) from error
    finally:
        sys.path.remove(os.getcwd())
    if not isinstance(model, torch.nn.Module):
        raise TraindxError(f"--model {factory} made a {type(model).__name__}, no torch module.", "Return the model.")
    return model


def _load_weights(model: torch.nn.Module, path: Path) -> None:
    loaded = tensors_of(path)
    state = next(
        (
            loaded[key]
            for key in ("state_dict", "model_state_dict", "model")
            if isinstance(loaded, dict) and isinstance(loaded.get(key), dict)
        ),
        loaded,
    )
    if not isinstance(state, dict):
        raise TraindxError(f"{path} holds no weights.", f"Give {WEIGHTS}.")
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise TraindxError(
            f"{path} does not fit the model: {' '.join(str(error).split())[:200]}", "Check the factory."
        ) from error


def _guess(target: Any) -> str:
    """Whole numbers are classes, everything else is regressed on."""
    whole = isinstance(target, torch.Tensor) and not target.is_floating_point()
    return "cross_entropy" if whole else "mse_loss"


def _first(output: Any) -> torch.Tensor:
    from traindx.probes.nested import tensors

    return next(tensor for tensor in tensors(output) if tensor.is_floating_point())
