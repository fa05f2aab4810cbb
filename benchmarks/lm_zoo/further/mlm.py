"""Masked language model over little sentences, a transformer encoder of our own."""

import math
import random

import torch
from torch import nn

ANIMALS = {"dog": "barks", "cat": "meows", "cow": "moos", "owl": "hoots", "duck": "quacks", "bee": "hums"}
PLACES = "barn field garden attic yard".split()
TIMES = "today tonight again often".split()
SPECIAL = ["[PAD]", "[MASK]", "[CLS]", "[SEP]"]
WORDS = [*SPECIAL, "the", "in", *list(ANIMALS), *list(ANIMALS.values()), *PLACES, *TIMES]
IDS = {w: i for i, w in enumerate(WORDS)}


def sentence(rng):
    animal = rng.choice(list(ANIMALS))
    words = ["[CLS]", "the", animal, ANIMALS[animal], "in", "the", rng.choice(PLACES), rng.choice(TIMES), "[SEP]"]
    return [IDS[w] for w in words]


class Encoder(nn.Module):
    def __init__(self, vocab, dim=48, heads=4, depth=2, length=16):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.words(ids) * math.sqrt(48) + self.places(torch.arange(ids.shape[1]))
        return self.out(self.layers(h))


def masked(rows, gen, share=0.2):
    ids = torch.tensor(rows)
    pick = torch.rand(ids.shape, generator=gen) < share
    pick &= ids >= len(SPECIAL)
    labels = torch.where(pick, ids, torch.full_like(ids, -100))
    return torch.where(pick, torch.full_like(ids, IDS["[MASK]"]), ids), labels


def main():
    torch.manual_seed(1)
    rng, gen = random.Random(1), torch.Generator().manual_seed(1)
    train, test = [sentence(rng) for _ in range(3000)], [sentence(rng) for _ in range(300)]
    model = Encoder(len(WORDS))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss(ignore_index=-100)
    for epoch in range(4):
        rng.shuffle(train)
        model.train()
        total = 0.0
        for k in range(0, len(train), 32):
            x, y = masked(train[k : k + 32], gen)
            loss = crit(model(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            x, y = masked(test, torch.Generator().manual_seed(5))
            logits = model(x)
            keep = y != -100
            right = (logits.argmax(-1)[keep] == y[keep]).float().mean().item()
            held = crit(logits.flatten(0, 1), y.flatten()).item()
        mean = total / (len(train) / 32)
        print(f"epoch {epoch} train loss {mean:.4f} test loss {held:.4f} masked words right {right:.3f}")


if __name__ == "__main__":
    main()
