"""What the data itself shows: labels that do not belong to their inputs, repeated samples, passes without updates."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from live_scripts import facts_of, present

from traindx.live.neighbours import agreement

LEARNT = """
from torch.utils.data import DataLoader, TensorDataset
def make(n):
    y = torch.arange(n) % 4
    return torch.randn(n, 12) + 1.5 * torch.eye(4).repeat(1, 3)[y], y
X, y = make(512)
V, v = make(256)
{change}
net = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 4)); opt = torch.optim.Adam(net.parameters(), lr={lr})
for epoch in range({epochs}):
    for a, b in DataLoader(TensorDataset(X, y), {batch}, shuffle=True):
        loss = F.cross_entropy(net(a), b); opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for a, b in DataLoader(TensorDataset(V, v), 64): F.cross_entropy(net(a), b)
"""
ABOUT = {"labels-unrelated", "rare-classes-missed", "duplicate-samples", "constant-features", "huge-batches"}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("", set()),
        ("y = y[torch.randperm(512)]", {"labels-unrelated"}),
        ("y = y.roll(1)", set()),  # every class follows another: a name for each class is all that changed
        ("X = X.sort(0).values", {"labels-unrelated"}),
        ("k = (y == 0) | (torch.rand(512) < 0.01); X, y = X[k].repeat(4, 1), y[k].repeat(4)", {"rare-classes-missed"}),
        ("X = X[:3].repeat(171, 1)[:512]", {"duplicate-samples"}),
        ("X[:, 5] = 2.0; V[:, 5] = 2.0", {"constant-features"}),
    ],
    ids=["healthy", "shuffled labels", "renamed classes", "sorted inputs", "imbalance", "repeated", "constant"],
)
def test_data(tmp_path: Path, change: str, found: set[str]) -> None:
    facts = facts_of(LEARNT.format(change=change, lr=5e-3, epochs=6, batch=32), tmp_path)
    assert present(facts) & (ABOUT - {"duplicate-samples"} | found) == found
    assert facts["config"]["input_shape"] == "[12]"
    assert facts["config"]["target_max"] == 3


@pytest.mark.parametrize(("change", "unrelated"), [("y = y[torch.randperm(512)]", True), ("pass", False)])
def test_labels_are_compared_with_slices_of_the_evaluation_data(tmp_path: Path, change: str, unrelated: bool) -> None:
    """A loader for training, and evaluation data that is cut from a tensor, within the usual budget."""
    script = LEARNT.replace("DataLoader(TensorDataset(V, v), 64)", "zip(V.split(64), v.split(64))")
    facts = facts_of(script.format(change=change, lr=5e-3, epochs=6, batch=32), tmp_path, 0.01)
    assert facts["labels-unrelated"]["present"] is unrelated


@pytest.mark.parametrize(("batch", "rate", "found"), [(512, 1e-6, True), (512, 0.05, False), (32, 1e-6, False)])
def test_passes_without_updates(tmp_path: Path, batch: int, rate: float, found: bool) -> None:
    facts = facts_of(LEARNT.format(change="", lr=rate, epochs=12, batch=batch), tmp_path, ended=True)
    assert ("huge-batches" in present(facts)) is found


WHOLE = """
X = torch.randn(512, 8); y = (X @ torch.randn(8, 4)).argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)); opt = torch.optim.SGD(net.parameters(), {rate})
for epoch in range(30):
    b = torch.randperm(512)[:{rows}]
    loss = F.cross_entropy(net(X[b]), y[b]); opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(("rows", "rate", "found"), [(512, 0.001, True), (512, 2.0, False), (300, 0.001, False)])
def test_all_data_in_one_batch_without_a_loader(tmp_path: Path, rows: int, rate: float, found: bool) -> None:
    facts = facts_of(WHOLE.format(rows=rows, rate=rate), tmp_path, ended=True)
    assert ("huge-batches" in present(facts)) is found


def test_agreement_is_that_of_the_definition() -> None:
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(60, 3, generator=generator)
    labels = (rows[:, 0] > 0).long()
    found = agreement(rows, labels)
    scaled = ((rows - rows.mean(0)) / rows.std(0)).tolist()
    right = 0
    for one in range(60):
        others = sorted(
            (k for k in range(60) if k != one),
            key=lambda k: sum((a - b) ** 2 for a, b in zip(scaled[one], scaled[k], strict=True)),
        )
        votes = [int(labels[k]) for k in others[:5]]
        right += max(sorted(set(votes)), key=votes.count) == int(labels[one])
    assert found.score == pytest.approx(right / 60)
    assert found.chance == pytest.approx(max(labels.float().mean().item(), 1 - labels.float().mean().item()))
