"""lucidrains' vision transformer with a decorrelation loss beside the cross entropy, made small, with Accelerate."""

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
    datasets_module(place, train=1440, test=10)
    (place / "wandb.py").write_text(WANDB, "utf-8")


RECIPE = Recipe(
    repository="lucidrains/vit-pytorch",
    commit="69d24fe9e3024c0d4b02761123b8583a24ebed1e",
    paths=("train_vit_decorr.py", "vit_pytorch"),
    kind="vision transformer with an auxiliary loss, Accelerate",
    needs=("torchvision", "einops", "accelerate"),
    command=("train_vit_decorr.py",),
    files=("train_vit_decorr.py", "vit_pytorch/vit_with_decorr.py"),
    seconds=15,
    prepare=prepare,
    shorten=(
        ("train_vit_decorr.py", r"from torchvision\.datasets import", "from wild_datasets import"),
        ("train_vit_decorr.py", r"EPOCHS = 10", "EPOCHS = 4"),
        ("train_vit_decorr.py", r"dim = 128,", "dim = 64,"),
        ("train_vit_decorr.py", r"mlp_dim = 128 \* 4", "mlp_dim = 64 * 4"),
        ("train_vit_decorr.py", r"num_classes = 100", "num_classes = 10"),
        ("train_vit_decorr.py", r"depth = 6", "depth = 2"),
        ("train_vit_decorr.py", r"heads = 8", "heads = 4"),
        ("train_vit_decorr.py", r"dim_head = 64", "dim_head = 16"),
    ),
    result=Result(r"(?<!aux )loss: ([\d.]+)", "lower"),
)
