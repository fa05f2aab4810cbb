"""llama2.c's training of a small Llama on pretokenized shards, with its own loop."""

import shutil
from pathlib import Path

import numpy as np
from data import sentences
from recipe import Recipe, Result

VOCABULARY = 64


def prepare(place: Path) -> None:
    shutil.rmtree(place / "assets", ignore_errors=True)
    folder = place / "data" / f"tok{VOCABULARY}"
    folder.mkdir(parents=True)
    for shard in range(4):
        ids = []
        for sentence in sentences(1500, seed=shard):
            ids += [1] + [ord(letter) % 32 + (32 if letter.isalpha() else 2) for letter in sentence]  # 1 begins a story
        np.array(ids, dtype=np.uint16).tofile(folder / f"data{shard:02}.bin")


RECIPE = Recipe(
    repository="karpathy/llama2.c",
    commit="350e04fe35433e6d2941dce5a1f53308f87058eb",
    kind="language model, own loop",
    needs=("numpy", "requests", "sentencepiece", "tqdm"),
    command=(
        "train.py", "--device=cpu", "--compile=False", "--dtype=float32", "--vocab_source=custom",
        f"--vocab_size={VOCABULARY}",
        "--max_seq_len=48", "--batch_size=8", "--gradient_accumulation_steps=2", "--dim=64", "--n_layers=2",
        "--n_heads=4",
        "--n_kv_heads=4", "--max_iters=300", "--warmup_iters=20", "--eval_interval=50", "--eval_iters=5",
        "--learning_rate=2e-3",
    ),
    files=("train.py", "model.py", "tinystories.py"),
    seconds=12,
    prepare=prepare,
    result=Result(r"val loss (\S+)", "lower"),
)  # fmt: skip
