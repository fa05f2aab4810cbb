"""Validation data that are the training data under another name, in real trainings; and data that only look so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from live_scripts import HEAD, facts_of
from torch.utils.data import DataLoader, Subset, SubsetRandomSampler, TensorDataset

from traindx.live.measures.named_results import _assignments
from traindx.live.measures.same_data import key_of
from traindx.live.measures.splits import part_of_name

ID = "validation-seen-in-training"
SCRIPT = """
from torch.utils.data import DataLoader, Subset, TensorDataset
X, V = torch.randn(320, 8), torch.randn(80, 8)
train, other = TensorDataset(X, X.sum(1, keepdim=True)), TensorDataset(V, V.sum(1, keepdim=True))
loader = DataLoader(train, 16, shuffle=True)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)); opt = torch.optim.SGD(net.parameters(), 0.01)
def validate(data):
    {name} = data
    with torch.no_grad():
        for x, y in {name}: F.mse_loss(net(x), y)
for epoch in range(3):
    for x, y in loader:
        loss = F.mse_loss(net(x), y); opt.zero_grad(); loss.backward(); opt.step()
    validate(DataLoader({held}, 40))
"""


@pytest.mark.parametrize(
    ("name", "held", "present"),
    [
        ("val_loader", "train", True),
        ("testLoader", "TensorDataset(X.clone(), train.tensors[1])", True),
        ("val_loader", "other", False),
        ("train_loader", "train", None),  # a training metric
        ("batches", "train", None),
    ],
)
def test_the_training_data_under_the_name_of_the_validation(
    tmp_path: Path, name: str, held: str, present: bool | None
) -> None:
    told = facts_of(SCRIPT.format(name=name, held=held), tmp_path, 0.01).get(ID)
    assert (told["present"] if told else None) is present
    assert not present or f"`{name}`" in told["evidence"]  # type: ignore[index]


def test_parts_of_one_set_are_not_the_same() -> None:
    data = TensorDataset(torch.randn(400, 6))
    halves = [DataLoader(data, sampler=SubsetRandomSampler(part)) for part in (range(200), range(200, 400))]
    keys = [key_of(one) for one in (*halves, DataLoader(data), DataLoader(Subset(data, range(200, 400))))]
    assert None not in keys
    assert len(set(keys[:3])) == 3
    assert keys[1] == keys[3]


@pytest.mark.parametrize(
    "grid",
    [
        torch.linspace(0, 1, 500),
        np.arange(500),
        torch.zeros(100, 8),
        torch.randn(10, 8),
        torch.randn(100, 2),
        [1.0] * 50,
    ],
)
def test_grids_constants_and_short_arrays_are_no_data(grid: object) -> None:
    assert key_of(grid) is None


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("x_train", "train"), ("trainLoader", "train"), ("val_data", "held"), ("Xte", "held"), ("testset", "held"),
        ("x_val_2", "held"), ("value", None), ("interval", None), ("latest", None), ("train_test", None), ("x", None),
    ],
)  # fmt: skip
def test_names_say_which_part(name: str, part: str | None) -> None:
    assert part_of_name(name) == part


BY_STATEMENT = """
class Batches:
    def __init__(self, count): self.parts = [(torch.randn(16, 8), torch.randn(16, 1)) for _ in range(count)]
    def __iter__(self): return iter(self.parts)
train_iter, dev_iter = Batches(20), Batches(5)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)); opt = torch.optim.SGD(net.parameters(), 0.01)
def evaluate(model, data):
    with torch.no_grad():
        return sum(F.mse_loss(model(x), y).item() for x, y in data)
def fit(model, data):
    for x, y in data:
        loss = F.mse_loss(model(x), y); opt.zero_grad(); loss.backward(); opt.step()
    return evaluate(model, data)
for epoch in range(3):
    fit(net, train_iter)
    train_loss = evaluate(net, train_iter)
    {statement}
"""


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("dev_loss = evaluate(net, train_iter)", True),
        ("dev_loss = evaluate(net, dev_iter)", False),
        ("dev_loss, ratio = evaluate(net, train_iter), 1", False),  # not all of it is named after held-out data
        ("eval_loss = evaluate(net, train_iter)", False),  # a training metric, perhaps
        ("val_loss = fit(net, train_iter)", False),  # what trains may hold out a part of what it is given
    ],
)
def test_a_result_that_is_named_after_what_is_held_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, found: bool
) -> None:
    script = BY_STATEMENT.format(statement=statement)
    (tmp_path / "train.py").write_text(HEAD + script)
    monkeypatch.chdir(tmp_path)
    _assignments.cache_clear()  # another script of this name may have been read
    told = facts_of(script, tmp_path, 0.01).get(ID)
    assert bool(told and told["present"]) is found
    assert not found or "`dev_loss` is computed from `train_iter`" in told["evidence"]  # type: ignore[index]
