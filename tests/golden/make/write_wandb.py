"""Write tests/golden/wandb with the real library, offline.

Run in an environment with wandb 0.31.0:
    python tests/golden/make/write_wandb.py
Beside the run directories lies <case>.json with what was logged: {series: {"steps": […], "values": […]}}.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent.parent / "wandb"
CASES = ("finished", "crashed", "resumed")


def loss_at(step: int) -> float:
    return 2 * math.exp(-step / 30) + 0.1


def start(folder: str, case: str):
    import wandb

    settings = wandb.Settings(
        disable_git=True, x_disable_meta=True, host="host", program="train.py",
        root_dir=folder, x_stats_sampling_interval=0.1, silent=True,
    )  # fmt: skip
    config = {"lr": 0.05, "optimizer": {"name": "adamw", "betas": [0.9, 0.99]}, "num_classes": 10, "batch_size": 32}
    return wandb.init(
        mode="offline",
        project="golden",
        name=f"mlp-{case}",
        id=f"{case}1",
        resume="allow",
        config=config,
        settings=settings,
    )


def log_rows(folder: str, case: str) -> None:
    """The part of the work that happens inside a process of its own, since W&B watches how it ends."""
    if case == "resumed":
        for first, last in ((0, 60), (40, 100)):
            run = start(folder, case)
            for step in range(first, last):
                run.log({"loss": loss_at(step), "trainer/global_step": step * 5})
            run.finish()
            time.sleep(1.1)  # the name of the directory holds the second
        return
    run = start(folder, case)
    for step in range(120):
        row: dict[str, object] = {
            "train/loss": loss_at(step),
            "lr": 0.05,
            "grads": {"norm": 1.0 + step % 7},
            "epoch": step // 30,
        }
        if step % 10 == 9:
            row |= {"val/loss": loss_at(step) + 0.2, "note": "a text is no number"}
        if step >= 118:
            row["train/loss"] = math.nan if step == 118 else -math.inf
        run.log(row)
        print(f"step {step} loss {row['train/loss']:.4f}")
        if step % 30 == 0:
            time.sleep(0.3)
    if case == "crashed":
        raise RuntimeError("CUDA error: device-side assert triggered")
    run.finish()


def expected(case: str) -> dict[str, dict[str, list[float]]]:
    if case == "resumed":
        steps = list(range(100))
        return {"loss": {"steps": [5 * step for step in steps], "values": [loss_at(step) for step in steps]}}
    steps = list(range(120))
    losses = [loss_at(step) for step in steps[:118]] + [math.nan, -math.inf]
    return {
        "train/loss": {"steps": steps, "values": losses},
        "lr": {"steps": steps, "values": [0.05] * 120},
        "grads.norm": {"steps": steps, "values": [1.0 + step % 7 for step in steps]},
        "val/loss": {"steps": steps[9::10], "values": [loss_at(step) + 0.2 for step in steps[9::10]]},
    }


def write(case: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(__file__, Path(folder, "train.py"))  # so that tracebacks name no place of this machine
        environment = {**os.environ, "WANDB_CONSOLE": "wrap", "WANDB_SILENT": "true"}
        subprocess.run(
            [sys.executable, "train.py", folder, case], cwd=folder, env=environment, check=False, capture_output=True
        )
        for run in sorted(Path(folder, "wandb").glob("offline-run-*")):
            kept = HERE / case / run.name
            kept.mkdir(parents=True)
            shutil.copy(next(run.glob("*.wandb")), kept)
            if (run / "files" / "output.log").is_file():
                (kept / "files").mkdir()
                shutil.copy(run / "files" / "output.log", kept / "files")
    (HERE / f"{case}.json").write_text(json.dumps(expected(case)))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        log_rows(*sys.argv[1:])
    else:
        shutil.rmtree(HERE, ignore_errors=True)
        for case in CASES:
            write(case)
