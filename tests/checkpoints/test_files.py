"""Every format gives back the numbers that were written, names included."""

from __future__ import annotations

import argparse
import collections
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoint_files import mlp, trained, write_safetensors
from numpy.typing import NDArray

from traindx.checkpoints.find import open_checkpoint
from traindx.checkpoints.tensor import Tensor, blocks, eight_bit_values
from traindx.errors import TraindxError

LOW_PRECISION = [
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
]


def numbers(tensor: Tensor) -> NDArray[Any]:
    return np.concatenate([np.asarray(block).reshape(-1) for block in blocks(tensor)] or [np.empty(0)]).reshape(
        tensor.shape
    )


def same(found: dict[str, Tensor], wanted: dict[str, torch.Tensor]) -> None:
    assert list(found) == list(wanted)
    for name, tensor in wanted.items():
        assert np.array_equal(numbers(found[name]), tensor.detach().double().numpy(), equal_nan=True), name


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "before torch 1.6"])
def test_torch_files(tmp_path: Path, zipped: bool) -> None:
    state = {
        **mlp().state_dict(),
        "count": torch.tensor(7),
        "empty": torch.zeros(0, 3),
        "flag": torch.tensor([True, False]),
    }
    torch.save(state, tmp_path / "a.pt", _use_new_zipfile_serialization=zipped)
    same(open_checkpoint(tmp_path / "a.pt").weights, state)


@pytest.mark.parametrize("kind", LOW_PRECISION)
def test_low_precision(tmp_path: Path, kind: str) -> None:
    values = torch.randn(300).to(getattr(torch, kind))
    torch.save({"w": values}, tmp_path / "a.pt")
    same(open_checkpoint(tmp_path / "a.pt").weights, {"w": values})


@pytest.mark.parametrize("kind", [kind for kind in LOW_PRECISION if kind.startswith("float8")])
def test_every_code_of_eight_bits(tmp_path: Path, kind: str) -> None:
    every = torch.arange(256, dtype=torch.uint8).view(getattr(torch, kind))
    torch.save({"w": every}, tmp_path / "a.pt")
    dtype = open_checkpoint(tmp_path / "a.pt").weights["w"].dtype
    assert np.array_equal(eight_bit_values(dtype), every.float().numpy(), equal_nan=True)


def test_views_are_gathered(tmp_path: Path) -> None:
    base = torch.randn(6, 8)
    torch.save({"turned": base.t(), "part": base[1:3, ::2], "whole": base}, tmp_path / "a.pt")
    same(open_checkpoint(tmp_path / "a.pt").weights, {"turned": base.t(), "part": base[1:3, ::2], "whole": base})


def test_an_expanded_tensor_counts_once(tmp_path: Path) -> None:
    torch.save({"w": torch.arange(3.0).expand(1000, 3)}, tmp_path / "a.pt")
    assert open_checkpoint(tmp_path / "a.pt").weights["w"].shape == (1, 3)


def test_what_trainers_put_beside_the_weights(tmp_path: Path) -> None:
    """Lightning's layout with everything people save in it: settings, callbacks, random states, paths, numpy
    numbers."""
    inside = trained(mlp(), torch.optim.AdamW, 5)
    whole = {
        "epoch": 3, "global_step": 5, "pytorch-lightning_version": "2.6", "state_dict": inside["model"],
        "optimizer_states": [inside["optimizer"]], "lr_schedulers": [{"last_epoch": 3}],
        "loops": {"fit_loop": {"state": {}}},
        "hyper_parameters": {"lr": 0.1, "width": 32}, "rng": np.random.get_state(),
        "callbacks": {"best": {"score": torch.tensor(0.5), "path": Path("a/b"), "number": np.float64(2.0)}},
        "more": collections.defaultdict(list), "args": argparse.Namespace(seed=3), "version": torch.__version__,
        "kinds": (torch.float16, torch.device("cpu"), torch.Size([2, 3])), "set": {1, 2},
    }  # fmt: skip
    torch.save(whole, tmp_path / "last.ckpt")
    found = open_checkpoint(tmp_path / "last.ckpt")
    same(found.weights, inside["model"])
    assert (found.format, found.step, found.config["lr"], found.config["seed"]) == ("lightning", 5.0, 0.1, 3)
    assert found.optimizers[0].adam
    assert len(found.optimizers[0].state) == 6


def test_names_lose_their_wrappers(tmp_path: Path) -> None:
    torch.save({"model": {f"module._orig_mod.{name}": w for name, w in mlp().state_dict().items()}}, tmp_path / "a.pt")
    assert list(open_checkpoint(tmp_path / "a.pt").weights) == list(mlp().state_dict())


def test_safetensors(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {"b.10": rng.normal(size=(4, 5)), "b.2": rng.normal(size=7).astype(np.float32), "n": np.arange(3)}
    arrays["h"] = torch.randn(9).to(torch.bfloat16).view(torch.uint16).numpy()
    found = open_checkpoint(write_safetensors(tmp_path / "a.safetensors", arrays, {"h": "BF16"}))
    assert list(found.weights) == ["b.2", "b.10", "h", "n"]
    assert np.array_equal(numbers(found.weights["b.10"]), arrays["b.10"])
    assert np.array_equal(
        numbers(found.weights["h"]), torch.from_numpy(arrays["h"]).view(torch.bfloat16).float().numpy()
    )


def test_safetensors_of_the_real_library(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.torch")
    state = {
        "a": torch.randn(3, 4),
        "b": torch.randn(5).to(torch.bfloat16),
        "c": torch.randn(6).to(torch.float8_e4m3fn),
    }
    library.save_file(state, tmp_path / "a.safetensors", metadata={"format": "pt"})
    same(open_checkpoint(tmp_path / "a.safetensors").weights, state)
    ours = write_safetensors(tmp_path / "ours.safetensors", {"a": state["a"].numpy()})
    assert torch.equal(library.load_file(ours)["a"], state["a"])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed], ids=["plain", "packed"])
def test_numpy_archives(tmp_path: Path, save: Any) -> None:
    rng = np.random.default_rng(0)
    arrays = {"w": rng.normal(size=(700, 500)).astype(np.float32), "i": np.arange(9)}
    save(tmp_path / "a.npz", **arrays, objects=np.array([{}], dtype=object))
    found = open_checkpoint(tmp_path / "a.npz")
    assert set(found.weights) == {"w", "i"}
    assert np.array_equal(numbers(found.weights["w"]), arrays["w"])
    assert "stay closed" in found.lost[0]


def hugging_face(folder: Path, steps: int = 60) -> dict[str, Any]:
    """A directory as the Trainer writes it."""
    folder.mkdir(parents=True)
    inside = trained(mlp(), torch.optim.AdamW, steps)
    write_safetensors(folder / "model.safetensors", {name: w.numpy() for name, w in inside["model"].items()})
    torch.save(inside["optimizer"], folder / "optimizer.pt")
    torch.save({"last_epoch": steps}, folder / "scheduler.pt")
    history = [
        {"loss": 1.4 * 0.9**i, "learning_rate": 1e-3, "epoch": i / 10, "step": 5 * (i + 1)} for i in range(steps // 5)
    ]
    (folder / "trainer_state.json").write_text(
        json.dumps({"global_step": steps, "max_steps": steps, "log_history": history})
    )
    (folder / "config.json").write_text('{"model_type": "mlp", "tie_word_embeddings": false}')
    return inside


def test_hugging_face_directories(tmp_path: Path) -> None:
    hugging_face(tmp_path / "out" / "checkpoint-8", 20)
    hugging_face(tmp_path / "out" / "checkpoint-16", 30)
    found = open_checkpoint(tmp_path / "out")
    assert found.path.name == "checkpoint-16"
    assert (found.step, found.config["model_type"], len(found.optimizers)) == (30.0, "mlp", 1)
    assert found.curves == tmp_path / "out" / "checkpoint-16" / "trainer_state.json"


def test_shards(tmp_path: Path) -> None:
    parts = {"1.safetensors": {"a": np.ones((2, 2), np.float32)}, "2.safetensors": {"b": np.zeros(3, np.float32)}}
    for name, arrays in parts.items():
        write_safetensors(tmp_path / name, arrays)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}))
    assert list(open_checkpoint(tmp_path).weights) == ["a", "b"]
    index.write_text(json.dumps({"weight_map": {"a": "../1.safetensors"}}))
    with pytest.raises(TraindxError, match="not beside it"):
        open_checkpoint(tmp_path)


def test_distributed_checkpoints(tmp_path: Path) -> None:
    import torch.distributed.checkpoint as saving

    inside = trained(mlp(), steps=3)
    saving.save(
        {"model": inside["model"], "optimizer": inside["optimizer"]}, checkpoint_id=tmp_path / "dcp", no_dist=True
    )
    found = open_checkpoint(tmp_path / "dcp")
    assert found.format == "distributed"
    assert set(found.weights) == set(inside["model"])
    for name, weight in inside["model"].items():
        assert np.array_equal(numbers(found.weights[name]), weight.double().numpy())
    assert len(found.optimizers[0].state) == 6


def test_what_is_no_checkpoint_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty.pt").write_bytes(b"")
    for name, word in (
        ("a.h5", "HDF5"),
        ("notes.txt", "no checkpoint"),
        ("empty.pt", "empty"),
        ("gone", "does not exist"),
    ):
        with pytest.raises(TraindxError, match=word):
            open_checkpoint(tmp_path / name)
    torch.save({"a": 1}, tmp_path / "numbers.pt")
    with pytest.raises(TraindxError, match="no tensors"):
        open_checkpoint(tmp_path / "numbers.pt")
