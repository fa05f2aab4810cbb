"""nanoRWKV's RWKV-4 language model on characters, with nanoGPT's loop and the recurrence in plain PyTorch."""

import pickle
import shutil
from pathlib import Path

import numpy as np
from data import text
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    shutil.rmtree(place / "assets", ignore_errors=True)
    folder = place / "data" / "shakespeare_char"
    text(folder / "input.txt", lines=4000)
    written = (folder / "input.txt").read_text()
    letters = sorted(set(written))
    number = {letter: index for index, letter in enumerate(letters)}
    ids = np.array([number[letter] for letter in written], dtype=np.uint16)
    cut = int(0.9 * len(ids))
    ids[:cut].tofile(folder / "train.bin")
    ids[cut:].tofile(folder / "val.bin")
    (folder / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": len(letters)}))


RECIPE = Recipe(
    repository="Hannibal046/nanoRWKV",
    commit="3719d13f54955115e41c894194e81356d9e56b81",
    kind="RWKV language model, own loop",
    needs=("numpy", "tiktoken", "transformers"),
    command=(
        "train.py", "config/train_shakespeare_char.py", "--model_type=rwkv", "--use_customized_cuda_kernel=False",
        "--device=cpu",
        "--compile=False", "--dtype=float32", "--eval_iters=4", "--eval_interval=50", "--block_size=24",
        "--batch_size=24",
        "--n_layer=2", "--n_embd=64", "--max_iters=150", "--lr_decay_iters=150", "--warmup_iters=10",
    ),
    files=("train.py", "modeling_rwkv.py"),
    seconds=13,
    prepare=prepare,
    shorten=(("train.py", r"'bfloat16' if torch\.cuda\.is_bf16_supported\(\) else 'float16'", "'float32'"),),
    result=Result(r"val loss (\S+)", "lower"),
)  # fmt: skip
