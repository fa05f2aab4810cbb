"""runmedic on the log of a trace."""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from exchange import rows, serve

NAMES = ["step", "train_loss", "val_loss", "lr", "grad_norm"]


def look(trace):  # type: ignore[no-untyped-def]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, NAMES)
            writer.writeheader()
            writer.writerows(rows(trace))
        done = subprocess.run(
            [sys.executable, "-m", "runmedic", "diagnose", str(path), "--json"], capture_output=True, text=True
        )
        told = json.loads(done.stdout)
        runs = told if isinstance(told, list) else told.get("runs", [told])
        return [(f["check"], 1.0) for run in runs for f in run.get("findings", []) if f["severity"] != "info"]


serve(look)
