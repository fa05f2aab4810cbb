"""Classes that training hardly shows, beside evaluations that ask for them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from live_scripts import facts_of, present

from traindx.live.measures.shares import is_even, rare_in, worse_recognised
from traindx.symptoms.rare_classes_missed import is_rarer

MISSED = "rare-classes-missed"

SHARES = """
def draw(shares, n):
    y = torch.multinomial(torch.tensor(shares), n, replacement=True)
    X = torch.randn(n, 6); X[torch.arange(n), y] += {apart}
    return X, y
X, y = draw({train}, 640); V, w = draw({held}, 200)
{change}
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2)); opt = torch.optim.Adam(net.parameters(), 1e-2)
for epoch in range(8):
    for b in {order}.split(32):
        loss = {loss}; opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for i in range(0, 200, 50): F.cross_entropy(net(V[i:i + 50]), w[i:i + 50])
"""
USUAL = {
    "train": [0.05, 0.95], "held": [0.5, 0.5], "apart": 2.5, "change": "", "order": "torch.randperm(640)",
    "loss": "F.cross_entropy(net(X[b]), y[b])",
}  # fmt: skip


def missed(folder: Path, **changes: object) -> bool:
    return MISSED in present(facts_of(SHARES.format(**USUAL | changes), folder))


@pytest.mark.parametrize("budget", [1.0, 0.01])
def test_a_class_that_only_training_hardly_shows(tmp_path: Path, budget: float) -> None:
    fact = facts_of(SHARES.format(**USUAL), tmp_path, budget)[MISSED]
    assert fact["present"]
    assert 0.7 <= fact["clarity"] < 1  # most of its samples are recognised, but fewer than of the other
    assert "of the training labels" in fact["evidence"]


@pytest.mark.parametrize(
    "changes",
    [
        {"train": [0.5, 0.5]},
        {"train": [0.5, 0.5], "held": [0.05, 0.95]},  # a sampler made training even
        {"train": [0.05, 0.95], "apart": 12},  # rare, and learnt all the same
        {"train": [0.1, 0.9], "held": [0.1, 0.9], "apart": 4},
        {"train": [0.5, 0.5], "change": "X, y = X[y.argsort()], y.sort().values", "order": "torch.arange(640)"},
        {"train": [0.5, 0.5], "change": "w = 1 - w"},
    ],
    ids=["even", "made even", "learnt well", "rare everywhere", "sorted", "permuted"],
)
def test_healthy_shares(tmp_path: Path, changes: dict[str, object]) -> None:
    assert not missed(tmp_path, **changes)


@pytest.mark.parametrize(
    "loss",
    [
        "F.cross_entropy(net(X[b]), y[b], weight=torch.tensor([9.0, 1.0]))",
        "(F.cross_entropy(net(X[b]), y[b], reduction='none') * (9.0 - 8 * y[b])).mean()",
        "F.cross_entropy(net(X[b]).repeat_interleave(3, 0), y[b].repeat_interleave(3))",  # three labels for a sample
    ],
    ids=["weight", "weighted by hand", "a sequence"],
)
def test_what_makes_up_for_it_is_left_alone(tmp_path: Path, loss: str) -> None:
    assert not missed(tmp_path, loss=loss)


LOADERS = (
    SHARES[: SHARES.index("    with torch.no_grad")]
    .replace("for b in {order}.split(32)", "net.train()\n    for x, t in trained")
    .replace(
        "for epoch",
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "trained = DataLoader(TensorDataset(X, y), 32, shuffle=True); asked = DataLoader(TensorDataset(V, w), 50)\nfor "
        "epoch",
    )
    + """
    net.eval()
    with torch.no_grad(): accuracy = [(net(a).argmax(1) == b).float().mean() for a, b in asked]
"""
)


@pytest.mark.parametrize(
    ("train", "apart", "seen"), [([0.05, 0.95], 2.5, True), ([0.05, 0.95], 12, False), ([0.5, 0.5], 2.5, False)]
)
def test_an_evaluation_without_a_loss(tmp_path: Path, train: list[float], apart: float, seen: bool) -> None:
    changes = {"train": train, "apart": apart, "loss": "F.cross_entropy(net(x), t)"}
    assert (MISSED in present(facts_of(LOADERS.format(**USUAL | changes), tmp_path))) is seen


REGRESSION = """
X = torch.randn(256, 4); y = {target}
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)); opt = torch.optim.SGD(net.parameters(), 0.05)
for epoch in range(4):
    for b in torch.randperm(256).split(32):
        loss = F.mse_loss(net(X[b]), y[b]){more}; opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(
    ("target", "more", "told"),
    [
        ("X[:, :1] * 2 + 1", "", True),
        ("X[:, :1] * 2 + 1", " / 2", True),
        ("(X[:, :1] > 1.5).float()", "", False),
        ("X[:, :1] * 2 + 1", " + F.cross_entropy(X[b] @ net[0].weight.T, torch.zeros(32).long())", False),
    ],
    ids=["numbers", "scaled", "codes", "beside a classification"],
)
def test_a_regression_has_no_rare_classes(tmp_path: Path, target: str, more: str, told: bool) -> None:
    facts = facts_of(REGRESSION.format(target=target, more=more), tmp_path)
    for name in (MISSED, "labels-imbalanced"):
        assert ("are numbers" in facts.get(name, {}).get("evidence", "")) is told
        assert not facts.get(name, {}).get("present")


def batches(*counts: tuple[float, ...]) -> torch.Tensor:
    return torch.tensor(counts, dtype=torch.double)


MIXED = batches(*[(2, 30), (1, 31), (0, 32), (1, 31), (2, 30), (1, 31), (3, 29), (0, 32), (2, 30), (1, 31)] * 3)


def evaluated(*held: float) -> torch.Tensor:
    """One batch of an evaluation, all of it recognised."""
    return torch.tensor([[held, held]], dtype=torch.double)


def test_shares_that_differ_beyond_doubt() -> None:
    found = rare_in(MIXED, evaluated(50, 50), complete=True)
    assert is_rarer(found)
    assert found.rare == (0,)
    assert (found.held_rare, found.held_frequent) == (50, 50)


@pytest.mark.parametrize(
    "held",
    [(8.0, 92.0), (96.0, 4.0), (5.0, 25.0)],
    ids=["nearly alike", "renamed", "few"],
)
def test_shares_that_do_not(held: tuple[float, float]) -> None:
    assert not is_rarer(rare_in(MIXED, evaluated(*held), complete=True))


def test_sorted_batches_are_no_sample() -> None:
    ordered = batches(*[(0, 32)] * 27, *[(12, 20)] * 3)
    assert rare_in(MIXED, evaluated(50, 50), complete=True).disorder < 1
    assert not is_rarer(rare_in(ordered, evaluated(50, 50), complete=True))


def test_many_even_classes_are_even_in_spite_of_chance() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 100, (2500,), generator=generator)
    counts = labels.bincount(minlength=100).double()
    assert not is_rarer(rare_in(counts.reshape(1, -1), evaluated(*[20.0] * 100), complete=True))
    assert not is_even(torch.tensor([100.0, 0.0]), torch.tensor([50.0, 50.0]))  # perhaps it was only not seen yet
    assert is_even(torch.tensor([60.0, 40.0, 0.0]), torch.tensor([50.0, 50.0, 0.0]))


def test_recognised_as_well() -> None:
    assert worse_recognised((50, 50), (50, 50)) == 0
    assert worse_recognised((45, 36), (68, 68)) > 3
