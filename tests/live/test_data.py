"""What the data itself shows: labels that do not belong to their inputs, repeated samples, passes without updates."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from live_scripts import facts_of, present, run

from traindx.diagnosis import Observation
from traindx.live.measures.neighbours import agreement, tails, unspoilt
from traindx.measurements import Measured
from traindx.readers.find import find_runs
from traindx.symptoms.outlier_batch import judge

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
        # three rare classes are told from the frequent one, but not from each other
        (
            "k = (y == 0) | (torch.rand(512) < 0.06); y[y > 0] = torch.randint(1, 4, (384,)); X[y > 0] = "
            "torch.randn(384, 12) + 3; "
            "V[v > 0] = torch.randn(192, 12) + 3; X, y = X[k].repeat(4, 1), y[k].repeat(4)",
            {"rare-classes-missed"},
        ),
        ("X = X[:3].repeat(171, 1)[:512]", {"duplicate-samples"}),
        ("X[:, 5] = 2.0; V[:, 5] = 2.0", {"constant-features"}),
    ],
    ids=[
        "healthy",
        "shuffled labels",
        "renamed classes",
        "sorted inputs",
        "imbalance",
        "too rare to be told apart",
        "repeated",
        "constant",
    ],
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


TOKENS = """
from torch.utils.data import DataLoader, TensorDataset
def make(n):
    X = torch.randint(1, 300, (n, 12)); y = torch.arange(n) % 2
    X[torch.arange(n), torch.randint(0, 12, (n,))] = torch.where(y == 1, 300, 320) + torch.randint(0, 6, (n,))
    return X, y
X, y = make(512)
V, v = make(512)
{change}
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.e, self.l = nn.Embedding(400, 16), nn.Linear(16, 2)
    def forward(self, x): return self.l(self.e(x).mean(1))
net = Net(); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for a, b in DataLoader(TensorDataset(X, y), 32, shuffle=True):
        loss = F.cross_entropy(net(a), b); opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for a, b in DataLoader(TensorDataset(V, v), 64): F.cross_entropy(net(a), b)
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("", False),
        ("y = y[torch.randperm(512)]", True),
        # the order tells the label, and no bag of words does: nothing is said
        ("y, v = (X[:, 0] > X[:, 1]).long(), (V[:, 0] > V[:, 1]).long()", None),
        ("y, v = torch.randint(0, 2, (2, 512))", None),
    ],
    ids=["healthy", "shuffled", "order", "no relation anywhere"],
)
def test_labels_of_token_sequences(tmp_path: Path, change: str, found: bool | None) -> None:
    facts = facts_of(TOKENS.format(change=change), tmp_path)
    assert facts.get("labels-unrelated", {}).get("present") is found


ALONE = """
X = torch.randn(600, 12); c = (X[:, :4] + 0.5 * X[:, 4:8].abs()).argmax(1); t = X[:, 0] + X[:, 1] * X[:, 2]
{change}
net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, {out})); opt = torch.optim.Adam(net.parameters(), lr={lr})
for epoch in range({epochs}):
    for b in torch.randperm(600).split(20):
        loss = {loss}; opt.zero_grad(); loss.backward(); opt.step()
"""  # noqa: E501
CLASSES = {"out": 4, "loss": "F.cross_entropy(net(X[b]), c[b])"}
NUMBERS = {"out": 1, "loss": "F.mse_loss(net(X[b]).squeeze(1), t[b])"}


@pytest.mark.parametrize(
    ("change", "kind", "lr", "epochs", "found"),
    [
        ("c = c[torch.randperm(600)]", CLASSES, 5e-3, 20, True),
        ("c = torch.randint(0, 4, (600,))", CLASSES, 1e-5, 6, True),
        ("t = t[torch.randperm(600)]", NUMBERS, 5e-3, 20, True),
        ("", CLASSES, 5e-3, 6, False),
        ("c = (torch.rand(600) < 0.03).long()", CLASSES, 5e-3, 6, False),  # too rare to say
        ("", CLASSES, 1e-6, 6, False),  # nothing is learnt, but there is something to learn
        ("", NUMBERS, 1e-6, 6, False),
        ("c = (X[:, :6] > 0).sum(1) % 2", CLASSES, 5e-3, 40, None),  # learnt late, by no simple rule
    ],
    ids=["memorised", "stuck", "numbers", "learnt", "rare", "too slow", "numbers too slow", "parity"],
)
def test_labels_dealt_out_without_evaluation_data(
    tmp_path: Path, change: str, kind: dict[str, object], lr: float, epochs: int, found: bool | None
) -> None:
    facts = facts_of(ALONE.format(change=change, lr=lr, epochs=epochs, **kind), tmp_path, 0.02)
    fact = facts.get("labels-unrelated", {"present": False, "clarity": 1.0})
    if found is None:  # honestly undecided, never certain
        assert not fact["present"] or fact["clarity"] < 0.9
    else:
        assert fact["present"] is found, facts


def test_pairs_have_labels_that_no_single_sample_tells(tmp_path: Path) -> None:
    pair = {"out": 2, "loss": "F.cross_entropy(net(X[b]) - net(X[b.flip(0)]), (c[b] == c[b.flip(0)]).long())"}
    facts = facts_of(ALONE.format(change="", lr=1e-3, epochs=6, **pair), tmp_path, 0.02)
    assert not facts.get("labels-unrelated", {}).get("present")


RECORDS = """
from torch.utils.data import DataLoader
records = [([i % 7, i % 5, 3], i % 2) for i in range(200)]
def collate(rows):
    flat = [w for words, _ in rows for w in words]
    return torch.tensor(flat), torch.arange(0, len(flat), 3), torch.tensor([t for _, t in rows])
train = records[:150]; held = {held}
net = nn.EmbeddingBag(8, 2); opt = torch.optim.SGD(net.parameters(), 0.1)
for epoch in range(3):
    for words, offsets, t in DataLoader(train, 25, shuffle=True, collate_fn=collate):
        loss = F.cross_entropy(net(words, offsets), t); opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for words, offsets, t in DataLoader(held, 25, collate_fn=collate): F.cross_entropy(net(words, offsets), t)
"""


@pytest.mark.parametrize(("held", "leak"), [("records[100:]", True), ("records[150:]", False), ("train", False)])
def test_records_that_are_trained_and_validated_on(tmp_path: Path, held: str, leak: bool) -> None:
    facts = facts_of(RECORDS.format(held=held), tmp_path)
    assert bool(facts.get("validation-seen-in-training", {}).get("present")) is leak


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


@pytest.mark.parametrize(
    ("rows", "rate", "found"), [(512, 0.001, True), (512, 0.15, True), (512, 2.0, False), (300, 0.001, False)]
)
def test_all_data_in_one_batch_without_a_loader(tmp_path: Path, rows: int, rate: float, found: bool) -> None:
    facts = facts_of(WHOLE.format(rows=rows, rate=rate), tmp_path, ended=True)
    assert ("huge-batches" in present(facts)) is found


def test_spoilt_samples_do_not_hide_what_the_others_tell() -> None:
    rows = torch.randn(60, 3, generator=torch.Generator().manual_seed(1))
    rows[7, 1], rows[9, 0] = 6e4, float("nan")
    sound = unspoilt(rows)
    assert sound.sum() == 58
    assert not sound[7]
    assert not sound[9]
    assert agreement(rows[sound], rows[sound][:, 1]).sure() > 5


def test_values_that_stray_from_their_feature() -> None:
    def judged(rows: torch.Tensor) -> Observation | None:
        return judge(Measured(tails(rows)))

    rows = torch.randn(300, 3, generator=torch.Generator().manual_seed(1))
    assert judged(rows) is None
    heavy_tail, rare_code = rows[:, 0].exp() ** 2, (rows[:, 1] > 2).float()
    assert judged(torch.stack([heavy_tail, rare_code, rows[:, 2]], 1)) is None
    rows[17, 2] = 9999.0
    found = judged((rows - rows.mean(0)) / rows.std(0))  # scaled by what the stray made of the deviation
    assert found is not None
    assert found.evidence.startswith("1 of 300 checked training samples")
    assert "in feature 2;" in found.evidence


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


SHORT = """
X = torch.randn(900, 4); t = X @ torch.tensor([1.0, 2.0, -1.0, 0.5])
net = nn.Linear(4, 1); opt = torch.optim.{optimizer}
for b in torch.randperm(900).split({batch}):
    def loss():
        opt.zero_grad(); out = F.mse_loss(net(X[b]).squeeze(1), t[b]); out.backward(); return out
    opt.step(loss)
"""


@pytest.mark.parametrize(
    ("optimizer", "batch", "few"),
    [
        ("SGD(net.parameters(), lr=0.06)", 90, True),
        ("SGD(net.parameters(), lr=0.006)", 20, True),
        ("SGD(net.parameters(), lr=0.1)", 20, False),
        ("LBFGS(net.parameters())", 90, False),
        ("SGD(net.parameters(), lr=0.06)", 5, False),
    ],
    ids=["still falling", "at the first pace", "settled", "there at once", "long enough"],
)
def test_a_training_of_a_few_updates(tmp_path: Path, optimizer: str, batch: int, few: bool) -> None:
    facts = facts_of(SHORT.format(optimizer=optimizer, batch=batch), tmp_path, ended=True)
    assert ("few-updates" in present(facts)) is few


def test_the_entropy_of_the_labels_is_recorded(tmp_path: Path) -> None:
    script = """
net = nn.Linear(4, 3); opt = torch.optim.SGD(net.parameters(), lr=0.01)
labels = torch.tensor([0] * 6 + [1] * 3 + [2])
for step in range(60):
    loss = F.cross_entropy(net(torch.randn(40, 4)), labels[torch.randperm(10).repeat(4)])
    opt.zero_grad(); loss.backward(); opt.step()
"""
    weights = "weight=torch.tensor([1.0, 2.0, 6.0])"
    run(script, tmp_path / "plain.traindx")
    expected = -sum(share * math.log(share) for share in (0.6, 0.3, 0.1))
    (plain,) = find_runs([tmp_path / "plain.traindx"])
    assert plain.config["label_entropy"] == pytest.approx(expected)
    for name, option in (("weighted", weights), ("padded", "ignore_index=0")):  # another level of chance
        run(script.replace("repeat(4)])", f"repeat(4)], {option})"), tmp_path / f"{name}.traindx")
        (other,) = find_runs([tmp_path / f"{name}.traindx"])
        assert "label_entropy" not in other.config


SEVERAL = """
from torch.utils.data import DataLoader, TensorDataset
centres = 2 * torch.randn(6, 12); answers = (torch.rand(6, {labels}) < 0.5).float()
kind, other = torch.randint(0, 6, (512,)), torch.randint(0, 6, (256,))
X, V = centres[kind] + torch.randn(512, 12), centres[other] + torch.randn(256, 12)
y, v = answers[kind], answers[other]
{change}
net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, y.shape[1])); opt = torch.optim.Adam(net.parameters(), lr={lr})
for epoch in range({epochs}):
    for a, b in DataLoader(TensorDataset(X, y), 32, shuffle=True):
        loss = {loss}(net(a), b); opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for a, b in DataLoader(TensorDataset(V, v), 64): {loss}(net(a), b)
"""  # noqa: E501
LOGITS, SOFT_MARGIN = "F.binary_cross_entropy_with_logits", "F.multilabel_soft_margin_loss"
MIXED = "y = y[torch.randperm(512)]"
REAL = "t = torch.randn(12, {n}); y, v = X @ t, V @ t; "


@pytest.mark.parametrize(
    ("change", "labels", "loss", "lr", "found"),
    [
        ("", 5, LOGITS, 5e-3, False),
        (MIXED, 5, LOGITS, 5e-3, True),
        (MIXED, 2, SOFT_MARGIN, 5e-3, True),
        (MIXED, 60, LOGITS, 5e-3, True),
        ("", 5, LOGITS, 1e-6, False),  # nothing is learnt, but there is something to learn
        ("v = v[torch.randperm(256)]", 5, LOGITS, 5e-3, False),  # the other side
        ("y[:, 1:], v[:, 1:] = 0, 0", 5, LOGITS, 5e-3, False),  # one label that varies
        # one that is told
        ("y[:, 1:] = torch.randint(0, 2, (512, 59)).float(); v[:, 1:] = 0", 60, LOGITS, 5e-3, False),
        (REAL.format(n=3), 3, "F.mse_loss", 5e-3, False),
        (REAL.format(n=3) + MIXED, 3, "F.mse_loss", 5e-3, True),
        ("y, v = X[torch.randperm(512)], V", 12, "F.mse_loss", 5e-3, None),  # of the inputs' shape: no labels
        ("y[:], v[:] = 1, 1", 5, LOGITS, 5e-3, None),
        ("y = y[:, :1]; v = v[:, :1]", 5, LOGITS, 5e-3, False),
        ("y = y[torch.randperm(512), :1]; v = v[:, :1]", 5, LOGITS, 5e-3, True),
    ],
    ids=[
        "healthy", "shuffled", "two labels", "many", "too slow", "evaluation shuffled", "one varies", "one is told",
        "numbers",
        "numbers shuffled", "same shape", "constant", "single", "single shuffled",
    ],
)  # fmt: skip
def test_several_labels_of_a_sample(
    tmp_path: Path, change: str, labels: int, loss: str, lr: float, found: bool | None
) -> None:
    facts = facts_of(SEVERAL.format(change=change, labels=labels, loss=loss, lr=lr, epochs=7), tmp_path)
    assert facts.get("labels-unrelated", {}).get("present") is found


def test_labels_that_neighbours_do_not_tell_and_the_model_does(tmp_path: Path) -> None:
    """Training samples with many features that vary and say nothing: noise that evaluation goes without."""
    noise = (
        "X, V = torch.randn(512, 1), torch.randn(256, 1); y, v = ((one.abs() > torch.tensor([0.4, 0.7, 1.0])).float() "
        "for one in (X, V)); "
        "X, V = torch.cat([X, 0.01 * torch.randn(512, 255)], 1), torch.cat([V, torch.zeros(256, 255)], 1)"
    )
    script = SEVERAL.format(change=noise, labels=3, loss=LOGITS, lr=5e-3, epochs=7).replace("(12, 64)", "(256, 64)")
    assert "labels-unrelated" not in present(facts_of(script, tmp_path))
    mixed = script.replace("\nnet =", "\ny = y[torch.randperm(512)]\nnet =")
    assert "labels-unrelated" in present(facts_of(mixed, tmp_path / "mixed"))


@pytest.mark.parametrize(
    ("change", "out", "loss", "lr", "found"),
    [
        ("T = T[torch.randperm(600)]", 4, LOGITS, 5e-3, True),
        ("T = T[torch.randperm(600)]", 4, LOGITS, 1e-5, True),
        ("T = torch.randn(600, 3)", 3, "F.mse_loss", 5e-3, True),
        ("", 4, LOGITS, 5e-3, False),
        ("", 4, LOGITS, 1e-6, False),
        ("T = (X[:, :4] * X[:, 4:8] > 0).float()", 4, LOGITS, 1e-2, None),  # told by no neighbour, learnt by the model
        ("T = (torch.rand(600, 4) < 0.04).float()", 4, LOGITS, 5e-3, None),  # too rare to say
        ("T = X[torch.randperm(600)]", 12, "F.mse_loss", 5e-3, None),
    ],
    ids=["memorised", "stuck", "numbers", "learnt", "too slow", "products", "rare", "same shape"],
)
def test_several_labels_without_evaluation_data(
    tmp_path: Path, change: str, out: int, loss: str, lr: float, found: bool | None
) -> None:
    change = f"T = (X[:, :4] + X[:, 4:8] > 0).float(); {change}"
    script = ALONE.format(change=change, lr=lr, epochs=15, out=out, loss=f"{loss}(net(X[b]), T[b])")
    fact = facts_of(script, tmp_path, 0.02).get("labels-unrelated", {"present": None})
    assert bool(fact["present"]) is bool(found), fact


RATES = """
y = (torch.rand(600, 6) < torch.tensor([0.5, 0.3, 0.1, 0.1, 0.2, 0.0])).float(); X = torch.randn(600, 8)
criterion = {criterion}
net = nn.Linear(8, 6); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range({epochs}):
    for b in torch.randperm(600).split(60):
        loss = {loss}; opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(
    ("criterion", "loss", "epochs", "told"),
    [
        ("nn.BCEWithLogitsLoss()", "criterion(net(X[b]), y[b])", 15, True),
        ("nn.BCELoss()", "criterion(net(X[b]).sigmoid(), y[b])", 15, True),
        ("nn.MultiLabelSoftMarginLoss()", "criterion(net(X[b]), y[b])", 15, True),
        ("nn.BCEWithLogitsLoss(pos_weight=torch.full((6,), 3.0))", "criterion(net(X[b]), y[b])", 15, False),
        ("nn.BCEWithLogitsLoss(weight=torch.arange(6.0))", "criterion(net(X[b]), y[b])", 15, False),
        ("nn.BCEWithLogitsLoss(reduction='sum')", "criterion(net(X[b]), y[b])", 15, False),
        ("nn.BCEWithLogitsLoss()", "criterion(net(X[b]), y[b]) + 0.3 * net.weight.norm()", 15, False),
        ("nn.BCEWithLogitsLoss()", "criterion(net(X[b]), y[b])", 5, False),  # too early
    ],
    ids=[
        "logits",
        "probabilities",
        "soft margin",
        "positives weigh more",
        "weights",
        "sum",
        "one of two terms",
        "early",
    ],
)
def test_what_a_guess_of_several_labels_costs(
    tmp_path: Path, criterion: str, loss: str, epochs: int, told: bool
) -> None:
    run(RATES.format(criterion=criterion, loss=loss, epochs=epochs), tmp_path / "r.traindx", 0.05)
    (recorded,) = find_runs([tmp_path / "r.traindx"])
    assert ("multilabel_entropy" in recorded.config) is told
    if told:
        shares = (0.5, 0.3, 0.1, 0.1, 0.2)
        expected = -sum(share * math.log(share) + (1 - share) * math.log(1 - share) for share in shares) / 6
        assert recorded.config["multilabel_entropy"] == pytest.approx(expected, rel=0.06)
