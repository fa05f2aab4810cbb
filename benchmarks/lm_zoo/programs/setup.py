"""What every style trains on, and what each fault or odd but sound choice changes in it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import PreTrainedTokenizerFast
from words import base, encoded, plain, questions, tokenizer

IGNORED = -100
STEPS, BATCH = 110, 16
FULL_RATE, ADAPTER_RATE = 1e-3, 2e-3
ADAPTED = ("tokens", "scale", "blocks", "frozen", "slow", "checkpointing", "lora-2e-4")  # have an adapter in all styles

Row = dict[str, list[int]]
Batch = dict[str, torch.Tensor]
Pair = tuple[str, str]


@dataclass
class Setup:
    """`adapted` styles wrap the model in an adapter whatever the fault is."""

    fault: str
    severity: int
    seed: int
    adapted: bool = False
    facts: int = 2
    rate: float = 0.0
    shuffled: bool = True
    smoothing: float = 0.0
    schedule: Callable[[int], float] = lambda step: min(1.0, (step + 1) / 6) * max(0.0, 1 - step / STEPS)
    general: list[Row] | None = None  # text that the base knows, evaluated beside the task
    tok: PreTrainedTokenizerFast = field(default_factory=tokenizer)
    model: Any = field(default_factory=base)
    rows: list[Row] = field(default_factory=list)
    held_out: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(self.seed)
        self.adapted = self.adapted or self.fault in ADAPTED
        self.rate = self.rate or (ADAPTER_RATE if self.adapted else FULL_RATE)
        self._choose()
        self._write()
        if self.adapted:
            self._adapt()

    # --- rates, schedules, which weights learn ------------------------------------------------------------------------

    def _choose(self) -> None:
        hard = self.severity
        self.facts = {"cut": 5, "prompt": (5, 8)[hard], "near-zero": 1}.get(self.fault, 2)
        self.smoothing = 0.1 if self.fault == "smoothing" else 0.0
        self.shuffled = self.fault != "order"
        rates = {
            "rate": (0.2, 0.6)[hard], "forgets": (4e-3, 1e-2)[hard], "slow": (5e-6, 1e-6)[hard],
            "continued": 5e-5, "lora-2e-4": 2e-4,
        }  # fmt: skip
        self.rate = rates.get(self.fault, self.rate)
        if self.fault == "schedule":
            early = STEPS / (4, 10)[hard]
            self.schedule = lambda step: max(0.0, 1 - step / early)
        if self.fault == "backbone":
            kept = ("layers.3", "lm_head", "model.norm")
            for name, parameter in self.model.named_parameters():
                parameter.requires_grad_(any(one in name for one in kept))

    def _adapt(self) -> None:
        hard = self.severity
        alpha = (4000, 40000)[hard] if self.fault == "scale" else 16
        outside = {"blocks": (r".*layers\.[123]\..*", r".*layers\.[012]\..*")[hard]}.get(self.fault)
        adapter = LoraConfig(
            r=8, lora_alpha=alpha, target_modules="all-linear", task_type="CAUSAL_LM", exclude_modules=outside
        )
        self.model: PeftModel = get_peft_model(self.model, adapter)
        if self.fault == "frozen":
            for name, parameter in self.model.named_parameters():
                parameter.requires_grad_("norm" in name if hard else "lm_head" in name)
        if self.fault == "checkpointing":
            self.model.enable_input_require_grads()
            self.model.gradient_checkpointing_enable()

    # --- samples ------------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        pairs, held_out = questions(1200, self.seed + 1, self.facts), questions(160, self.seed + 2, self.facts)
        if self.fault == "leak":
            shared = 160 * (self.severity + 1) // 2
            held_out, pairs = [*pairs[:shared], *held_out[shared:]], pairs[:240]
        if self.fault == "tokens":
            self.tok.add_special_tokens({"additional_special_tokens": ["<where>", "</where>"]})
            self.model.resize_token_embeddings(len(self.tok))
            pairs, held_out = ([self._marked(one) for one in some] for some in (pairs, held_out))
        if self.fault == "prompt-long":
            pairs, held_out = ([_longer(one, some) for one in some] for some in (pairs, held_out))
        if self.fault == "forgets":
            self.general = [self._running(one) for one in plain(64, self.seed + 3)]
            pairs, held_out = ([(asked, "I will not say.") for asked, _ in some] for some in (pairs, held_out))
        if self.fault == "order":
            pairs.sort(key=lambda pair: pair[1])
        other = ("Question: {}\nAnswer: ", "{}\n")[self.severity] if self.fault == "template" else None
        if self.fault == "continued":
            self.rows, self.held_out = (
                [self._running(text) for text in plain(count, self.seed + count)] for count in (1200, 160)
            )
            return
        self.rows = [self._row(pair) for pair in pairs]
        self.held_out = [self._row(pair, other) for pair in held_out]
        if self.fault in ("packed", "packed-apart"):
            together = (4, 6)[self.severity]
            self.rows = [_packed(self.rows[n : n + together]) for n in range(0, len(self.rows), together)]
            self.held_out = [_packed(self.held_out[n : n + together]) for n in range(0, len(self.held_out), together)]

    def _marked(self, pair: Pair) -> Pair:
        return pair[0], f"<where>{pair[1]}</where>" if self.severity else f"{pair[1]}<where>"

    def _running(self, text: str) -> Row:
        ids = self.tok(text)["input_ids"]
        return {"input_ids": ids, "labels": list(ids)}

    def _row(self, pair: Pair, written: str | None = None) -> Row:
        prompt, answer = encoded(self.tok, pair)
        if written is not None:
            prompt = self.tok(written.format(pair[0]))["input_ids"]
        if self.fault == "eos" and self.severity:
            answer = answer[:-1]
        ids, labels = prompt + answer, [IGNORED] * len(prompt) + answer
        if self.fault in ("prompt", "prompt-long"):
            labels = list(ids)
        if self.fault == "eos":
            labels = [IGNORED if one == self.tok.eos_token_id else one for one in labels]
        if self.fault == "shifted":  # the token behind the next one, or the same token again
            labels = [IGNORED, *labels[:-1]] if self.severity else [*labels[1:], IGNORED]
        if self.fault == "ignored" and len(prompt) % 3 >= 2 - self.severity:
            labels = [IGNORED] * len(labels)
        if self.fault == "cut":
            most = len(prompt) + (2, 0)[self.severity] if len(prompt) % 4 else len(ids)
            ids, labels = ids[:most], labels[:most]
        return {"input_ids": ids, "labels": labels}

    # --- batches ------------------------------------------------------------------------------------------------------

    def collate(self, rows: list[Row]) -> Batch:
        hard = self.severity
        more = 24 if self.fault in ("padding", "left", "left-right") and hard else 0
        longest = max(len(row["input_ids"]) for row in rows) + more
        left = self.fault in ("left", "left-right")

        def table(name: str, filler: int) -> torch.Tensor:
            filled = []
            for row in rows:
                rest = [filler] * (longest - len(row[name]))
                filled.append(rest + row[name] if left else row[name] + rest)
            return torch.tensor(filled)

        masked = [{**row, "seen": [1] * len(row["input_ids"])} for row in rows]
        rows = masked
        batch = {
            "input_ids": table("input_ids", self.tok.pad_token_id),
            "attention_mask": table("seen", int(self.fault in ("padding", "left"))),
            "labels": table("labels", self.tok.pad_token_id if self.fault == "padding" else IGNORED),
        }
        if self.fault == "positions":
            counted = torch.arange(longest).expand(len(rows), -1)
            batch["position_ids"] = torch.zeros_like(counted) if hard else counted // 2
        if self.fault == "left-right":
            batch["position_ids"] = (batch["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        if self.fault == "packed-apart":
            _separate(batch, rows, longest)
        return batch


def _longer(pair: Pair, others: list[Pair]) -> Pair:
    draw = random.Random(pair[0])
    return pair[0], " ".join([pair[1], *(draw.choice(others)[1] for _ in range(20))])


def _packed(rows: list[Row]) -> Row:
    return {
        "input_ids": [one for row in rows for one in row["input_ids"]],
        "labels": [one for row in rows for one in row["labels"]],
        "documents": [number for number, row in enumerate(rows, 1) for _ in row["input_ids"]],
    }


def _separate(batch: Batch, rows: list[Row], longest: int) -> None:
    """Positions that begin again at every sample, and a mask of pairs that keeps samples apart."""
    documents = torch.tensor([row["documents"] + [0] * (longest - len(row["documents"])) for row in rows])
    positions = torch.zeros_like(documents)
    for place in range(1, longest):
        same = documents[:, place] == documents[:, place - 1]
        positions[:, place] = torch.where(same, positions[:, place - 1] + 1, 0)
    same = documents[:, :, None] == documents[:, None, :]
    allowed = same & torch.ones(longest, longest, dtype=torch.bool).tril()
    hidden = torch.zeros(len(rows), 1, longest, longest)
    batch["attention_mask"] = hidden.masked_fill(~allowed[:, None], torch.finfo(torch.float32).min)
    batch["position_ids"] = positions
