"""The plain GAN of PyTorch-GAN on digits: two networks, two optimisers. What it prints last is a loss, no measure of
quality."""

import shutil
from pathlib import Path

from data import mnist
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    shutil.rmtree(place / "assets")
    mnist(place / "data" / "mnist", train=4000, test=100)


RECIPE = Recipe(
    repository="eriklindernoren/PyTorch-GAN",
    commit="36d3c77e5ff20ebe0aeefd322326a134a279b93e",
    kind="GAN, own loop",
    needs=("torchvision", "numpy"),
    command=("gan.py", "--n_epochs", "4"),
    files=("implementations/gan/gan.py",),
    folder="implementations/gan",
    seconds=12,
    prepare=prepare,
    result=Result(r"G loss: (-?[\d.]+)", "lower"),
)
