"""Validation samples among the training samples, where the script cuts its own batches and few of them are looked
at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from live_scripts import facts_of

from traindx.live.measures.sources import holds, tables_like
from traindx.measurements import EvaluatedRows
from traindx.readers.find import find_runs

ID = "validation-seen-in-training"
CUT = """
import numpy as np
X, V = torch.randn(640, 8), torch.randn(160, 8)
{change}
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)); opt = torch.optim.SGD(net.parameters(), 0.01)
def error(x): return F.mse_loss(net(x), x.sum(1, keepdim=True))
for epoch in range({epochs}):
    for b in torch.randperm(640).split(16):
        loss = error({batch}); opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for v in {validation}: error(v)
"""
BY_NUMBER = "T = torch.randn(800, 8); numbers = torch.randperm(800); "


def said(
    folder: Path, change: str = "pass", batch: str = "X[b]", validation: str = "V.split(40)", epochs: int = 3
) -> bool | None:
    script = CUT.format(change=change, batch=batch, validation=validation, epochs=epochs)
    told: bool | None = facts_of(script, folder, 0.01).get(ID, {"present": None})["present"]
    return told


HELD = {
    "variable": ("pass", "X[b]"),
    "attribute": ("class Data: pass\ndata = Data(); data.parts = {'train': (X, X.sum(1))}; del X",
                  "data.parts['train'][0][b]"),
    "array": ("A = X.double().numpy(); del X", "torch.from_numpy(A[b]).float()"),
    "images": ("I = X.reshape(640, 2, 4); del X", "I[b].reshape(-1, 8)"),
}  # fmt: skip


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize(("leak", "present"), [("pass", False), ("V[::2] = X[:80]", True)])
def test_batches_cut_from_a_table(tmp_path: Path, held: str, leak: str, present: bool) -> None:
    change, batch = HELD[held]
    assert said(tmp_path, f"{leak}\n{change}", batch) is present


@pytest.mark.parametrize(
    ("change", "batch"),
    [
        ("V[:5] = X[:5]", "X[b]"),  # duplicates in the data
        (BY_NUMBER + "V = T[numbers[640:]]", "T[numbers[b]]"),
        (BY_NUMBER + "V = torch.cat([T[numbers[640:720]], V[:80]])", "T[numbers[b]]"),  # and a test set from elsewhere
        (BY_NUMBER + "V = torch.cat([T[numbers[640:]], T[numbers[:80]]])", "T[numbers[b]]"),  # and a training metric
        (BY_NUMBER + "V = torch.cat([T[numbers[640:]], V])[torch.randperm(320)]", "T[numbers[b]]"),  # mixed
        ("V = X", "X[b]"),
        ("V = torch.cat([V, X[:80]])", "X[b]"),
    ],
    ids=["duplicates", "by number", "test set", "metric", "mixed", "training set", "part of it"],
)
def test_no_leak(tmp_path: Path, change: str, batch: str) -> None:
    assert not said(tmp_path, change, batch)


def test_validation_in_one_call(tmp_path: Path) -> None:
    """All of it is looked at, or rows from all over it."""
    change = "X = torch.randn(3000, 8); V = torch.cat([torch.randn(4500, 8), X])"
    assert said(tmp_path, change, "X[torch.randint(0, 3000, (16,))]", "[V]")


@pytest.mark.parametrize(("leak", "present"), [("pass", False), ("V[::2] = X[:80]", True)])
def test_rows_that_are_altered_on_their_way(tmp_path: Path, leak: str, present: bool) -> None:
    """There is no table that holds them, so that only those count that were seen."""
    assert said(tmp_path, leak, "X[b] * 2", "[2 * V]", epochs=12) is present


@pytest.mark.parametrize(("change", "leak"), [("V[::2] = X[:200]", True), ("V[:200] = X[:200]", False)])
def test_small_batches_of_one_set_or_of_two(tmp_path: Path, change: str, leak: bool) -> None:
    """Rows spread over all batches are a leak; batches of nothing but training rows may be a training metric."""
    told = said(tmp_path, f"V = torch.randn(400, 8); {change}", "X[b] * 2", "(2 * V).split(50)", epochs=12)
    assert bool(told) is leak


def test_rows_with_noise_are_left_open(tmp_path: Path) -> None:
    assert said(tmp_path, "V[::2] = X[:80]", "X[b] + 0.1 * torch.randn(16, 8)") is not True


FOLDS = """
T = torch.randn(500, 8)
net = nn.Linear(8, 1); start = {k: v.clone() for k, v in net.state_dict().items()}
for fold in torch.randperm(500).split(100):
    net.load_state_dict(start); opt = torch.optim.SGD(net.parameters(), 0.01)
    rest = torch.tensor(sorted({*range(500)} - {*fold.tolist()}))
    for epoch in range(8):
        for b in rest[torch.randperm(400)].split(20):
            loss = F.mse_loss(net(T[b]), T[b].sum(1, keepdim=True)); opt.zero_grad(); loss.backward(); opt.step()
        with torch.no_grad(): F.mse_loss(net(T[fold]), T[fold].sum(1, keepdim=True))
"""
STREAM = """
net = nn.Linear(8, 1); opt = torch.optim.SGD(net.parameters(), 0.01)
for x in torch.randn(8000, 8).split(40):
    with torch.no_grad(): F.mse_loss(net(x), x.sum(1, keepdim=True))
    loss = F.mse_loss(net(x), x.sum(1, keepdim=True)); opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize("script", [FOLDS, STREAM], ids=["folds", "tested, then trained on"])
def test_rows_that_are_trained_on_only_after_their_evaluation(tmp_path: Path, script: str) -> None:
    assert not facts_of(script, tmp_path, 0.01).get(ID, {"present": None})["present"]


class Untouchable:
    """Whoever asks it anything runs the user's code."""

    def __init__(self, table: torch.Tensor) -> None:
        self.table = table

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    __iter__ = __len__ = __eq__ = __hash__ = __bool__ = None  # type: ignore[assignment]


class Sequence(list[Any]):
    def __iter__(self) -> Any:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError


STUDENT = """
X = torch.randn(640, 8); y = X.sum(1, keepdim=True)
teacher, student = (nn.Sequential(nn.Linear(8, h), nn.ReLU(), nn.Linear(h, 1)) for h in (32, 8))
opt = torch.optim.SGD(teacher.parameters(), 0.01)
for epoch in range(3):
    for b in torch.randperm(640).split(32):
        loss = F.mse_loss(teacher(X[b]), y[b]); opt.zero_grad(); loss.backward(); opt.step()
opt = torch.optim.SGD(student.parameters(), 0.01)
for epoch in range(3):
    for b in torch.randperm(640).split(32):
        with torch.no_grad(): wanted = teacher({asked})
        loss = F.mse_loss(student(X[b]), wanted); opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(("asked", "evaluates"), [("X[b]", False), ("X[b.flip(0) - 1]", True)])
def test_a_teacher_answers_the_batches_of_its_student(tmp_path: Path, asked: str, evaluates: bool) -> None:
    facts_of(STUDENT.format(asked=asked), tmp_path)
    looks = [one for line in find_runs([tmp_path / "run.traindx"])[0].measured for one in line.all(EvaluatedRows)]
    assert bool(looks) is evaluates


def test_tables_are_found_without_running_code() -> None:
    first, second, third = torch.randn(30, 6), torch.randn(40, 6), np.zeros((50, 6))
    thing, more = Untouchable(first), Sequence([second, third])
    others = torch.randn(30, 5), torch.zeros(30, 6, dtype=torch.long), torch.randn(3, 6)
    del first, second
    found = [len(table) for table in tables_like(torch.randn(8, 6))]
    assert found == sorted(found)
    assert {30, 40, 50} <= set(found), (thing is None, more is None, others)


def test_a_table_holds_its_rows() -> None:
    table = torch.randn(100, 6).double()
    assert holds(table, table[[5, 80, 3, 7]].float())
    assert not holds(table, torch.randn(4, 6))


@pytest.mark.filterwarnings("error")
def test_a_table_is_asked_for_a_batch_of_one_row() -> None:
    """The deviation of one row has no degrees of freedom, of which torch would warn the user."""
    table = torch.randn(100, 6)
    assert holds(table, table[7:8])
    assert not holds(table, torch.randn(1, 6))
