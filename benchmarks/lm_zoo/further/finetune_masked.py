"""GPT-2 (tiny, from scratch) on questions; the mask says which tokens count."""

import random

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

FRUIT = [f"fruit{k}" for k in range(30)]
COLOR = [f"color{k}" for k in range(12)]
FILL = [f"filler{k}" for k in range(20)]
WORDS = ["<pad>", "<end>", "Q:", "A:", "color", "of", "?", *FRUIT, *COLOR, *FILL]
ID = {w: i for i, w in enumerate(WORDS)}
TABLE = {f: random.Random(f).choice(COLOR) for f in FRUIT}


def sample(rng):
    f = rng.choice(FRUIT)
    question = ["Q:", *[rng.choice(FILL) for _ in range(rng.randint(2, 8))], "color", "of", f, "?", "A:"]
    return [ID[w] for w in question], [ID[TABLE[f]], ID["<end>"]]


def collate(items):
    width = max(len(q) + len(a) for q, a in items)
    ids = torch.zeros(len(items), width, dtype=torch.long)
    counts = torch.zeros(len(items), width)
    for n, (q, a) in enumerate(items):
        ids[n, : len(q) + len(a)] = torch.tensor(q + a)
        counts[n, : len(q)] = 1.0
    return ids, counts


@torch.no_grad()
def accuracy(model, rng, n=200):
    model.eval()
    right = 0
    for _ in range(n):
        q, a = sample(rng)
        right += model(torch.tensor([q])).logits[0, -1].argmax().item() == a[0]
    model.train()
    return right / n


def main():
    torch.manual_seed(0)
    rng = random.Random(0)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(WORDS),
            n_positions=32,
            n_embd=64,
            n_layer=2,
            n_head=4,
            resid_pdrop=0,
            embd_pdrop=0,
            attn_pdrop=0,
        )
    )
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    data = [sample(rng) for _ in range(2000)]
    for epoch in range(4):
        rng.shuffle(data)
        for k in range(0, len(data), 16):
            ids, counts = collate(data[k : k + 16])
            logits = model(ids).logits
            per_token = F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
            weight = counts[:, 1:]
            loss = (per_token * weight).sum() / weight.sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")
    print(f"answer accuracy: {accuracy(model, random.Random(5)):.3f}")


if __name__ == "__main__":
    main()
