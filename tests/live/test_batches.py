"""Scale, size and order of what a model is fed."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
import torch
from live_scripts import facts_of, present

from traindx.live.instruments.batches import Batches
from traindx.measurements import SmallBatches

REGRESSION = """
X, y = torch.randn(320, 4), torch.randn(320)
{change}
net = nn.Sequential({first}nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(2):
    for b in torch.randperm(320).split({batch}):
        loss = F.mse_loss(net(X[b]).squeeze(1), y[b]); opt.zero_grad(); loss.backward(); opt.step()
"""
ABOUT = {"inputs-unscaled", "targets-unscaled", "tiny-batches", "outlier-batch", "nonfinite-inputs"}


@pytest.mark.parametrize(
    ("change", "first", "batch", "found"),
    [
        ("pass", "", 32, set()),
        ("X[:, 1] = 3e5 + 5e4 * X[:, 1]", "", 32, {"inputs-unscaled"}),
        ("X[:, 1] = 3e5 + 5e4 * X[:, 1]", "nn.BatchNorm1d(4), ", 32, set()),
        ("X[::30] = 6e4", "", 32, {"outlier-batch"}),  # in every batch, but it is not the scale of the data
        ("y = 150 + 80 * y", "", 32, {"targets-unscaled"}),
        ("pass", "", 1, set()),  # noisy targets at a rate that single samples bear
    ],
)
def test_regression(tmp_path: Path, change: str, first: str, batch: int, found: set[str]) -> None:
    facts = facts_of(REGRESSION.format(change=change, first=first, batch=batch), tmp_path)
    assert present(facts) & ABOUT == found
    assert facts["config"]["batch_size"] == batch


@pytest.mark.parametrize(("scale", "sure"), [("1", True), ("8", False)])
def test_inputs_that_are_only_just_not_large(tmp_path: Path, scale: str, sure: bool) -> None:
    fact = facts_of(REGRESSION.format(change=f"X *= {scale}", first="", batch=32), tmp_path)["inputs-unscaled"]
    assert not fact["present"]
    assert (fact.get("clarity", 1.0) == 1.0) is sure


ONE_BY_ONE = """
X = torch.randn(400, 8); y = ((X @ torch.randn(8, 12)).tanh() @ torch.randn(12, 4)).argmax(1)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)); opt = {optimizer}
for epoch in range(2):
    for b in torch.randperm(400).split({batch}):
        loss = F.cross_entropy(net(X[b]), y[b]); opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(
    ("optimizer", "batch", "found"),
    [
        ("torch.optim.Adam(net.parameters(), 0.03)", 1, True),
        ("torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)", 1, True),  # dies
        ("torch.optim.Adam(net.parameters(), 5e-4)", 1, False),
        ("torch.optim.SGD(net.parameters(), 0.02)", 1, False),
        ("torch.optim.Adam(net.parameters(), 0.03)", 16, False),
    ],
)
def test_a_rate_made_for_larger_batches(tmp_path: Path, optimizer: str, batch: int, found: bool) -> None:
    facts = facts_of(ONE_BY_ONE.format(optimizer=optimizer, batch=batch), tmp_path)
    assert facts["tiny-batches"]["present"] is found


@pytest.mark.parametrize("told", [True, False])
def test_backward_passes_of_updates_that_are_not_told_do_not_add_up(told: bool) -> None:
    hub = mock.Mock(step=0, grad=True)
    hub.number_of.return_value = mock.Mock(value=1.0)
    batches, x, optimizer = Batches(hub), torch.ones(1, 4), torch.optim.SGD([torch.ones(1)], 0.01)
    for hub.step in range(6):
        batches.on_forward(torch.nn.Linear(4, 1), (x,), {}, x)
        batches.on_backward(torch.ones(()))
        if told or hub.step != 3:
            batches.on_updated(optimizer)
    batches.on_end()
    (small,) = [call.args[0] for call in hub.measure.call_args_list if isinstance(call.args[0], SmallBatches)]
    assert small.losses == 6
    assert not small.accumulated


GROWN = """
X = torch.randn(400, 8); y = X.sum(1) + 4 * torch.randn(400)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)); opt = torch.optim.SGD(net.parameters(), {rate}, momentum=0.9)
for epoch in range(3 if {batch} == 1 else 60):
    for b in torch.randperm(400).split({batch}):
        loss = F.mse_loss(net(X[b]).squeeze(1), y[b]); opt.zero_grad(); loss.backward(); opt.step()
"""  # noqa: E501


@pytest.mark.parametrize(("rate", "batch", "found"), [(0.05, 1, True), (3.0, 1, False), (3.0, 32, False)])
def test_growth_without_bound_in_batches_of_one(tmp_path: Path, rate: float, batch: int, found: bool) -> None:
    facts = facts_of(GROWN.format(rate=rate, batch=batch), tmp_path)
    assert "nan-from-growth" in present(facts)
    assert ("tiny-batches" in present(facts)) is found


SEQUENCES = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRU(4, 12, batch_first=True), nn.Linear(12, 3)
    def forward(self, x):
        return self.head(self.cell(x)[0]{which})
net = Net(); opt = torch.optim.Adam(net.parameters(), 0.05); X = torch.randn(300, 6, 4); y = torch.randint(0, 3, (300, 6))
for epoch in range(2):
    for i in torch.randperm(300).split(1):
        loss = F.cross_entropy(net(X[i]).flatten(0, -2), y[i]{target}.flatten()); opt.zero_grad(); loss.backward(); opt.step()
"""  # noqa: E501


@pytest.mark.parametrize(("which", "target", "found"), [("[:, -1]", "[:, 0]", True), ("", "", False)])
def test_a_sequence_counts_as_often_as_it_is_answered(tmp_path: Path, which: str, target: str, found: bool) -> None:
    facts = facts_of(SEQUENCES.format(which=which, target=target), tmp_path)
    assert ("tiny-batches" in present(facts)) is found


ORDER = """
from torch.utils.data import DataLoader, TensorDataset
y = (torch.arange(640) // 64) if {sorted} else torch.arange(640) % 10
X = torch.randn(640, 1, 8, 8) + y.view(-1, 1, 1, 1) / 10
loader = DataLoader(TensorDataset(X, y), 16, shuffle={shuffle})
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for x, t in (batch for epoch in range(2) for batch in loader):
    loss = F.cross_entropy(net(x), t); opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(
    ("ordered", "shuffle", "found"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_order(tmp_path: Path, ordered: bool, shuffle: bool, found: bool) -> None:
    facts = facts_of(ORDER.format(sorted=ordered, shuffle=shuffle), tmp_path)
    assert facts["data-in-order"]["present"] is found


TWO_CLASSES = """
y = torch.arange(640) // 320
X = torch.randn(640, 8) + y.view(-1, 1)
net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for b in {batches}:
    loss = F.cross_entropy(net(X[b]), y[b]); opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(
    ("batches", "found"),
    [
        ("torch.arange(640).repeat(6).split(16)", True),
        ("torch.randperm(640).repeat(2).split(16)", False),
        # steps of one kind and of the other in turns, as a discriminator takes them
        ("(b + 320 * (i % 2) for i, b in enumerate(torch.randperm(320).repeat(4).split(16)))", False),
    ],
)
def test_order_of_two_classes_without_a_loader(tmp_path: Path, batches: str, found: bool) -> None:
    facts = facts_of(TWO_CLASSES.format(batches=batches), tmp_path)
    assert ("data-in-order" in present(facts)) is found
