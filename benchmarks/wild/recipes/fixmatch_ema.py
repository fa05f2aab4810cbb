"""FixMatch: few labels, pseudo labels from weak for strong augmentation, and a moving average of the weights (EMA) that
is tested."""

from pathlib import Path

import numpy as np
from data import datasets_module
from recipe import Recipe, Result


def harder(place: Path, train: int, test: int) -> None:
    """Images with a tint of their own and more noise: as data.pictures draws them, 80 labels would be enough at
    once."""
    datasets_module(place, train, test)
    with np.load(place / "wild_datasets.npz") as made:
        kept = {name: made[name] for name in made.files if name.startswith("pictures")}
    draw = np.random.default_rng(0)
    for name in ("pictures_train_images", "pictures_test_images"):
        images = kept[name].astype(float)
        images += draw.normal(0, 22, (len(images), 1, 1, 3)) + draw.normal(0, 22, images.shape)
        kept[name] = images.clip(0, 255).astype(np.uint8)
    np.savez_compressed(place / "wild_datasets.npz", **kept)


def prepare(place: Path) -> None:
    harder(place, train=800, test=200)
    train = place / "train.py"  # Written for an old torch, and for more steps than the batch statistics get here.
    text = train.read_text("utf-8")
    for part in ("labeled", "unlabeled"):
        text = text.replace(f" {part}_iter.next()", f" next({part}_iter)")
    train.write_text(text, "utf-8")
    network = place / "models" / "wideresnet.py"
    network.write_text(network.read_text("utf-8").replace("momentum=0.001)", "momentum=0.1)"), "utf-8")


RECIPE = Recipe(
    repository="kekmodel/FixMatch-pytorch",
    commit="040be3b8950300b052f810df31a0c6c09561e09f",
    kind="semi-supervised image classification, EMA weights",
    needs=("torchvision", "tensorboard", "tqdm", "numpy", "pillow"),
    command=(
        "train.py",
        "--num-workers",
        "0",
        "--num-labeled",
        "80",
        "--batch-size",
        "8",
        "--mu",
        "2",
        "--total-steps",
        "160",
        "--eval-step",
        "40",
        "--lr",
        "0.03",
        "--ema-decay",
        "0.95",
        "--threshold",
        "0.7",
        "--out",
        "result",
        "--no-progress",
    ),
    files=("train.py", "dataset/cifar.py", "dataset/randaugment.py", "models/ema.py", "models/wideresnet.py"),
    seconds=14,
    prepare=prepare,
    shorten=(
        ("train.py", r"torch\.device\('cuda', args\.gpu_id\)", "torch.device('cpu')"),
        (
            "train.py",
            r"model_depth = 28\n            args\.model_width = 2\n",
            "model_depth = 10\n            args.model_width = 1\n",
        ),
        ("dataset/cifar.py", r"from torchvision import datasets", "import wild_datasets as datasets"),
        (
            "models/wideresnet.py",
            r"\[16, 16\*widen_factor, 32\*widen_factor, 64\*widen_factor\]",
            "[8, 8*widen_factor, 16*widen_factor, 32*widen_factor]",
        ),
        ("models/wideresnet.py", r"(channels\[0\], kernel_size=3, stride=)1", r"\g<1>2"),
    ),
    result=Result(r"-   top-1 acc: ([\d.]+)", "higher"),
)
