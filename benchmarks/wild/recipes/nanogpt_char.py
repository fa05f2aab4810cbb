"""nanoGPT on characters, with its own loop and configuration file."""

import pickle
from pathlib import Path

import numpy as np
from data import text
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    folder = place / "data" / "shakespeare_char"
    text(folder / "input.txt", lines=6000)
    written = (folder / "input.txt").read_text()
    letters = sorted(set(written))
    number = {letter: index for index, letter in enumerate(letters)}
    ids = np.array([number[letter] for letter in written], dtype=np.uint16)
    cut = int(0.9 * len(ids))
    ids[:cut].tofile(folder / "train.bin")
    ids[cut:].tofile(folder / "val.bin")
    meta = {"vocab_size": len(letters), "itos": dict(enumerate(letters)), "stoi": number}
    (folder / "meta.pkl").write_bytes(pickle.dumps(meta))


RECIPE = Recipe(
    repository="karpathy/nanoGPT",
    commit="3adf61e154c3fe3fca428ad6bc3818b27a3b8291",
    kind="language model, own loop",
    needs=("numpy",),
    command=(
        "train.py", "config/train_shakespeare_char.py", "--device=cpu", "--compile=False", "--eval_iters=10",
        "--eval_interval=50",
        "--log_interval=10", "--block_size=32", "--batch_size=12", "--n_layer=2", "--n_head=4", "--n_embd=64",
        "--max_iters=300",
        "--lr_decay_iters=300", "--warmup_iters=20", "--dropout=0.0", "--dtype=float32",
    ),
    files=("train.py", "model.py"),
    seconds=12,
    prepare=prepare,
    result=Result(r"val loss (\S+)", "lower"),
)  # fmt: skip
