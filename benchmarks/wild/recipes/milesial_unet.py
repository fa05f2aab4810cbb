"""milesial's U-Net, made thin, on tiny pictures of bright blobs: RMSprop, cross entropy plus Dice loss."""

from pathlib import Path

import numpy as np
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
WIDTHS = (
    (r"\(n_channels, 64\)", "(n_channels, 8)"),
    (r"Down\(64, 128\)", "Down(8, 16)"),
    (r"Down\(128, 256\)", "Down(16, 32)"),
    (r"Down\(256, 512\)", "Down(32, 64)"),
    (r"Down\(512, 1024 ", "Down(64, 128 "),
    (r"Up\(1024, 512 ", "Up(128, 64 "),
    (r"Up\(512, 256 ", "Up(64, 32 "),
    (r"Up\(256, 128 ", "Up(32, 16 "),
    (r"Up\(128, 64, ", "Up(16, 8, "),
    (r"OutConv\(64, ", "OutConv(8, "),
)


def prepare(place: Path) -> None:
    from PIL import Image

    (place / "wandb.py").write_text(WANDB, "utf-8")
    draw = np.random.default_rng(0)
    rows, columns = np.mgrid[0:32, 0:32]
    for index in range(160):
        top, left = draw.uniform(9, 23, 2)
        high, wide = draw.uniform(5, 10, 2)
        mask = ((rows - top) / high) ** 2 + ((columns - left) / wide) ** 2 < 1
        colour = draw.uniform(0.5, 0.9, 3)
        image = np.where(mask[..., None], colour, draw.uniform(0.1, 0.4, 3)) + draw.normal(0, 0.12, (32, 32, 3))
        for folder, name, pixels in (
            ("imgs", f"{index:03}", image.clip(0, 1) * 255),
            ("masks", f"{index:03}_mask", mask * 255),
        ):
            path = place / "data" / folder / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels.astype(np.uint8)).save(path)


RECIPE = Recipe(
    repository="milesial/Pytorch-UNet",
    commit="21d7850f2af30a9695bbeea75f3136aa538cfc4a",
    kind="image segmentation, own loop",
    needs=("torchvision", "tqdm", "numpy", "pillow"),
    command=("train.py", "--epochs", "5", "--batch-size", "4", "--scale", "1.0"),
    files=("train.py", "unet/unet_model.py", "unet/unet_parts.py", "utils/data_loading.py", "utils/dice_score.py"),
    seconds=9,
    prepare=prepare,
    shorten=(
        ("train.py", r"num_workers=os\.cpu_count\(\)", "num_workers=0"),
        *(("unet/unet_model.py", pattern, width) for pattern, width in WIDTHS),
    ),
    result=Result(r"Validation Dice score: ([\d.]+)", "higher"),
)
