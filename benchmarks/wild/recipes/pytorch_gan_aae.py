"""The adversarial autoencoder of PyTorch-GAN on digits. Its generator loss is nearly all reconstruction error."""

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
    kind="adversarial autoencoder, own loop",
    needs=("torchvision", "numpy"),
    command=("aae.py", "--n_epochs", "5"),
    files=("implementations/aae/aae.py",),
    folder="implementations/aae",
    seconds=13,
    prepare=prepare,
    result=Result(r"G loss: (-?[\d.]+)", "lower"),
)
