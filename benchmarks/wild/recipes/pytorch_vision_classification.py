"""The classification reference of torchvision: ImageFolder, its metric logger, SGD, a checkpoint every epoch."""

from pathlib import Path

from data import image_folders
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    image_folders(place / "references" / "classification" / "pictures", {"train": 960, "val": 240}, classes=6, size=32)


RECIPE = Recipe(
    repository="pytorch/vision",
    commit="e6f04004f0e0f759b44329d9ee6751a55abf0f83",
    paths=("references/classification",),
    kind="image classification, reference scripts",
    needs=("torchvision",),
    folder="references/classification",
    command=(
        "train.py",
        "--data-path",
        "pictures",
        "--model",
        "shufflenet_v2_x0_5",
        "--device",
        "cpu",
        "--workers",
        "0",
        "--epochs",
        "5",
        "--batch-size",
        "32",
        "--lr",
        "0.0125",
        "--lr-step-size",
        "4",
        "--train-crop-size",
        "32",
        "--val-resize-size",
        "36",
        "--val-crop-size",
        "32",
    ),
    files=(
        "references/classification/train.py",
        "references/classification/presets.py",
        "references/classification/utils.py",
    ),
    seconds=14,
    prepare=prepare,
    result=Result(r"Test:  Acc@1 ([\d.]+)", "higher"),
)
