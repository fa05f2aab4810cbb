"""The section on Siamese networks of a notebook about metric learning: pairs of images, a contrastive loss, Adam."""

import json
import shutil
import struct
from pathlib import Path

import numpy as np
from data import digits
from recipe import Recipe, Result

SECTION = (
    "from torchvision.datasets import MNIST",
    "from trainer import fit",
    "import SiameseMNIST",
    "fit(siamese_train_loader",
)


def near_centre(raw: Path, parts: dict[str, int]) -> None:
    """Digits as torchvision's MNIST reads them, less far from the middle than data.mnist draws them."""
    raw.mkdir(parents=True)
    for seed, (part, count) in enumerate(parts.items()):
        images, labels = digits(count, size=20, seed=seed)
        padded = np.pad(images, ((0, 0), (4, 4), (4, 4)))
        (raw / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, 28, 28) + padded.tobytes())
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(
            struct.pack(">II", 0x801, count) + labels.astype(np.uint8).tobytes()
        )


def prepare(place: Path) -> None:
    shutil.rmtree(place / "images")
    cells = json.loads((place / "Experiments_MNIST.ipynb").read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    taken = [next(source for source in sources if words in source) for words in SECTION]
    lines = [line for line in "\n\n".join(taken).splitlines() if not line.startswith("%")]
    code = "\n".join(lines).replace("batch_size = 128", "batch_size = 32").replace("n_epochs = 20", "n_epochs = 3")
    (place / "train.py").write_text(code.replace("../data/MNIST", "data") + "\n", "utf-8")
    for path in place.glob("*.ipynb"):
        path.unlink()
    near_centre(place / "data" / "MNIST" / "raw", {"train": 1600, "t10k": 300})


RECIPE = Recipe(
    repository="adambielski/siamese-triplet",
    commit="0c719f9e8f59fa386e8c59d10b2ddde9fac46276",
    kind="metric learning with pairs, notebook",
    needs=("torchvision", "matplotlib"),
    command=("train.py",),
    files=("train.py", "trainer.py", "losses.py", "networks.py", "datasets.py"),
    seconds=14,
    prepare=prepare,
    result=Result(r"Validation set: Average loss: ([\d.]+)", "lower"),
)
