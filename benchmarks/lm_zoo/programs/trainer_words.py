"""Answers to questions with the Trainer of transformers."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from setup import BATCH, STEPS, Setup
from transformers import Trainer, TrainingArguments

fault, severity, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
given = Setup(fault, severity, seed)
arguments = TrainingArguments(
    output_dir=str(Path("out") / f"trainer-{fault}-{severity}-{seed}"), max_steps=STEPS, seed=seed, data_seed=seed,
    per_device_train_batch_size=BATCH, label_smoothing_factor=given.smoothing, logging_steps=5,
    eval_strategy="steps", eval_steps=30, save_strategy="no", report_to="none", use_cpu=True, disable_tqdm=True,
    remove_unused_columns=False, train_sampling_strategy="random" if given.shuffled else "sequential",
)  # fmt: skip

optimizer = torch.optim.AdamW([p for p in given.model.parameters() if p.requires_grad], lr=given.rate)
held_out = given.held_out if given.general is None else {"task": given.held_out, "general": given.general}
trainer = Trainer(
    given.model, arguments, train_dataset=given.rows, eval_dataset=held_out, data_collator=given.collate,
    optimizers=(optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, given.schedule)),
)  # fmt: skip
trainer.train()
print(trainer.evaluate())
