"""minDiffusion's DDPM with its small U-Net, on colour images of 32 by 32."""

from pathlib import Path

from data import datasets_module
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    datasets_module(place, train=1600, test=10)


RECIPE = Recipe(
    repository="cloneofsimo/minDiffusion",
    commit="00a3c8066d25a34d3d472ef6c87c7b6b238ea444",
    kind="diffusion model, own loop",
    needs=("torchvision", "tqdm", "sympy"),
    command=("train_cifar10.py",),
    files=("train_cifar10.py", "mindiffusion/ddpm.py", "mindiffusion/unet.py"),
    seconds=13,
    prepare=prepare,
    shorten=(
        ("train_cifar10.py", r"from torchvision\.datasets import", "from wild_datasets import"),
        ("train_cifar10.py", r"n_epoch: int = 100", "n_epoch: int = 1"),
        ("train_cifar10.py", r'"cuda:1"', '"cpu"'),
        ("train_cifar10.py", r"n_feat=128", "n_feat=8"),
        ("train_cifar10.py", r"n_T=1000", "n_T=200"),
        (
            "train_cifar10.py",
            r"batch_size=512, shuffle=True, num_workers=16",
            "batch_size=8, shuffle=True, num_workers=0",
        ),
        ("train_cifar10.py", r"lr=1e-5", "lr=1e-3"),
    ),
    result=Result(r"loss: ([\d.]+)", "lower"),
)
