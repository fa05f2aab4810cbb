"""kentaroy47's training of a small vision transformer on CIFAR-10: Adam and a cosine schedule."""

from pathlib import Path

from data import datasets_module
from recipe import Recipe, Result

WANDB = '''"""Stands for wandb: takes every call and does nothing."""


class _Quiet:
    def __getattr__(self, name):
        return _QUIET

    def __call__(self, *values, **named):
        return _QUIET


_QUIET = _Quiet()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _QUIET
'''


def prepare(place: Path) -> None:
    datasets_module(place, train=960, test=200)
    (place / "wandb.py").write_text(WANDB, "utf-8")


RECIPE = Recipe(
    repository="kentaroy47/vision-transformers-cifar10",
    commit="5bb83d36018b314c3020558541015bb01bce15bc",
    kind="vision transformer, own loop",
    needs=("torchvision", "einops", "pandas"),
    command=(
        "train_cifar10.py",
        "--net",
        "vit",
        "--bs",
        "32",
        "--n_epochs",
        "4",
        "--patch",
        "8",
        "--dimhead",
        "64",
        "--noaug",
        "--noamp",
        "--nowandb",
        "--lr",
        "3e-4",
    ),
    files=("train_cifar10.py", "models/vit.py", "utils.py"),
    seconds=14,
    prepare=prepare,
    shorten=(
        (
            "train_cifar10.py",
            r"\nimport torchvision\n",
            "\nimport torchvision, wild_datasets; torchvision.datasets = wild_datasets\n",
        ),
        (
            "train_cifar10.py",
            r"batch_size=bs, shuffle=True, num_workers=8",
            "batch_size=bs, shuffle=True, num_workers=0",
        ),
        (
            "train_cifar10.py",
            r"batch_size=100, shuffle=False, num_workers=8",
            "batch_size=100, shuffle=False, num_workers=0",
        ),
        ("train_cifar10.py", r"\nnet\.cuda\(\)", ""),
        ("models/vit.py", r"channels = 3, dim_head = 64", "channels = 3, dim_head = 8"),
    ),
    result=Result(r"val loss: ([\d.]+), acc:", "lower"),
)
