"""Subjects from files: a factory that makes the model, a saved batch, and weights. Nothing is unpickled beyond plain
tensors."""

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

MOST_CLASSES = 1 << 20


def subject_from_files(factory: str, data: Path, checkpoint: Path | None = None, loss: str | None = None) -> Subject:
    """The model that `package.module:factory` makes, on the batch in `data`."""
    model = _model(factory)
    if checkpoint is not None:
        _load_weights(model, checkpoint)
    batch = _tensors(data)
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
        raise TraindxError(f"--model {factory} names no factory.", "Write package.module:function_or_class.")
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


def _tensors(path: Path) -> Any:
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise TraindxError(f"{path} does not exist.", "Check the path.") from error
    except Exception as error:
        sentence = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        raise TraindxError(
            f"{path} cannot be loaded safely: {sentence}", "Save plain tensors: torch.save((x, y), path)."
        ) from error
    if not isinstance(loaded, torch.Tensor | tuple | list | dict):
        raise TraindxError(f"{path} holds a {type(loaded).__name__}.", "Save a tensor, (x, y) or a dict of tensors.")
    return loaded


def _load_weights(model: torch.nn.Module, path: Path) -> None:
    loaded = _tensors(path)
    state = next(
        (
            loaded[key]
            for key in ("state_dict", "model_state_dict", "model")
            if isinstance(loaded, dict) and isinstance(loaded.get(key), dict)
        ),
        loaded,
    )
    if not isinstance(state, dict):
        raise TraindxError(f"{path} holds no weights.", "Save model.state_dict().")
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
