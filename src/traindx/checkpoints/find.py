"""From a path to a checkpoint: single files by their content, directories by what trainers leave in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from traindx.checkpoints import distributed, numpyfile, safetensors, torchfile
from traindx.checkpoints.parts import (
    Checkpoint,
    OptimizerState,
    natural,
    optimizers_in,
    plain_name,
    settings_in,
    step_in,
    weights_in,
)
from traindx.checkpoints.tensor import Tensor
from traindx.errors import TraindxError

WEIGHTS = (
    "model.safetensors.index.json", "pytorch_model.bin.index.json", "diffusion_pytorch_model.safetensors.index.json",
    "model.safetensors", "pytorch_model.bin", "adapter_model.safetensors", "adapter_model.bin",
    "diffusion_pytorch_model.safetensors", "pytorch_model_fsdp.bin", "consolidated.safetensors",
)  # fmt: skip
OPTIMIZERS = ("optimizer.pt", "optimizer.bin", "optimizer.pth", "optimizer_1.bin")
STATES = ("trainer_state.json",)
CONFIGS = ("config.json", "adapter_config.json")
ENDINGS = (".safetensors", ".ckpt", ".pt", ".pth", ".bin", ".npz")
# files of a run that end like weights and are none
_OTHERS = re.compile(
    r"^(optimizer|scheduler|rng_state|random_states|training_args|scaler|sampler|tokenizer|custom_checkpoint)"
)
_NUMBERED = re.compile(r"(\d+)(?!.*\d)")
MOST_JSON = 64 << 20
FOLDERS = 4  # that may lie between a run's directory and its checkpoint
_HDF5 = b"\x89HDF\r\n\x1a\n"
_KINDS = "safetensors, torch .pt/.pth/.ckpt/.bin, numpy .npz, Hugging Face and Lightning directories"


def open_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint at this path. Nothing is loaded yet but names and shapes. Raises TraindxError when there is
    none."""
    if not path.exists():
        raise TraindxError(f"{path} does not exist.", "Check the spelling, or give the directory of the checkpoint.")
    try:
        found = _directory(path) if path.is_dir() else _file(path)
        if not path.is_dir():
            _add_neighbours(path.parent, found, only_config=path.name not in WEIGHTS)
    except OSError as error:
        raise TraindxError(f"{path} cannot be read: {error.strerror or error}.", "Check its permissions.") from error
    if not found.weights and not found.optimizers:
        raise TraindxError(f"{path} holds no tensors.", f"Give a checkpoint: {_KINDS}.")
    return found


def _file(path: Path) -> Checkpoint:
    """One file, recognised by its content. A named pipe or a device is refused before it is opened."""
    if not path.is_file():
        raise TraindxError(f"{path} is a named pipe or a device, not a file.", f"Read are {_KINDS}.")
    with path.open("rb") as file:
        head = file.read(64)
    if not head:
        raise TraindxError(f"{path} is empty.", "Give the checkpoint itself, or the directory it lies in.")
    if path.name.endswith(".index.json"):
        return _sharded(path)
    if head.startswith(torchfile.ZIP):
        return _archive(path)
    if torchfile.is_legacy(head):
        return _torch(path, torchfile.read_legacy(path))
    if safetensors.looks_like(head):
        tensors, _, odd = safetensors.read(path)
        lost = [f"tensors of {', '.join(odd)} in {path.name}, which cannot be measured."] * bool(odd)
        return Checkpoint(path, "safetensors", _named(tensors), lost=lost)
    if head.startswith(numpyfile.MAGIC):
        return _numpy(path)
    if head.startswith(_HDF5):
        raise TraindxError(
            f"{path} is an HDF5 file (Keras), which is not read.",
            "Save the weights as numpy: np.savez('weights.npz', **{w.path: w.numpy() for w in model.weights}).",
        )
    if torchfile.is_pickle(head):
        return _torch(path, torchfile.read_pickle(path))
    raise TraindxError(f"{path} is no checkpoint that can be read.", f"Read are {_KINDS}.")


def _archive(path: Path) -> Checkpoint:
    if path.suffix == ".keras":
        raise TraindxError(f"{path} is a Keras archive, which is not read.", "Save the weights as numpy .npz.")
    if numpyfile.is_npz(path):
        return _numpy(path)
    return _torch(path, torchfile.read_zip(path))


def _numpy(path: Path) -> Checkpoint:
    tensors, closed = numpyfile.read(path)
    lost = [f"{len(closed)} arrays of objects in {path.name}, which are pickles and stay closed."] * bool(closed)
    return Checkpoint(path, "numpy", _named(tensors), lost=lost)


def _torch(path: Path, tree: Any) -> Checkpoint:
    lightning = isinstance(tree, dict) and "pytorch-lightning_version" in tree
    weights = weights_in({"state_dict": tree.get("state_dict")} if lightning else tree)
    return Checkpoint(
        path, "lightning" if lightning else "torch", weights, optimizers_in(tree), step_in(tree), settings_in(tree)
    )  # fmt: skip


def _named(tensors: list[Tensor]) -> dict[str, Tensor]:
    named = {plain_name(tensor.name): tensor.named(plain_name(tensor.name)) for tensor in tensors}
    return {name: named[name] for name in sorted(named, key=natural)}


def _sharded(index: Path) -> Checkpoint:
    """Weights in several files, listed by an index."""
    stated = load_json(index)
    places = stated.get("weight_map") if isinstance(stated, dict) else None
    if not isinstance(places, dict) or not places:
        raise TraindxError(f"{index} lists no weights.", "It should hold a weight_map of names and files.")
    files = sorted({str(name) for name in places.values()})
    whole = Checkpoint(index.parent, "safetensors", {})
    for name in files:
        shard = index.parent / name
        if Path(name).name != name or not shard.is_file():
            raise TraindxError(f"{index} names {name[:200]!r}, which is not beside it.", "Copy or download all shards.")
        part = _file(shard)
        whole.format = part.format
        whole.weights |= part.weights
        whole.lost += part.lost
    missing = [name for name in places if plain_name(str(name)) not in whole.weights]
    if missing and not whole.lost:
        raise TraindxError(
            f"{index} lists {len(missing)} tensors that no shard holds, {str(missing[0])[:200]!r} among them.",
            "Download it again.",
        )
    whole.weights = {name: whole.weights[name] for name in sorted(whole.weights, key=natural)}
    return whole


def _directory(folder: Path, depth: int = 0) -> Checkpoint:
    """The checkpoint a directory holds; where it holds a row of checkpoint-N, the last of them."""
    if (folder / ".metadata").is_file():
        found = distributed.read(folder)
    else:
        main = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
        main = main or _only_one(folder)
        if main is None and depth < FOLDERS:
            return _directory(_last_checkpoint(folder), depth + 1)
        if main is None:
            raise TraindxError(f"{folder} holds no checkpoint.", f"Looked for {_KINDS}.")
        found = _file(main)
    found.path = folder
    _add_neighbours(folder, found)
    return found


def _only_one(folder: Path) -> Path | None:
    """The one file with weights in a directory, else the newest by number ('epoch=4-step=500.ckpt'), else None."""
    files = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and path.suffix in ENDINGS and not _OTHERS.match(path.name)
    ]
    if len(files) <= 1:
        return files[0] if files else None
    last = [path for path in files if path.stem == "last"]
    if last:
        return last[0]
    raise TraindxError(
        f"{folder} holds {len(files)} checkpoints "
        f"({', '.join(path.name for path in files[:4])}{' …' if len(files) > 4 else ''}).",
        "Name one to look at it, or two to compare them.",
    )


def _last_checkpoint(folder: Path) -> Path:
    numbered = [(int(match.group(1)), path) for path in folder.iterdir()
                if path.is_dir() and (match := _NUMBERED.search(path.name)) and len(match.group(1)) < 15
                and re.match(r"(checkpoint|ckpt|step|epoch|global_step|iter|version)", path.name)]  # fmt: skip
    inner = [path for name in ("checkpoints", "checkpoint", "lightning_logs") if (path := folder / name).is_dir()]
    if numbered:
        return max(numbered)[1]
    if inner:
        return inner[0]
    raise TraindxError(f"{folder} holds no checkpoint.", f"Looked for {_KINDS}.")


def _add_neighbours(folder: Path, found: Checkpoint, only_config: bool = False) -> None:
    """What a trainer leaves beside the weights: settings, the optimiser's state, how far it was."""
    for name in CONFIGS:
        if (folder / name).is_file():
            stated = load_json(folder / name)
            found.config.update(stated if isinstance(stated, dict) else {})
    if only_config:
        return
    if not found.optimizers:
        found.optimizers = _optimizers(folder, found)
    for name in STATES:
        if (folder / name).is_file():
            state = load_json(folder / name)
            found.curves = folder / name
            found.step = step_in(state) if found.step is None else found.step


def _optimizers(folder: Path, found: Checkpoint) -> list[OptimizerState]:
    for name in OPTIMIZERS:
        if (folder / name).is_file():
            try:
                return _file(folder / name).optimizers
            except TraindxError as error:  # the weights can be judged without it
                found.lost.append(str(error))
    return []


def load_json(path: Path) -> Any:
    """A small JSON document; {} where it is damaged, since it only accompanies the weights."""
    if path.stat().st_size > MOST_JSON:
        raise TraindxError(
            f"{path} has {path.stat().st_size} bytes, far more than such a file needs.", "It was not read."
        )
    try:
        return msgspec.json.decode(re.sub(rb"\b(?:NaN|-?Infinity)\b", b"null", path.read_bytes()))
    except (msgspec.DecodeError, RecursionError, ValueError):
        return {}
