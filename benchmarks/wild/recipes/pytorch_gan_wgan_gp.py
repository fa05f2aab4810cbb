"""WGAN-GP of PyTorch-GAN on digits: the critic's loss, minus the distance that it sees, rises to zero as the images get
better."""

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
    kind="WGAN-GP, own loop",
    needs=("torchvision", "numpy"),
    command=("wgan_gp.py", "--n_epochs", "4"),
    files=("implementations/wgan_gp/wgan_gp.py",),
    folder="implementations/wgan_gp",
    seconds=13,
    prepare=prepare,
    result=Result(r"D loss: (-?[\d.]+)", "higher"),
)
