"""Lightning Fabric's image classifier: the PyTorch MNIST example with Fabric's setup and backward, Adadelta and a step
schedule."""

import shutil
from pathlib import Path

from data import mnist
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    for path in place.iterdir():
        if path.name != "examples":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    mnist(place / "Datasets", train=2000, test=400)


RECIPE = Recipe(
    repository="Lightning-AI/pytorch-lightning",
    commit="7f0c3436cd3f6ad3753125672024fc415cbcb414",
    kind="image classification, own loop with Fabric",
    needs=("lightning", "torchvision", "torchmetrics"),
    folder="examples/fabric/image_classifier",
    command=("train_fabric.py", "--epochs", "3", "--batch-size", "32"),
    files=("examples/fabric/image_classifier/train_fabric.py",),
    shorten=(
        ("examples/fabric/image_classifier/train_fabric.py", r"nn\.Conv2d\(1, 32, 3, 1\)", "nn.Conv2d(1, 8, 3, 1)"),
        ("examples/fabric/image_classifier/train_fabric.py", r"nn\.Conv2d\(32, 64, 3, 1\)", "nn.Conv2d(8, 16, 3, 1)"),
        ("examples/fabric/image_classifier/train_fabric.py", r"nn\.Linear\(9216, 128\)", "nn.Linear(2304, 128)"),
    ),
    seconds=11,
    prepare=prepare,
    result=Result(r"Test set: Average loss: ([\d.]+)", "lower"),
)
