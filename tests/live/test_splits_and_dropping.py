"""Evaluations of several parts of the data, and dropout that is called as a function."""

from __future__ import annotations

import sys
import weakref
from pathlib import Path

import pytest
import torch
from live_scripts import facts_of, present, run

from traindx.live.measures.splits import first_variables
from traindx.readers.find import find_runs

PARTS = """
from torch.utils.data import DataLoader, TensorDataset
X = torch.randn(40, 6); y = torch.randint(0, 2, (40,)); other_X, other_y = torch.randn(40, 6), torch.randint(0, 2, (40,))
net = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 2)); opt = torch.optim.Adam(net.parameters(), 0.02)
loader, held = DataLoader(TensorDataset(X, y), 10, shuffle=True), DataLoader(TensorDataset(other_X, other_y), 10)
def batch(split):
    i = torch.randint(0, 40, (10,))
    return (X[i], y[i]) if split == "train" else (other_X[i], other_y[i])
@torch.no_grad()
def by_word():
    return {{s: sum(F.cross_entropy(net(a), b).item() for a, b in [batch(s) for _ in range(4)]) for s in ("train", "val")}}
@torch.no_grad()
def by_loader():
    return [sum(F.cross_entropy(net(a), b).item() for a, b in part) for part in (loader, held)]
@torch.no_grad()
def loss_of(a, b):
    return F.cross_entropy(net(a), b).item()
def by_name():
    X_train, y_train, X_val, y_val = X, y, other_X, other_y
    return loss_of(X_train, y_train), loss_of(X_val, y_val)
@torch.no_grad()
def one_part():
    return F.cross_entropy(net(X), y).item()
for epoch in range(40):
    for a, b in loader:
        loss = F.cross_entropy(net(a), b); opt.zero_grad(); loss.backward(); opt.step()
    {how}()
print(F.cross_entropy(net(other_X), other_y).item())
"""  # noqa: E501


@pytest.mark.parametrize("how", ["by_word", "by_loader", "by_name", "one_part"])
def test_the_validation_loss_is_that_of_held_out_data(tmp_path: Path, how: str) -> None:
    printed = float(run(PARTS.format(how=how), tmp_path / "r.traindx"))
    (found,) = find_runs([tmp_path / "r.traindx"])
    last = found.series["val_loss"].values[-1]
    assert printed > 0.8  # forty random labels are learnt by heart
    if how == "one_part":
        assert last < 0.3
    else:
        assert last == pytest.approx(printed, rel=0.35)


def test_variables_are_not_kept_alive() -> None:
    def function() -> tuple[bool, list[str]]:
        loss = torch.nn.Parameter(torch.zeros(2))
        gone = weakref.ref(loss)
        names = [name for name, _ in first_variables(sys._getframe())]
        del loss
        return gone() is None, names

    freed, names = function()
    assert freed
    assert "loss" in names


DROPPED = """
X = torch.randn(64, 8); y = X[:, :3].argmax(1)
a, b = nn.Linear(8, 32), nn.Linear(32, 3); opt = torch.optim.Adam([*a.parameters(), *b.parameters()], 1e-3)
for step in range(5):
    loss = F.cross_entropy(b({hidden}), y); opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(
    ("hidden", "found"),
    [
        ("F.dropout(a(X).relu(), 0.95)", True),
        ("F.dropout(a(X).relu(), 0.3)", False),
        ("a(X).relu() * (torch.rand(64, 32) > 0.9)", False),  # sparse, but not scaled to keep the mean
    ],
)
def test_a_function_that_drops_most(tmp_path: Path, hidden: str, found: bool) -> None:
    facts = facts_of(DROPPED.format(hidden=hidden), tmp_path)
    assert ("dropout-drops-most" in present(facts)) is found


STILL_DROPPING = """
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.a, self.b = nn.Linear(8, 32), nn.Linear(32, 3)
    def forward(self, x):
        return self.b(F.dropout(self.a(x).relu(), 0.5, {training}))
X = torch.randn(96, 8); y = X[:, :3].argmax(1); V = torch.randn(32, 8); w = V[:, :3].argmax(1)
net = Net(); opt = torch.optim.Adam(net.parameters(), 1e-3)
for epoch in range(5):
    net.train()
    for b in torch.randperm(96).split(16):
        loss = F.cross_entropy(net(X[b]), y[b]); opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    with torch.no_grad():
        F.cross_entropy({answer}, w)
"""


@pytest.mark.parametrize(
    ("training", "answer", "found"),
    [
        ("True", "net(V)", True),
        ("self.training", "net(V)", False),
        (
            "True",
            "torch.stack([net(V) for _ in range(8)]).mean(0)",
            False,
        ),  # the scatter of the answers is what is wanted
    ],
)
def test_a_function_that_drops_in_eval_mode(tmp_path: Path, training: str, answer: str, found: bool) -> None:
    facts = facts_of(STILL_DROPPING.format(training=training, answer=answer), tmp_path)
    assert ("evaluated-in-train-mode" in present(facts)) is found
