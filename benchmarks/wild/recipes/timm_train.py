"""timm's own train.py on a folder of images, with its smallest test network, mean weights (EMA) and a cosine
schedule."""

import shutil
from pathlib import Path

from data import image_folders
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    for name in ("results", "hfdocs", "tests", "convert", ".github", "docs"):
        shutil.rmtree(place / name, ignore_errors=True)
    image_folders(place / "images", {"train": 512, "val": 128}, classes=4, size=32)


RECIPE = Recipe(
    repository="huggingface/pytorch-image-models",
    commit="aa4b5850c1543fa488abf260f18390eda46cf85d",
    kind="image classification, timm's training script",
    needs=("timm", "torchvision", "pyyaml"),
    command=(
        "train.py", "--data-dir", "images", "--model", "test_resnet", "--num-classes", "4", "--input-size", "3", "32",
        "32",
        "--batch-size", "32", "--epochs", "7", "--warmup-epochs", "1", "--sched", "cosine", "--opt", "adamw", "--lr",
        "2e-3",
        "--weight-decay", "0.05", "--model-ema", "--model-ema-decay", "0.95", "--workers", "0", "--device", "cpu",
        "--log-interval", "10",
        "--color-jitter", "0.1", "--scale", "0.6", "1.0", "--hflip", "0",
    ),
    files=("train.py", "timm/models/resnet.py", "timm/utils/model_ema.py", "timm/scheduler/cosine_lr.py",
           "timm/data/loader.py"),
    shorten=(("timm/data/loader.py", r"persistent_workers: bool = True", "persistent_workers: bool = False"),),
    seconds=13,
    prepare=prepare,
    result=Result(r"Test \(EMA\):.*Loss:\s+[\d.]+ \(\s*([\d.]+)\)", "lower"),
)  # fmt: skip
