"""The VAE example of PyTorch: fully connected encoder and decoder on MNIST, with summed losses."""

from pathlib import Path

from data import mnist
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    (place / "vae" / "results").mkdir(exist_ok=True)
    mnist(place / "data", train=4000, test=512)


RECIPE = Recipe(
    repository="pytorch/examples",
    commit="77f55b912142e11fcfdf5b530231fb9c52f181e8",
    paths=("vae",),
    kind="VAE",
    needs=("torchvision",),
    folder="vae",
    command=("main.py", "--epochs", "8", "--no-accel"),
    files=("vae/main.py",),
    seconds=9,
    prepare=prepare,
    result=Result(r"Test set loss: ([\d.]+)", "lower"),
)
