"""Whether the training sees more than the same batch: faulty loops, and sound ones that look like them."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_scripts import facts_of

SYMPTOM = "same-batch-repeated"
LOOP = """
import random
import numpy as np
from torch.utils.data import DataLoader, Dataset, SubsetRandomSampler, TensorDataset
X = torch.randn(512, 6); y = (X.sum(1) > 0).long()
{before}
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, {out}))
opt = torch.optim.{optimizer}
def training():
    for step in range({steps}):
        {draw}
        {update}
training()
"""
ONCE = "loss = F.cross_entropy(net(a), b); opt.zero_grad(); loss.backward(); opt.step()"
LBFGS = """def closure():
            opt.zero_grad(); loss = F.cross_entropy(net(a), b); loss.backward(); return loss
        opt.step(closure)"""
ADAM = "Adam(net.parameters(), lr=1e-3)"
LOADER = "data = DataLoader(TensorDataset(X, y), 32{})"
AUGMENTED = """
class Augmented(Dataset):
    def __len__(self): return len(X)
    def __getitem__(self, n): return X[n] + 0.1 * torch.randn(6), {}
data = DataLoader(Augmented(), 32)
"""
RANDOM_ROWS = "i = torch.randint(0, 512, (32,)); a, b = X[i], y[i]"


def said(
    folder: Path, draw: str, before: str = "pass", update: str = ONCE, optimizer: str = ADAM, out: int = 2,
    steps: int = 60, budget: float = 1.0,
) -> tuple[bool | None, str, str]:  # fmt: skip
    script = LOOP.format(draw=draw, before=before, update=update, optimizer=optimizer, out=out, steps=steps)
    fact = facts_of(script, folder, budget).get(SYMPTOM)
    if fact is None:
        return None, "", ""
    number = int((fact["where"] or ":0").rsplit(":", 1)[1])
    lines = ("\n" * 3 + script).splitlines()
    return fact["present"], lines[number - 1] if number else "", fact["evidence"]


@pytest.mark.parametrize("budget", [1.0, 0.01])
@pytest.mark.parametrize(
    ("draw", "before", "line"),
    [
        (f"torch.manual_seed(0); {RANDOM_ROWS}", "pass", "manual_seed"),
        ("np.random.seed(1); i = np.random.randint(0, 512, 32); a, b = X[i], y[i]", "pass", "random.seed"),
        ("random.seed(1); i = random.sample(range(512), 32); a, b = X[i], y[i]", "pass", "random.seed"),
        ("torch.manual_seed(3); a = torch.randn(32, 6); b = (a[:, 0] > 0).long()", "pass", "manual_seed"),
        ("i = np.random.default_rng(1).integers(0, 512, 32); a, b = X[i], y[i]", "pass", "default_rng"),
        ("g = torch.Generator().manual_seed(1); i = torch.randint(0, 512, (32,), generator=g); a, b = X[i], y[i]",
         "pass", "generator=g"),
        ("a, b = next(iter(data))", LOADER.format(""), "next(iter(data))"),
        ("a, b = next(iter(DataLoader(TensorDataset(X, y), 32)))", "pass", "next(iter("),
        ("torch.manual_seed(0); a, b = next(iter(data))", LOADER.format(", shuffle=True"), "manual_seed"),
        ("a, b = next(iter(data))", AUGMENTED.format("y[n]"), "next(iter(data))"),
        ("a, b = X[:32], y[:32]", "pass", "net(a)"),
    ],
    ids=[
        "torch seed", "numpy seed", "random seed", "made data", "numpy generator", "generator",
        "next(iter)", "new loader", "seed and shuffle",
        "augmented", "constant slice",
    ],
)  # fmt: skip
def test_the_same_batch_is_seen_with_its_line(tmp_path: Path, draw: str, before: str, line: str, budget: float) -> None:
    present, where, evidence = said(tmp_path, draw, before, budget=budget)
    assert present is True, evidence
    assert line in where
    assert "32 samples" in evidence


@pytest.mark.parametrize(
    ("draw", "before", "found"),
    [
        (RANDOM_ROWS, "pass", False),
        ("torch.manual_seed(step); " + RANDOM_ROWS, "pass", False),
        ("i = torch.randint(0, 512, (32,), generator=g); a, b = X[i], y[i]", "g = torch.Generator().manual_seed(1)",
         False),
        ("a, b = next(iter(data))", LOADER.format(", shuffle=True"), False),
        ("a, b = next(iter(data))", "data = DataLoader(TensorDataset(X, y), 512)", False),
        ("a, b = next(iter(data))", LOADER.format(", sampler=SubsetRandomSampler([*range(32)])"), False),
        ("a, b = next(iter(data))", AUGMENTED.format("torch.randint(0, 2, ())"), False),
        ("i = step % 16 * 32; a, b = X[i : i + 32], y[i : i + 32]", "pass", False),
        ("i = step // 15 * 32; a, b = X[i : i + 32], y[i : i + 32]", "pass", False),
        ("a, b = X, y", "pass", None),
        ("a, b = X[:400], y[:400]", "pass", None),
        ("a, b = X[part], y[part]", "part = torch.arange(0, 512, 16)", None),
        ("pass", "a, b = X[:32], y[:32]", None),
        ("torch.manual_seed(0); a, b = X, y", "pass", None),
    ],
    ids=[
        "random rows", "another seed", "one generator", "shuffled",
        "one batch is all", "a small subset", "labels made anew", "in turn",
        "several steps a batch", "full batch", "a split", "a few labelled rows", "memorise one batch",
        "seed for dropout",
    ],
)  # fmt: skip
def test_sound_loops(tmp_path: Path, draw: str, before: str, found: bool | None) -> None:
    present, _, evidence = said(tmp_path, draw, before)
    assert present is found, evidence


def test_epochs_over_four_batches(tmp_path: Path) -> None:
    draw = "for a, b in data:\n            " + ONCE
    present, _, evidence = said(tmp_path, draw, "data = DataLoader(TensorDataset(X[:128], y[:128]), 32)", "pass")
    assert (present, evidence.split()[0]) == (False, "4")


def test_a_closure_is_called_often_on_one_batch(tmp_path: Path) -> None:
    optimizer = "LBFGS(net.parameters(), max_iter=12)"
    draw = "a, b = next(batches)"
    before = LOADER.format("") + "; batches = iter(data)"
    assert said(tmp_path, draw, before, LBFGS, optimizer, steps=3)[0] is None
    assert said(tmp_path / "16", draw, before, LBFGS, optimizer, steps=16)[0] is False


def test_accumulation_over_all_data(tmp_path: Path) -> None:
    accumulate = """for a, b in data:
            (F.cross_entropy(net(a), b) / len(data)).backward()
        opt.step(); opt.zero_grad()"""
    assert said(tmp_path, "pass", LOADER.format(""), accumulate)[0] is False


@pytest.mark.parametrize("before", ["pass", "X = X[:32]"])
def test_noise_on_few_samples(tmp_path: Path, before: str) -> None:
    diffuse = """noise = torch.randn_like(a)
        loss = F.mse_loss(net(a + noise), noise); opt.zero_grad(); loss.backward(); opt.step()"""
    assert said(tmp_path, "a = X[:32]", before, diffuse, out=6)[0] is False


def test_an_evaluation_in_between_is_not_the_training(tmp_path: Path) -> None:
    evaluate = ONCE + "\n        with torch.no_grad(): c, d = next(iter(data)); F.cross_entropy(net(c), d)"
    assert said(tmp_path, RANDOM_ROWS, LOADER.format(""), evaluate)[0] is False


def test_setting_a_seed_works_as_before(tmp_path: Path) -> None:
    draw = "g = torch.manual_seed(seed=5); random.seed(); np.random.seed(None); assert g is torch.default_generator; "
    assert said(tmp_path, draw + "torch.seed(); " + RANDOM_ROWS)[0] is False


EPOCHS = """for a, b in data:
            {}"""


@pytest.mark.parametrize(
    ("update", "found"),
    [
        (ONCE, False),
        ("loss = F.cross_entropy(net(c), d); opt.zero_grad(); loss.backward(); opt.step()", True),
        ("loss = F.cross_entropy(net(c), b); opt.zero_grad(); loss.backward(); opt.step()", None),
    ],
    ids=["the batch that is drawn", "a batch of before the loop", "its inputs with the labels that are drawn"],
)
def test_what_the_model_is_given_counts(tmp_path: Path, update: str, found: bool | None) -> None:
    before = LOADER.format(", shuffle=True") + "; c, d = next(iter(data))"
    state, _, evidence = said(tmp_path, "pass", before, EPOCHS.format(update), steps=6)
    assert state is found or (found is None and state is False)
    assert ("were given the same" in evidence) == bool(found)
