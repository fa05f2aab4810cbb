"""A two-layer network from scratch, as a notebook of "Dive into Deep Learning" has it: bare tensors and an update
written by hand."""

import json
import shutil
import struct
from pathlib import Path

import numpy as np
from data import digits
from recipe import Recipe, Result

NOTEBOOK = "code/chapter03_DL-basics/3.9_mlp-scratch.ipynb"
HELPERS = "code/d2lzh_pytorch/utils.py"


def prepare(place: Path) -> None:
    cells = json.loads((place / NOTEBOOK).read_text("utf-8"))["cells"]
    code = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    for path in place.iterdir():
        if path.name != "code":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in (place / "code").iterdir():
        if path.name != "d2lzh_pytorch":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    folder = place / "code" / "chapter03"
    folder.mkdir()
    (folder / "train.py").write_text(code + "\n", "utf-8")
    raw = folder / "data" / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    for seed, (part, count) in enumerate({"train": 3072, "t10k": 500}.items()):
        images, labels = digits(count, size=20, seed=seed)  # Nearer to the middle than data.mnist draws them.
        padded = np.pad(images, ((0, 0), (4, 4), (4, 4)))
        (raw / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, 28, 28) + padded.tobytes())
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(
            struct.pack(">II", 0x801, count) + labels.astype(np.uint8).tobytes()
        )


RECIPE = Recipe(
    repository="ShusenTang/Dive-into-DL-PyTorch",
    commit="09c8bacc08599eb86236551454ba43b82cb91498",
    kind="image classification from scratch, update by hand, notebook",
    needs=("torchvision", "matplotlib", "tqdm"),
    folder="code/chapter03",
    command=("train.py",),
    files=("code/chapter03/train.py", HELPERS),
    shorten=(
        (NOTEBOOK, r"num_epochs, lr = 5, ", "num_epochs, lr = 20, "),
        (HELPERS, r"from IPython import display\n", ""),
        (HELPERS, r"import torchtext\nimport torchtext\.vocab as Vocab\n", ""),
        (HELPERS, r"resize=None, root='~/Datasets/FashionMNIST'", "resize=None, root='data'"),
        (HELPERS, r"\n        num_workers = 4", "\n        num_workers = 0"),
    ),
    seconds=10,
    prepare=prepare,
    result=Result(r"test acc ([\d.]+)", "higher"),
)
