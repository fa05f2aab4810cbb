"""Write tests/golden/timm/summary.csv with timm's own writer.

Run in an environment with timm 1.0.30 and a torchvision that fits its torch:
    python tests/golden/make/write_timm.py
"""

from __future__ import annotations

import math
from collections import OrderedDict
from pathlib import Path

from timm.utils import update_summary

HERE = Path(__file__).resolve().parent.parent / "timm"


def main() -> None:
    HERE.mkdir(parents=True, exist_ok=True)
    path = HERE / "summary.csv"
    path.unlink(missing_ok=True)
    for epoch in range(8):
        loss = 2.3 * math.exp(-epoch / 4)
        update_summary(
            epoch,
            OrderedDict(loss=loss),
            OrderedDict(loss=loss + 0.2, top1=100 * (1 - math.exp(-epoch / 4)), top5=90.0 + epoch),
            str(path),
            lr=0.1 * 0.5 ** (epoch // 3),
            write_header=epoch == 0,
        )
    settings = {"model": "resnet18", "lr": 0.1, "epochs": 8, "num_classes": 10, "batch_size": 128, "amp": False}
    (HERE / "args.yaml").write_text("".join(f"{name}: {str(value).lower()}\n" for name, value in settings.items()))


if __name__ == "__main__":
    main()
