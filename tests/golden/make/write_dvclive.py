"""Write tests/golden/dvclive: what a training with DVCLive leaves behind.

Run in an environment with dvclive 3.49.1:
    python tests/golden/make/write_dvclive.py
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from pathlib import Path

from dvclive import Live

HERE = Path(__file__).resolve().parent.parent / "dvclive"
KEPT = {".tsv", ".json", ".yaml"}


def main() -> None:
    shutil.rmtree(HERE, ignore_errors=True)
    expected: dict[str, list[float]] = {"train/loss": [], "eval/loss": [], "lr": []}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with Live("dvclive", save_dvc_exp=False, report=None, dvcyaml=None) as live:
            live.log_params({"lr": 0.01, "optimizer": {"name": "adam", "betas": [0.9, 0.999]}, "epochs": 12})
            for step in range(12):
                loss = 2 * math.exp(-step / 4) + 0.1 if step != 7 else math.nan
                for name, value in (("train/loss", loss), ("lr", 0.01 * 0.9**step)):
                    live.log_metric(name, value)
                    expected[name].append(value)
                if step % 3 == 2:
                    live.log_metric("eval/loss", loss + 0.2)
                    expected["eval/loss"].append(loss + 0.2)
                live.next_step()
        for path in Path("dvclive").rglob("*"):
            if path.suffix in KEPT:
                target = HERE / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
    (HERE / "expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main()
