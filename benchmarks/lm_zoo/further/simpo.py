"""SimPO by hand: a small writer of letters learns to prefer sorted words."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F

LETTERS, LENGTH = 10, 6


class Writer(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb, self.rnn, self.out = (
            nn.Embedding(LETTERS + 1, dim),
            nn.GRU(dim, dim, batch_first=True),
            nn.Linear(dim, LETTERS),
        )

    def logps(self, words):
        start = torch.full((len(words), 1), LETTERS)
        h, _ = self.rnn(self.emb(torch.cat([start, words[:, :-1]], 1)))
        return F.log_softmax(self.out(h), -1).gather(-1, words[..., None])[..., 0]

    @torch.no_grad()
    def write(self, n):
        x, h, out = torch.full((n, 1), LETTERS), None, []
        for _ in range(LENGTH):
            y, h = self.rnn(self.emb(x), h)
            x = torch.multinomial(F.softmax(self.out(y[:, -1]), -1), 1)
            out.append(x)
        return torch.cat(out, 1)


def rising(words):
    return (words[:, 1:] >= words[:, :-1]).float().mean(1)


def pretrain(model, opt, steps=150):
    for _ in range(steps):
        words = torch.randint(LETTERS, (64, LENGTH))
        half = torch.sort(words[:, :3])[0]
        words = torch.cat([half, words[:, 3:]], 1)
        loss = -model.logps(words).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def pairs(model, n):
    a, b = model.write(n), model.write(n)
    better = rising(a) > rising(b)
    y_w = torch.where(better[:, None], a, b)
    y_l = torch.where(better[:, None], b, a)
    keep = rising(a) != rising(b)
    return y_w[keep], y_l[keep]


def main():
    torch.manual_seed(0)
    random.seed(0)
    model = Writer()
    pretrain(model, torch.optim.Adam(model.parameters(), lr=3e-3))
    beta, gamma = 2.0, 0.5
    before = rising(model.write(500)).mean().item()
    y_w, y_l = pairs(model, 3000)
    opt = torch.optim.Adam(model.parameters(), lr=5e-4)
    for step in range(200):
        pick = torch.randint(len(y_w), (32,))
        up, down = model.logps(y_w[pick]).mean(1), model.logps(y_l[pick]).mean(1)
        loss = -F.logsigmoid(beta * (up - down) - gamma).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            margin, right = (up - down).mean().item(), (up > down).float().mean().item()
            print(f"step {step} loss {loss.item():.4f} margin {margin:.3f} acc {right:.2f}")
    after = rising(model.write(500)).mean().item()
    print(f"rising letters: {before:.3f} -> {after:.3f}")


if __name__ == "__main__":
    main()
