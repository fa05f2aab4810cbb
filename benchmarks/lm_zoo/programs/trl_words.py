"""Answers to questions with TRL's SFTTrainer and an adapter, on rows that are tokenized beforehand."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from datasets import Dataset
from setup import BATCH, STEPS, Setup
from trl import SFTConfig, SFTTrainer

fault, severity, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
given = Setup(fault, severity, seed, adapted=fault not in ("backbone", "forgets", "continued"))
arguments = SFTConfig(
    output_dir=str(Path("out") / f"trl-{fault}-{severity}-{seed}"), max_steps=STEPS, seed=seed, bf16=False,
    per_device_train_batch_size=BATCH, label_smoothing_factor=given.smoothing, logging_steps=5, save_strategy="no",
    eval_strategy="steps", eval_steps=30, report_to="none", use_cpu=True, disable_tqdm=True, max_length=None,
    gradient_checkpointing=fault == "checkpointing", shuffle_dataset=False, remove_unused_columns=False,
    train_sampling_strategy="random" if given.shuffled else "sequential",
)  # fmt: skip
optimizer = torch.optim.AdamW([p for p in given.model.parameters() if p.requires_grad], lr=given.rate)
held_out: object = Dataset.from_list(given.held_out)
if given.general is not None:
    held_out = {"task": held_out, "general": Dataset.from_list(given.general)}
SFTTrainer(
    given.model, args=arguments, train_dataset=Dataset.from_list(given.rows), eval_dataset=held_out,
    processing_class=given.tok, data_collator=given.collate,
    optimizers=(optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, given.schedule)),
).train()  # fmt: skip
