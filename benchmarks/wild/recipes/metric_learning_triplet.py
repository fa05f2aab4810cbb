"""The triplet notebook of pytorch-metric-learning: a semihard miner, a triplet loss on cosine similarity, nearest
neighbours at the end."""

import json
import shutil
import struct
from pathlib import Path

import numpy as np
from data import digits
from recipe import Recipe, Result

NOTEBOOK = "examples/notebooks/TripletMarginLossMNIST.ipynb"


def prepare(place: Path) -> None:
    cells = json.loads((place / NOTEBOOK).read_text("utf-8"))["cells"]
    code = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    for path in place.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (place / "train.py").write_text(
        "\n".join(line for line in code.splitlines() if line[:1] not in "!%" or not line) + "\n", "utf-8"
    )
    raw = place / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for seed, (part, count) in enumerate({"train": 3200, "t10k": 300}.items()):
        images, labels = digits(count, size=20, seed=seed)  # Nearer to the middle than data.mnist draws them.
        padded = np.pad(images, ((0, 0), (4, 4), (4, 4)))
        (raw / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, 28, 28) + padded.tobytes())
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(
            struct.pack(">II", 0x801, count) + labels.astype(np.uint8).tobytes()
        )


RECIPE = Recipe(
    repository="KevinMusgrave/pytorch-metric-learning",
    commit="216a792c22b0154d3d3bf008a7317edc7d677e71",
    kind="metric learning with a miner, notebook",
    needs=("torchvision", "pytorch-metric-learning"),
    command=("train.py",),
    files=("train.py",),
    shorten=(
        (NOTEBOOK, r'torch\.device\(\\"cuda\\"\)', r'torch.device(\\"cpu\\")'),
        (
            NOTEBOOK,
            r", k=1\)",
            ", k=1, knn_func=__import__('pytorch_metric_learning.utils.inference', fromlist=['']).CustomKNN(distance))",
        ),
        (NOTEBOOK, r"BaseTester\(\)", "BaseTester(accuracy_calculator=accuracy_calculator, dataloader_num_workers=0)"),
        (NOTEBOOK, r"batch_size = 256", "batch_size = 64"),
        (NOTEBOOK, r"lr=0\.01", "lr=0.0025"),
        (NOTEBOOK, r"num_epochs = 1\\n", r"num_epochs = 3\\n"),
        (NOTEBOOK, r"nn\.Conv2d\(1, 32, 3, 1\)", "nn.Conv2d(1, 8, 3, 1)"),
        (NOTEBOOK, r"nn\.Conv2d\(32, 64, 3, 1\)", "nn.Conv2d(8, 16, 3, 1)"),
        (NOTEBOOK, r"nn\.Linear\(9216, 128\)", "nn.Linear(2304, 128)"),
    ),
    seconds=12,
    prepare=prepare,
    result=Result(r"Precision@1\) = ([\d.]+)", "higher"),
)
