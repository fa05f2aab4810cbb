"""Directories of torch.distributed.checkpoint (FSDP): one pickle of metadata, and files in which every piece of a
tensor is a torch file of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from traindx.checkpoints import torchfile
from traindx.checkpoints.allowed import Object
from traindx.checkpoints.parts import Checkpoint, Group, OptimizerState, plain_name
from traindx.checkpoints.tensor import Tensor
from traindx.errors import TraindxError

MOST_PIECES = 100_000
_BRANCHES = ("model.", "state_dict.", "app.model.", "app.")
_OPTIMIZER = ("optimizer.state.", "optim.state.", "app.optim.state.", "app.optimizer.state.")


def read(folder: Path) -> Checkpoint:
    """The tensors by name. A tensor in several pieces is given as several, numbered."""
    stated = torchfile.read_pickle(folder / ".metadata")
    places = stated.state.get("storage_data") if isinstance(stated, Object) and isinstance(stated.state, dict) else None
    if not isinstance(places, dict) or len(places) > MOST_PIECES:
        raise TraindxError(f"{folder}/.metadata lists no tensors.", "Was it written by torch.distributed.checkpoint?")
    weights: dict[str, Tensor] = {}
    moments: dict[str, dict[str, Any]] = {}
    for index, place in places.items():
        piece = _piece(folder, index, place)
        if piece is None:
            continue
        name, tensor = piece
        owner = next((name[len(prefix) :] for prefix in _OPTIMIZER if name.startswith(prefix)), None)
        if owner is not None:
            parameter, _, quantity = owner.rpartition(".")
            moments.setdefault(plain_name(parameter), {})[quantity] = tensor
            continue
        name = plain_name(next((name[len(prefix) :] for prefix in _BRANCHES if name.startswith(prefix)), name))
        part = 1 + sum(other == name or other.startswith(f"{name}#") for other in weights)
        label = name if part == 1 else f"{name}#{part}"
        weights[label] = tensor.named(label)
    optimizers = [OptimizerState([Group({}, list(moments), list(moments))], moments)] if moments else []
    return Checkpoint(folder, "distributed", weights, optimizers)


def _piece(folder: Path, index: Any, place: Any) -> tuple[str, Tensor] | None:
    """One piece of one tensor; None for what is no tensor (a counter, a settings object)."""
    known, where = _state(index), _state(place)
    name, file = known.get("fqn"), where.get("relative_path")
    offset, length = where.get("offset"), where.get("length")
    if not (isinstance(name, str) and isinstance(file, str) and isinstance(offset, int) and isinstance(length, int)):
        raise TraindxError(
            f"{folder}/.metadata describes a piece wrongly.", "It is damaged; copy or download it again."
        )
    path = folder / file
    if (
        Path(file).name != file
        or not path.is_file()
        or offset < 0
        or length < 0
        or offset + length > path.stat().st_size
    ):
        raise TraindxError(
            f"{folder}/.metadata names {file[:200]!r}, which is not there or too short.", "Copy all files of it."
        )
    tree = torchfile.read_zip(path, offset, length)
    return (name, tree.named(name)) if isinstance(tree, Tensor) else None


def _state(thing: Any) -> dict[str, Any]:
    return thing.state if isinstance(thing, Object) and isinstance(thing.state, dict) else {}
