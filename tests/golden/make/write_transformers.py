"""Write tests/golden/transformers: an output directory of the Hugging Face Trainer with three checkpoints.

Run in an environment with transformers 5.22.2, accelerate 1.15.0 and torch 2.13.0:
    python tests/golden/make/write_transformers.py
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import torch
from transformers import Trainer, TrainingArguments

HERE = Path(__file__).resolve().parent.parent / "transformers"
KEPT = {"trainer_state.json", "config.json"}


class Regression(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        output = self.layer(x)
        return {"loss": torch.nn.functional.mse_loss(output, labels), "logits": output}


def rows(count: int) -> list[dict[str, torch.Tensor]]:
    inputs = torch.randn(count, 4)
    return [{"x": row, "labels": row.sum(0, keepdim=True)} for row in inputs]


def train(folder: Path, *, poisoned: bool) -> None:
    """`poisoned`: one sample is NaN, which the Trainer's log hides: the loss reads 0 from then on."""
    torch.manual_seed(0)
    arguments = TrainingArguments(
        str(folder), num_train_epochs=3, per_device_train_batch_size=8, learning_rate=0.05, logging_steps=2, eval_strategy="steps",  # noqa: E501
        eval_steps=4, save_steps=4, report_to=[], disable_tqdm=True, use_cpu=True, save_total_limit=3, weight_decay=0.01,  # noqa: E501
    )  # fmt: skip
    evals = {"near": rows(16), "far": rows(16)}
    samples = rows(32)
    if poisoned:
        samples[5]["x"] = torch.full((4,), torch.nan)
    trainer = Trainer(Regression(), arguments, train_dataset=samples, eval_dataset=evals)
    trainer.train()
    trainer.save_state()


def main() -> None:
    shutil.rmtree(HERE, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, poisoned in (("good", False), ("poisoned", True)):
            output = Path(folder, name)
            train(output, poisoned=poisoned)
            for path in output.rglob("*"):
                if path.name in KEPT:
                    target = HERE / name / path.relative_to(output)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    # the temporary folder's name is of no use to anybody
                    target.write_text(path.read_text().replace(str(output), "output"))
    history = json.loads((HERE / "good" / "trainer_state.json").read_text())["log_history"]
    print(len(history), "rows")


if __name__ == "__main__":
    main()
