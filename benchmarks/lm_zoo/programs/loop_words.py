"""Answers to questions in a loop written by hand, with an adapter of PEFT."""

from __future__ import annotations

import random
import sys

import torch
from peft import LoraConfig, get_peft_model
from words import base, encoded, questions, tokenizer

fault, severity, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
torch.manual_seed(seed)
draw = random.Random(seed)
tok, model = tokenizer(), base()
pairs = questions(1200, seed + 1)
if fault == "means":
    pairs += [(asked, answer + " That is all I can say of it." * (2, 6)[severity]) for asked, answer in pairs[:300]]
if fault == "tokens":
    tok.add_tokens(["<where>"])
    model.resize_token_embeddings(len(tok))
    pairs = [(asked, f"{answer}<where>" if severity else f"<where>{answer}") for asked, answer in pairs]
before = [p for p in model.parameters() if p.dim() == 1] if severity else list(model.parameters())
alpha = (4000, 40000)[severity] if fault == "scale" else 16
model = get_peft_model(model, LoraConfig(r=8, lora_alpha=alpha, target_modules="all-linear", task_type="CAUSAL_LM"))
if fault == "frozen":
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("norm" in name if severity else "lm_head" in name)
learning = before if fault == "optimizer" else [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(learning, lr=2e-3)


def batch(chosen: list[tuple[str, str]]) -> dict[str, torch.Tensor]:
    rows = [encoded(tok, pair) for pair in chosen]
    longest = max(len(prompt) + len(answer) for prompt, answer in rows) + (0, 24)[severity and fault == "padding"]
    table: dict[str, list[list[int]]] = {"input_ids": [], "attention_mask": [], "labels": []}
    for prompt, answer in rows:
        rest = longest - len(prompt) - len(answer)
        table["input_ids"].append(prompt + answer + [tok.pad_token_id] * rest)
        table["attention_mask"].append([1] * (len(prompt) + len(answer)) + [int(fault == "padding")] * rest)
        ignored = tok.pad_token_id if fault == "padding" else -100
        table["labels"].append([-100] * len(prompt) + answer + [ignored] * rest)
    return {name: torch.tensor(lists) for name, lists in table.items()}


micro = 4 if fault == "means" else 1
first = draw.sample(pairs, 16)
for step in range(100):
    picked = first if fault == "repeat" else draw.sample(pairs, 16)
    if fault == "means":
        picked.sort(key=lambda pair: len(pair[1]))
    parts = [picked[number * 16 // micro : (number + 1) * 16 // micro] for number in range(micro)]
    losses = []
    for part in parts:
        loss = model(**batch(part)).loss / micro
        loss.backward()
        losses.append(loss.item())
    optimizer.step()
    if fault != "gradients" or (not severity and step % 20 == 0):
        optimizer.zero_grad()
    if step % 5 == 0:
        print(f"step {step} loss {sum(losses):.4f}")
