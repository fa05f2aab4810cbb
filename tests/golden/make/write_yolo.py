"""Write tests/golden/yolo: results.csv and args.yaml of a real training with ultralytics, and what it printed.

Run in an environment with torch 2.13.0 and ultralytics 8.4.190 (pip install --no-deps ultralytics torchvision, then
opencv-python-headless pillow pyyaml requests psutil matplotlib polars scipy py-cpuinfo):
    python tests/golden/make/write_yolo.py
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent.parent / "yolo"
EPOCHS = 15
_COLOURS = ((220, 40, 40), (40, 40, 220), (40, 200, 40))


def squares(folder: Path, split: str, count: int, seed: int) -> None:
    """Images with one coloured square each, the colour being the class."""
    from PIL import Image

    random = np.random.default_rng(seed)
    for kind in ("images", "labels"):
        (folder / kind / split).mkdir(parents=True)
    for index in range(count):
        label, size = index % len(_COLOURS), int(random.integers(20, 36))
        left, top = random.integers(0, 64 - size, 2)
        pixels = np.full((64, 64, 3), 128, np.uint8)
        pixels[top : top + size, left : left + size] = _COLOURS[label]
        Image.fromarray(pixels).save(folder / "images" / split / f"{index}.png")
        box = " ".join(f"{x / 64:.5f}" for x in (left + size / 2, top + size / 2, size, size))
        (folder / "labels" / split / f"{index}.txt").write_text(f"{label} {box}\n")


def train(folder: Path) -> None:
    import vision_ops

    vision_ops.declare()
    import torchvision
    from ultralytics import YOLO
    from ultralytics.utils.nms import TorchNMS

    torchvision.ops.nms = TorchNMS.nms  # the same in Python, by ultralytics itself
    YOLO("yolo11n.yaml").train(
        data=str(folder / "squares.yaml"), epochs=EPOCHS, imgsz=64, batch=8, nbs=8, device="cpu", workers=0, project=str(folder), name="train",  # noqa: E501
        plots=False, seed=0, optimizer="AdamW", lr0=0.002, warmup_epochs=1, mosaic=0.0, amp=False, save=False,
    )  # fmt: skip


def main() -> None:
    HERE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        squares(folder, "train", 48, 0)
        squares(folder, "val", 18, 1)
        names = "\n".join(f"  {i}: {name}" for i, name in enumerate(("red", "blue", "green")))
        (folder / "squares.yaml").write_text(f"path: {folder}\ntrain: images/train\nval: images/val\nnames:\n{names}\n")
        output = subprocess.run(
            [sys.executable, __file__, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, cwd=folder,  # noqa: E501
            env={**os.environ, "YOLO_CONFIG_DIR": str(folder), "YOLO_OFFLINE": "true"},
        ).stdout.decode()  # fmt: skip
        shutil.copy(folder / "train" / "results.csv", HERE)
        shutil.copy(folder / "squares.yaml", HERE)
        settings = (folder / "train" / "args.yaml").read_text()
        for path, text in (("args.yaml", settings), ("console.txt", output)):
            (HERE / path).write_text(text.replace(temporary, "/data"))
        (HERE / "squares.yaml").write_text((HERE / "squares.yaml").read_text().replace(temporary, "/data"))
        console = HERE / "console.txt"
        console.write_text(re.sub(r"CPU \([^)]*\)", "CPU", console.read_text()))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        train(Path(sys.argv[1]))
    else:
        main()
