"""Write tests/golden/nanogpt/stdout.txt: what nanoGPT's own train.py prints, trained on the characters of its own source.

Run in an environment with torch 2.13.0 and numpy, with a checkout of karpathy/nanoGPT at 3adf61e:
    python tests/golden/make/write_nanogpt.py PATH_OF_THE_CHECKOUT
"""  # noqa: E501

from __future__ import annotations

import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent.parent / "nanogpt"
SETTINGS = """# train a miniature character-level model
out_dir = 'out-tiny-char'
eval_interval = 40 # keep frequent because we'll overfit
eval_iters = 10
log_interval = 4
always_save_checkpoint = False
dataset = 'tiny_char'
gradient_accumulation_steps = 1
batch_size = 16
block_size = 64
n_layer = 2
n_head = 2
n_embd = 64
dropout = 0.0
learning_rate = 4e-3
max_iters = 280
lr_decay_iters = 280
min_lr = 4e-4
warmup_iters = 10
device = 'cpu'
compile = False
"""


def main() -> None:
    HERE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "nanoGPT"
        shutil.copytree(sys.argv[1], folder)
        text = (folder / "train.py").read_text() + (folder / "model.py").read_text()
        letters = sorted(set(text))
        encoded = np.array([letters.index(letter) for letter in text], dtype=np.uint16)
        data = folder / "data" / "tiny_char"
        data.mkdir()
        split = int(0.9 * len(encoded))
        encoded[:split].tofile(data / "train.bin")
        encoded[split:].tofile(data / "val.bin")
        (data / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": len(letters)}))
        (folder / "config" / "train_tiny_char.py").write_text(SETTINGS)
        command = [sys.executable, "train.py", "config/train_tiny_char.py", "--dtype=float32"]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, cwd=folder)
        output = re.sub(r"(?:/[\w.+-]+)+/(site-packages|nanoGPT)", r"/\1", result.stdout.decode())
        (HERE / "stdout.txt").write_text(output)


if __name__ == "__main__":
    main()
