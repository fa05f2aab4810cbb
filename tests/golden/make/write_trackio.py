"""Write tests/golden/trackio/golden.db with the real library.

Run in an environment with trackio 0.43.0:
    python tests/golden/make/write_trackio.py
"""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent / "trackio"


def loss_at(step: int) -> float:
    return 2 * math.exp(-step / 30) + 0.1


def write() -> None:
    import trackio

    for name in ("baseline", "broken"):
        run = trackio.init(
            project="golden", name=name, config={"lr": 0.05, "optimizer": {"name": "adamw"}, "classes": 10}
        )
        for step in range(40):
            row: dict[str, object] = {
                "train/loss": loss_at(step),
                "epoch": step // 20,
                "grads": {"norm": 1.0 + step % 7},
            }
            if step % 10 == 9:
                row["val/loss"] = loss_at(step) + 0.2
            if name == "broken" and step >= 37:
                row["train/loss"] = (math.nan, math.inf, -math.inf)[step - 37]
            trackio.log(row)
        if name == "broken":
            trackio.alert(title="loss is NaN", text="at step 37")
        trackio.finish()
        assert run.name == name


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRACKIO_DIR"] = folder
        os.environ["HF_HUB_OFFLINE"] = "1"
        write()
        (path,) = Path(folder).glob("*.db")
        database = sqlite3.connect(path)
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("PRAGMA page_size = 1024")
        database.execute("VACUUM")
        database.close()
        shutil.rmtree(HERE, ignore_errors=True)
        HERE.mkdir()
        shutil.copy(path, HERE / "golden.db")
