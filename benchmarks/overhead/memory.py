"""What recording costs in memory of the device: a language model under transformers' Trainer, bare and under
`traindx run`, each in a process of its own.

    python benchmarks/overhead/memory.py [--steps 400] [--layers 12] [--width 768] [--batch 8] [--repeats 2]

The model has random weights and is trained on random text, in bf16 where there is a GPU. Printed are, for each arm, the
most memory that torch had allocated and reserved on the GPU (on a machine without one: the most resident memory) and
the seconds of the training itself, then the ratios."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SCRIPT = """\
import json, resource, sys, time
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

steps, layers, width, batch, length, out = int(sys.argv[1]), *map(int, sys.argv[2:6]), sys.argv[6]
torch.manual_seed(0)
cuda = torch.cuda.is_available()
model = GPT2LMHeadModel(GPT2Config(n_layer=layers, n_embd=width, n_head=max(1, width // 64), n_positions=length))
rows = torch.randint(0, 50257, (512, length))
data = [{"input_ids": row, "labels": row} for row in rows]
arguments = TrainingArguments(
    out, max_steps=steps, per_device_train_batch_size=batch, bf16=cuda, logging_steps=20, save_strategy="no",
    report_to=[], learning_rate=3e-4, disable_tqdm=True, dataloader_num_workers=0,
)
trainer = Trainer(model=model, args=arguments, train_dataset=data)
begins = time.perf_counter()
trainer.train()
if cuda:
    torch.cuda.synchronize()
seconds = time.perf_counter() - begins
allocated = torch.cuda.max_memory_allocated() if cuda else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
reserved = torch.cuda.max_memory_reserved() if cuda else allocated
print("MEMORY " + json.dumps({"allocated": allocated, "reserved": reserved, "seconds": seconds}))
"""


def measured(recorded: bool, options: argparse.Namespace) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "train.py"
        script.write_text(SCRIPT)
        sizes = [options.steps, options.layers, options.width, options.batch, options.length]
        command = [str(script), *map(str, sizes), str(Path(folder) / "out")]
        prefix = ["-m", "traindx", "run"] if recorded else []
        ran = subprocess.run(
            [sys.executable, *prefix, *command], cwd=folder, capture_output=True, text=True,
            env={**os.environ, "TRAINDX_CASES": "off"},
        )  # fmt: skip
        for line in ran.stdout.splitlines():
            if line.startswith("MEMORY "):
                read: dict[str, float] = json.loads(line.removeprefix("MEMORY "))
                return read
        raise SystemExit(f"the training failed: {ran.stderr[-1500:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in {"steps": 400, "layers": 12, "width": 768, "batch": 8, "length": 1024, "repeats": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    arms: dict[str, list[dict[str, Any]]] = {"bare": [], "traindx": []}
    for _ in range(options.repeats):  # in turns, so that what else the machine does falls on both
        for name, rows in arms.items():
            rows.append(measured(name == "traindx", options))
    middle = {
        name: {key: statistics.median(row[key] for row in rows) for key in rows[0]} for name, rows in arms.items()
    }
    for name, row in middle.items():
        print(
            f"{name:8} allocated {row['allocated'] / 1e6:.0f} MB, reserved {row['reserved'] / 1e6:.0f} MB, "
            f"training {row['seconds']:.1f} s"
        )
    ratios = {key: middle["traindx"][key] / middle["bare"][key] for key in middle["bare"]}
    print("ratio    " + ", ".join(f"{key} {value:.3f}" for key, value in ratios.items()))


if __name__ == "__main__":
    main()
