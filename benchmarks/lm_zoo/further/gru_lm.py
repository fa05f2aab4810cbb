"""Word-level GRU that reads a long text in order, with its hidden state carried from window to window."""

import random

import torch
import torch.nn as nn

SUBJ = "anna boris clara david elena felix".split()
VERB = {"anna": "paints", "boris": "cooks", "clara": "sings", "david": "reads", "elena": "runs", "felix": "sleeps"}
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()


def story(n, seed):
    rng = random.Random(seed)
    out = []
    for day in range(n):
        who = rng.choice(SUBJ)
        out += ["on", DAYS[day % 7], who, VERB[who], "."]
    return out


def batchify(ids, rows):
    n = len(ids) // rows
    return torch.tensor(ids[: n * rows]).view(rows, n)


class Net(nn.Module):
    def __init__(self, v, d=64):
        super().__init__()
        self.emb, self.rnn, self.dec = nn.Embedding(v, d), nn.GRU(d, d, 1, batch_first=True), nn.Linear(d, v)

    def forward(self, x, h=None):
        y, h = self.rnn(self.emb(x), h)
        return self.dec(y), h


def evaluate(net, data, crit, win):
    net.eval()
    h, tot, n = None, 0.0, 0
    with torch.no_grad():
        for k in range(0, data.shape[1] - win - 1, win):
            out, h = net(data[:, k : k + win], h)
            tot += crit(out.flatten(0, 1), data[:, k + 1 : k + 1 + win].flatten()).item()
            n += 1
    net.train()
    return tot / n


def main():
    torch.manual_seed(0)
    train_words, val_words = TRAIN_AND_VAL()
    vocab = {w: i for i, w in enumerate(sorted(set(train_words)))}
    train = batchify([vocab[w] for w in train_words], 16)
    val = batchify([vocab[w] for w in val_words], 4)
    net, crit, win = Net(len(vocab)), nn.CrossEntropyLoss(), 24
    opt = torch.optim.Adam(net.parameters(), lr=LR)
    for epoch in range(6):
        h = None
        for k in range(0, train.shape[1] - win - 1, win):
            out, h = net(train[:, k : k + win], h)
            h = h.detach()
            loss = crit(out.flatten(0, 1), train[:, k + 1 : k + 1 + win].flatten())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.3f} val loss {evaluate(net, val, crit, win):.3f}")


LR = 3e-3


def TRAIN_AND_VAL():
    return story(4000, 1), story(400, 2)


if __name__ == "__main__":
    main()
