"""Long recordings without the long training: the recorder's own thinning and file format, fed with made-up numbers."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

from traindx.live.recording.store import Store
from traindx.live.recording.thinning import Thinning

LOOK_EVERY = 50  # updates between two looks at all layers
FLUSH_EVERY = 500


def make_recording(folder: Path, steps: int, layers: int, seed: int = 0) -> Path:
    """A training of so many updates whose loss spikes now and then, with everything the recorder keeps of its
    layers."""
    rng = random.Random(seed)
    store, thinning = Store(folder), Thinning()
    store.line("meta", schema="traindx.recording/2", argv=["train.py"], world=1)
    store.line("config", optimizer="AdamW", lr=3e-4, batch_size=32, model_layers=layers)
    for step in range(steps):
        loss = 3.0 * math.exp(-step / (steps / 4)) + 0.4 + 0.05 * rng.random() + (5.0 if rng.random() < 1e-4 else 0.0)
        values = {"train_loss": loss, "lr": 3e-4, "grad_norm": 1.0 + rng.random(), "step_time": 0.05}
        if step % LOOK_EVERY == 0:
            for layer in range(layers):
                name, size = f"blocks.{layer}", 10.0 ** (-4 * (1 - layer / layers))
                for kind, value in (("grad_norm", size), ("weight_norm", 10.0), ("update_ratio", 1e-3)):
                    values[f"{kind}/{name}.weight"] = value * (1 + rng.random())
                for kind, value in (("mean", 0.1), ("std", 1.0), ("min", -3.0), ("max", 3.0)):
                    values[f"activation_{kind}/{name}"] = value * (1 + rng.random())
                values[f"dead/{name}.act"] = rng.random() * 0.3
        kept = thinning.keep(step, values)
        if kept:
            store.row(step, kept)
        if step % FLUSH_EVERY == 0:
            store.flush()
    for step, row in thinning.rest():
        store.row(step, row)
    store.line("event", event="finished", text=f"The script came to its own end after {steps} updates.", step=steps)
    store.close()
    return folder


def make_logs(folder: Path, runs: int, steps: int = 300, seed: int = 0) -> Path:
    """A directory of many small runs, as JSON lines, a third of which diverge."""
    rng = random.Random(seed)
    for number in range(runs):
        place = folder / f"sweep-{number // 100:02d}" / f"run-{number:04d}"
        place.mkdir(parents=True)
        sick = number % 3 == 0
        with (place / "metrics.jsonl").open("w", encoding="utf-8") as file:
            for step in range(steps):
                loss = 2.0 * math.exp(-step / 60) + 0.3 + 0.02 * rng.random()
                if sick and step > steps * 2 / 3:
                    loss += (step - steps * 2 / 3) * 0.2
                file.write(json.dumps({"step": step, "train_loss": loss, "lr": 0.1}) + "\n")
    return folder


def make_long(folder: Path, steps: int, seed: int = 0) -> Path:
    """One run of very many steps, as CSV, with a spike."""
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    with (folder / "metrics.csv").open("w", encoding="utf-8") as file:
        file.write("step,train_loss,lr\n")
        for step in range(steps):
            loss = 50.0 if step == steps * 3 // 4 else 2.0 * math.exp(-step / (steps / 5)) + 0.3 + 0.05 * rng.random()
            file.write(f"{step},{loss:.5f},0.001\n")
    return folder
