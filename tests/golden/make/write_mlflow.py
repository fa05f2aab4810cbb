"""Write tests/golden/mlflow with the real library: the sqlite store and the file store.

Run in an environment with mlflow 3.17.2:
    MLFLOW_ALLOW_FILE_STORE=true python tests/golden/make/write_mlflow.py
"""

from __future__ import annotations

import logging
import math
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Metric, Param

HERE = Path(__file__).resolve().parent.parent / "mlflow"
START_MS = 1_750_000_000_000


def loss_at(step: int) -> float:
    return 2 * math.exp(-step / 30) + 0.1


def fill(uri: str) -> None:
    """Three runs: one that finished and was resumed at 30, one that failed with NaN and Inf, one that was deleted."""
    client = MlflowClient(tracking_uri=uri)
    experiment = client.create_experiment("golden", artifact_location="mlflow-artifacts:/golden")
    for name, status in (("baseline", "FINISHED"), ("broken", "FAILED"), ("deleted", "FINISHED")):
        run = client.create_run(experiment, run_name=name, start_time=START_MS, tags={"mlflow.user": "user"})
        metrics: list[Metric] = []
        ranges = ((0, 40), (30, 70)) if name == "baseline" else ((0, 30),)
        for first, last in ranges:
            for step in range(first, last):
                now = START_MS + 2000 * step + 1000 * first
                loss = loss_at(step)
                if name == "broken" and step >= 27:
                    loss = (math.nan, math.inf, -math.inf)[step - 27]
                metrics.append(Metric("train/loss", loss, now, step))
                metrics.append(Metric("lr", 0.05, now, step))
                if step % 10 == 9:
                    metrics.append(Metric("val/loss", loss + 0.2, now, step))
        params = [Param("lr", "0.05"), Param("optimizer", "adamw"), Param("batch_size", "32"), Param("amp", "True")]
        client.log_batch(run.info.run_id, metrics=metrics, params=params)
        client.set_terminated(run.info.run_id, status, end_time=START_MS + 1_000_000)
        if name == "deleted":
            client.delete_run(run.info.run_id)


def write_sqlite() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mlflow.db")
        fill(f"sqlite:///{path}")
        database = sqlite3.connect(path)
        kept = {"metrics", "params", "runs", "tags", "experiments", "latest_metrics", "alembic_version"}
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall():
            if name not in kept and not name.startswith("sqlite_"):  # a store has dozens of empty tables, a page each
                database.execute(f'DROP TABLE "{name}"')
        database.commit()
        database.execute("PRAGMA page_size = 1024")
        database.execute("VACUUM")
        database.close()
        shutil.copy(path, HERE / "mlflow.db")


def write_files() -> None:
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder, "mlruns").as_uri())
        shutil.rmtree(Path(folder, "mlruns", "0"))  # the empty default experiment
        shutil.copytree(Path(folder, "mlruns"), HERE / "mlruns")


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    with tempfile.TemporaryDirectory() as elsewhere:
        os.chdir(elsewhere)  # MLflow notes the working directory
        write_sqlite()
        write_files()
