"""Writes tests/golden/transformers/outputs with Hugging Face's Trainer: two output directories, each with states and TensorBoard events.

    python write_transformers_outputs.py DIR

Keep trainer_state.json and the events; weights and optimiser states are not needed.
"""  # noqa: E501

import sys

import torch
from torch import nn
from transformers import Trainer, TrainingArguments


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, x=None, labels=None):  # type: ignore[no-untyped-def]
        logits = self.layers(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


draw = torch.Generator().manual_seed(0)
x = torch.randn(600, 8, generator=draw)
labels = (x @ torch.randn(8, 3, generator=draw)).argmax(1)
data = [{"x": x[i], "labels": labels[i]} for i in range(600)]
for name, lr in (("sound", 0.01), ("sick", 1e-5)):
    arguments = TrainingArguments(
        output_dir=f"{sys.argv[1]}/{name}", max_steps=120, logging_steps=5, eval_strategy="steps", eval_steps=20, save_steps=60,  # noqa: E501
        learning_rate=lr, per_device_train_batch_size=32, report_to=["tensorboard"], disable_tqdm=True, seed=1,
    )  # fmt: skip
    Trainer(Model(), arguments, train_dataset=data[:500], eval_dataset=data[500:]).train()
