"""ML Doctor's classifier on a CSV of every evaluation."""

import csv
import tempfile
from pathlib import Path

from exchange import epochs, serve
from mldoctor.advisor import diagnose_csv


def look(trace):  # type: ignore[no-untyped-def]
    train, val = epochs(trace)
    norms = [value for _, value in trace.get("grad_norm", [])] or [1.0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["epoch", "train_loss", "val_loss", "grad_norm"])
            for index, (a, b) in enumerate(zip(train, val, strict=True)):
                writer.writerow([index, a, b, norms[min(len(norms) - 1, index * len(norms) // max(len(train), 1))]])
        told = diagnose_csv(str(path))
    return [] if "healthy" in str(told["label"]).lower() else [(str(told["label"]), told["confidence"] / 100)]


serve(look)
