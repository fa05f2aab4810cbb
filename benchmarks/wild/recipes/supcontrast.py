"""Supervised contrastive learning: two views of each image, a loss that pulls images of one class together, SGD with a
cosine schedule."""

import shutil
from pathlib import Path

from data import image_folders
from recipe import Recipe, Result

LOGGER = """class Logger:
    def __init__(self, **options):
        pass

    def log_value(self, name, value, step):
        pass
"""


def prepare(place: Path) -> None:
    shutil.rmtree(place / "figures")
    (place / "no_logger.py").write_text(LOGGER, "utf-8")
    image_folders(place / "images", {"train": 512}, classes=3, size=24)


RECIPE = Recipe(
    repository="HobbitLong/SupContrast",
    commit="66a8fe53880d6a1084b2e4e0db0a019024d6d41a",
    kind="supervised contrastive learning, own loop",
    needs=("torchvision",),
    command=(
        "main_supcon.py", "--dataset", "path", "--data_folder", "images/train", "--mean", "(0.45, 0.45, 0.45)", "--std",
        "(0.2, 0.2, 0.2)",
        "--size", "16", "--model", "resnet18", "--batch_size", "32", "--epochs", "8", "--learning_rate", "0.0125",
        "--temp", "0.1",
        "--cosine", "--num_workers", "0",
    ),
    files=("main_supcon.py", "losses.py", "util.py", "networks/resnet_big.py"),
    shorten=(
        ("main_supcon.py", r"import tensorboard_logger as", "import no_logger as"),
        ("networks/resnet_big.py", r"self\.in_planes = 64", "self.in_planes = 8"),
        ("networks/resnet_big.py", r"Conv2d\(in_channel, 64,", "Conv2d(in_channel, 8,"),
        ("networks/resnet_big.py", r"BatchNorm2d\(64\)", "BatchNorm2d(8)"),
        ("networks/resnet_big.py", r"strides = \[stride\]", "planes = planes // 8\n        strides = [stride]"),
        ("networks/resnet_big.py", r"\[resnet18, 512\]", "[resnet18, 64]"),
    ),
    seconds=13,
    prepare=prepare,
    result=Result(r"loss [\d.]+ \(([\d.]+)\)", "lower"),
)  # fmt: skip
