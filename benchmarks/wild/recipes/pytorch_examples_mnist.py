"""The MNIST example of PyTorch: a small convolutional net with Adadelta and a learning rate that falls every epoch."""

from pathlib import Path

from data import mnist
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    mnist(place / "data", train=1600, test=400)


RECIPE = Recipe(
    repository="pytorch/examples",
    commit="77f55b912142e11fcfdf5b530231fb9c52f181e8",
    paths=("mnist",),
    kind="image classification, own loop",
    needs=("torchvision",),
    folder="mnist",
    command=("main.py", "--epochs", "4", "--batch-size", "32", "--no-accel"),
    files=("mnist/main.py",),
    seconds=16,
    prepare=prepare,
    result=Result(r"Test set: Average loss: ([\d.]+)", "lower"),
)
