"""Answers to questions with the Trainer of transformers."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from datasets import Dataset
from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments
from words import base, encoded, questions, tokenizer

fault, severity, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
tok, model = tokenizer(), base()
pairs, held_out = questions(1200, seed + 1), questions(160, seed + 2)
if fault == "leak":
    held_out = [*pairs[: 160 * (severity + 1) // 2], *held_out[160 * (severity + 1) // 2 :]]
    pairs = pairs[:240]


def row(pair: tuple[str, str]) -> dict[str, list[int]]:
    prompt, answer = encoded(tok, pair)
    labels = [-100] * len(prompt) + answer
    if fault == "eos":
        labels = [-100 if one == tok.eos_token_id else one for one in labels]
    if fault == "shifted":
        labels = [*labels[1:], -100]
    if fault == "ignored" and len(prompt) % 3 >= 2 - severity:
        labels = [-100] * len(labels)
    return {"input_ids": prompt + answer, "attention_mask": [1] * len(prompt + answer), "labels": labels}


steps = 120
arguments = TrainingArguments(
    output_dir=str(Path("out") / f"trainer-{fault}-{severity}-{seed}"), max_steps=steps, seed=seed, data_seed=seed,
    per_device_train_batch_size=16, learning_rate=(2e-2, 2e-1)[severity] if fault == "rate" else 1e-3,
    lr_scheduler_type="linear" if fault != "schedule" else "constant", warmup_steps=6, logging_steps=5,
    eval_strategy="steps", eval_steps=30, save_strategy="no", report_to="none", use_cpu=True, disable_tqdm=True,
)  # fmt: skip
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
early = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / (steps / (4, 10)[severity])))
trainer = Trainer(
    model, arguments, train_dataset=Dataset.from_list([row(pair) for pair in pairs]),
    eval_dataset=Dataset.from_list([row(pair) for pair in held_out]), data_collator=DataCollatorForSeq2Seq(tok),
    optimizers=(optimizer, early) if fault == "schedule" else (None, None),
)  # fmt: skip
trainer.train()
print(trainer.evaluate())
