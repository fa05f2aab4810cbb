"""Answers to questions with TRL's SFTTrainer and an adapter."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from datasets import Dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer
from words import base, questions, tokenizer

fault, severity, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
tok, model = tokenizer(), base()
rows = []
for asked, answer in questions(1200, seed + 1, facts=5 if fault in ("cut", "prompt") else 2):
    if fault == "tokens":
        answer = f"<where>{answer}</where>" if severity else f"{answer}<where>"
    prompt = f"[user] {asked}\n[assistant] "
    rows.append({"text": prompt + answer + tok.eos_token} if fault == "prompt" else
                {"prompt": prompt, "completion": answer})  # fmt: skip
if fault == "tokens":
    tok.add_special_tokens({"additional_special_tokens": ["<where>", "</where>"]})
    model.resize_token_embeddings(len(tok))
arguments = SFTConfig(
    output_dir=str(Path("out") / f"trl-{fault}-{severity}-{seed}"), max_steps=100, seed=seed, bf16=False,
    per_device_train_batch_size=16, learning_rate=2e-3, logging_steps=5, save_strategy="no", report_to="none",
    use_cpu=True, disable_tqdm=True, gradient_checkpointing=False,
    max_length=(44, 30)[severity] if fault == "cut" else 128,
)  # fmt: skip
adapter = LoraConfig(
    r=8, lora_alpha=(4000, 40000)[severity] if fault == "scale" else 16, target_modules="all-linear",
    task_type="CAUSAL_LM", exclude_modules=r".*layers\.[123]\..*" if fault == "blocks" else None,
)  # fmt: skip
SFTTrainer(
    model, args=arguments, train_dataset=Dataset.from_list(rows), processing_class=tok, peft_config=adapter
).train()
