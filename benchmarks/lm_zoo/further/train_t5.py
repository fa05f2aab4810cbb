"""Tiny T5 that turns number words into digits."""

import random

import torch
from transformers import T5Config, T5ForConditionalGeneration

NAMES = "zero one two three four five six seven eight nine".split()
PAD, EOS = 0, 1
VOCAB = {w: i + 2 for i, w in enumerate(NAMES)} | {str(d): i + 12 for i, d in enumerate(range(10))}


def example(rng):
    digits = [rng.randrange(10) for _ in range(rng.randint(1, 9))]
    return [VOCAB[NAMES[d]] for d in digits] + [EOS], [VOCAB[str(d)] for d in reversed(digits)] + [EOS]


def pad(rows, value):
    width = 10
    return torch.tensor([r + [value] * (width - len(r)) for r in rows])


def batch(rng, n):
    pairs = [example(rng) for _ in range(n)]
    src = pad([p[0] for p in pairs], PAD)
    return {"input_ids": src, "attention_mask": (src != PAD).long(), "labels": pad([p[1] for p in pairs], LABEL_PAD)}


LABEL_PAD = -100


@torch.no_grad()
def exact_match(model, rng, n=200):
    model.eval()
    data = batch(rng, n)
    out = model.generate(input_ids=data["input_ids"], attention_mask=data["attention_mask"], max_new_tokens=10)
    hits = 0
    for got, want in zip(out[:, 1:].tolist(), data["labels"].tolist(), strict=False):
        want = [t for t in want if t not in (-100, PAD)]
        hits += got[: len(want)] == want
    model.train()
    return hits / n


def main():
    torch.manual_seed(3)
    rng = random.Random(3)
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=24,
            d_model=48,
            d_kv=12,
            d_ff=96,
            num_layers=2,
            num_decoder_layers=2,
            num_heads=4,
            dropout_rate=0.0,
            pad_token_id=PAD,
            eos_token_id=EOS,
            decoder_start_token_id=PAD,
        )
    )
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=3e-3, total_steps=500, pct_start=0.1)
    for step in range(500):
        loss = model(**batch(rng, 32)).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")
    print(f"exact match {exact_match(model, random.Random(99)):.3f}")


if __name__ == "__main__":
    main()
