"""Answers to questions in a loop written by hand, with an adapter of PEFT."""

from __future__ import annotations

import sys

import torch
from setup import BATCH, STEPS, Row, Setup
from torch.utils.data import DataLoader

fault, severity, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
given = Setup(fault, severity, seed, adapted=fault not in ("backbone", "forgets", "continued", "optimizer"))
model = given.model
before = [p for p in model.parameters() if p.dim() == 1]
if fault == "means":
    for number, row in enumerate(given.rows):
        if number % 4 == 0:
            extra = row["input_ids"][-8:-1] * (4, 10)[severity]
            row["input_ids"], row["labels"] = row["input_ids"] + extra, row["labels"] + extra
learning = before if fault == "optimizer" else [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(learning, lr=given.rate)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, given.schedule)
parts = 4 if fault == "means" else 1
loader = DataLoader(given.rows, BATCH, shuffle=given.shuffled, collate_fn=list, drop_last=True)
held_out = {"task": given.held_out} | ({} if given.general is None else {"general": given.general})


def loss_of(rows: list[Row]) -> torch.Tensor:
    batch = given.collate(rows)
    if not given.smoothing:
        return model(**batch).loss
    labels = batch.pop("labels")[:, 1:]
    logits = model(**batch).logits[:, :-1]
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=given.smoothing)


def evaluate() -> None:
    model.eval()
    with torch.no_grad():
        for name, rows in held_out.items():
            losses = [loss_of(rows[n : n + 32]).item() for n in range(0, len(rows), 32)]
            print(f"{name} eval loss {sum(losses) / len(losses):.4f}")
    model.train()


step, first = 0, None
while step < STEPS:
    for chosen in loader:
        if step == STEPS:
            break
        first = first or chosen
        picked = first if fault == "repeat" else chosen
        if fault == "means":
            picked = sorted(picked, key=lambda row: len(row["input_ids"]))
        size = len(picked) // parts
        losses = []
        for part in range(parts):
            loss = loss_of(picked[part * size : (part + 1) * size]) / parts
            loss.backward()
            losses.append(loss.item())
        optimizer.step()
        scheduler.step()
        if fault != "gradients" or (not severity and step % 20 == 0):
            optimizer.zero_grad()
        if step % 5 == 0:
            print(f"step {step} loss {sum(losses):.4f}")
        if step % 30 == 29:
            evaluate()
        step += 1
