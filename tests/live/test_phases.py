"""Modes, and the likeness of training and validation data."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_scripts import facts_of, present

MODES = """
X, y = torch.randn(256, 8), torch.randint(0, 3, (256,))
V, w = torch.randn(96, 8), torch.randint(0, 3, (96,))
net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
def train():
    for b in torch.randperm(256).split(32):
        loss = F.cross_entropy(net(X[b]), y[b]); opt.zero_grad(); loss.backward(); opt.step()
        {metric}
def validate():
    {before}
    with torch.no_grad():
        for i in range(0, 96, 32):
            F.cross_entropy(net(V[i:i + 32]), w[i:i + 32])
{start}
for epoch in range(6):
    {each}
    train(); validate()
"""


def script(metric: str = "pass", before: str = "net.eval()", start: str = "", each: str = "net.train()") -> str:
    return MODES.format(metric=metric, before=before, start=start, each=each)


@pytest.mark.parametrize("budget", [1.0, 0.01])
def test_never_switched_back(tmp_path: Path, budget: float) -> None:
    facts = facts_of(script(start="net.train()", each="pass"), tmp_path, budget)
    assert facts["trained-in-eval-mode"]["present"]
    assert not facts["evaluated-in-train-mode"]["present"]


@pytest.mark.parametrize("budget", [1.0, 0.01])
def test_eval_forgotten(tmp_path: Path, budget: float) -> None:
    facts = facts_of(script(before="pass"), tmp_path, budget)
    assert facts["evaluated-in-train-mode"]["present"]
    assert not facts["trained-in-eval-mode"]["present"]


def test_right_modes_and_a_metric_of_the_training_batch(tmp_path: Path) -> None:
    metric = (
        "torch.set_grad_enabled(False); acc = (net(X[b]).argmax(1) == y[b]).float().mean(); "
        "torch.set_grad_enabled(True)"
    )
    facts = facts_of(script(metric=metric), tmp_path)
    assert not present(facts) & {"trained-in-eval-mode", "evaluated-in-train-mode"}


def test_frozen_batch_norm_is_no_fault(tmp_path: Path) -> None:
    facts = facts_of(script(each="net.train(); net[1].eval()"), tmp_path)
    assert not facts["trained-in-eval-mode"]["present"]


HEAD_ONLY = """
X, y = torch.randn(96, 8), torch.arange(96) % 3
body, head = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU()), nn.Linear(16, 3)
def train(parameters, epochs):
    opt = torch.optim.Adam(parameters, 1e-2)
    for b in torch.arange(96).repeat(epochs).split(16):
        loss = F.cross_entropy(head(body(X[b])), y[b]); opt.zero_grad(); loss.backward(); opt.step()
train([*body.parameters(), *head.parameters()], 3)
body.eval()
for p in body.parameters(): p.requires_grad_({frozen})
train([*body.parameters(), *head.parameters()] if {both} else head.parameters(), 3)
"""


@pytest.mark.parametrize("both", [False, True])
def test_a_body_trained_before_may_rest_under_its_head(tmp_path: Path, both: bool) -> None:
    facts = facts_of(HEAD_ONLY.format(frozen=both, both=both), tmp_path)
    assert facts["trained-in-eval-mode"]["present"] is both if both else "trained-in-eval-mode" not in present(facts)


COMPARED = """
centres = 3 * torch.randn(4, 8)
y, w = torch.arange(320) % 4, torch.arange(160) % 4
X, V = centres[y] + 0.3 * torch.randn(320, 8), centres[w] + 0.3 * torch.randn(160, 8)
{change}
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(6):
    for b in torch.randperm(320).split(32):
        loss = F.cross_entropy(net(X[b]), y[b]); opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for i in range(0, len(V), 40):
            F.cross_entropy(net(V[i:i + 40]), w[i:i + 40])
"""
ABOUT = {"val-inputs-differ", "val-labels-differ", "validation-seen-in-training"}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("pass", set()),
        ("V = V / 255", {"val-inputs-differ"}),
        ("V = 2.5 * V + 1", {"val-inputs-differ"}),
        ("w = (w + 1) % 4", {"val-labels-differ"}),
        ("V[::2], w[::2] = X[:80], y[:80]", {"validation-seen-in-training"}),
        ("V[::2], w[::2] = X[:16].repeat(5, 1), y[:16].repeat(5)", {"validation-seen-in-training"}),  # copies of a few
        ("X, V = (X > 0).float(), (V > 0).float()", set()),  # rows that are equal by chance
    ],
)
def test_validation_against_training(tmp_path: Path, change: str, found: set[str]) -> None:
    facts = facts_of(COMPARED.format(change=change), tmp_path)
    assert present(facts) & ABOUT == found


NARROW = """
X, V = torch.randn(256, 2), torch.randn(128, 2)
{change}
y, w = (X[:, 0] * X[:, 1] > 0).long(), (V[:, 0] * V[:, 1] > 0).long()
net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2)); opt = torch.optim.SGD(net.parameters(), 0.1)
for epoch in range(3):
    for b in torch.randperm(256).split(32):
        loss = F.cross_entropy(net(X[b]), y[b]); opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for v, t in zip(V.split(64), w.split(64)): F.cross_entropy(net(v), t)
"""


@pytest.mark.parametrize(
    ("change", "leak"),
    [("pass", False), ("V[::2] = X[:64]", True), ("X, V = X.round(decimals=1), V.round(decimals=1)", None)],
    ids=["apart", "leaked", "equal by chance"],
)
def test_leak_of_samples_of_two_numbers(tmp_path: Path, change: str, leak: bool | None) -> None:
    facts = facts_of(NARROW.format(change=change), tmp_path)
    assert facts.get("validation-seen-in-training", {"present": None})["present"] is leak


@pytest.mark.parametrize("change", ["V, w = X, y", "V[:80], w[:80] = X[:80], y[:80]"])
def test_training_accuracy_is_no_leak(tmp_path: Path, change: str) -> None:
    """The training set evaluated as a whole, or a part of it beside the validation set."""
    assert not present(facts_of(COMPARED.format(change=change), tmp_path)) & ABOUT


EVERY_STEP = """
X, V = torch.randn(160, 8), torch.randn(96, 8)
net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(4):
    for b in torch.randperm(160).split(16):
        net.train()
        loss = F.mse_loss(net(X[b]), X[b].sum(1, keepdim=True)); opt.zero_grad(); loss.backward(); opt.step()
        with torch.no_grad():
            {metric}
    {mode}
    with torch.no_grad():
        for v in V.split(24):
            F.mse_loss(net(v), v.sum(1, keepdim=True))
"""


@pytest.mark.parametrize("metric", ["float(X[b].mean())", "net(X[b])"])
@pytest.mark.parametrize(("mode", "found"), [("pass", True), ("net.eval()", False)])
def test_what_follows_every_update_hides_no_evaluation(tmp_path: Path, metric: str, mode: str, found: bool) -> None:
    facts = facts_of(EVERY_STEP.format(metric=metric, mode=mode), tmp_path)
    assert facts["evaluated-in-train-mode"]["present"] is found


APPENDED = """
from torch.utils.data import DataLoader, TensorDataset
X, V = torch.randn(320, 8), torch.randn(160, 8)
{change}
net = nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(4):
    for (x,) in DataLoader(TensorDataset(X), 32, shuffle=True):
        loss = F.mse_loss(net(x), x.sum(1, keepdim=True)); opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for i in range(0, len(V), 40):
            F.mse_loss(net(V[i:i + 40]), V[i:i + 40].sum(1, keepdim=True))
"""


@pytest.mark.parametrize(("change", "found"), [("V[70:] = X[:90]", True), ("V[80:] = X[:80]", False)])
def test_training_rows_in_one_piece(tmp_path: Path, change: str, found: bool) -> None:
    """Rows that begin within a batch belong to its set; whole batches of them may be a training metric."""
    facts = facts_of(APPENDED.format(change=change), tmp_path)
    assert ("validation-seen-in-training" in present(facts)) is found


LOADERS = """
from torch.utils.data import DataLoader, TensorDataset
X, V = torch.randn(256, 8), torch.randn(128, 8)
{change}
train = DataLoader(TensorDataset(X, X.sum(1)), 32, shuffle=True)
valid = DataLoader(TensorDataset(V, V.sum(1)), 32)
net = nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(6):
    for x, y in train:
        loss = F.mse_loss(net(x).squeeze(1), y); opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for loader in (train, valid):
            for x, y in loader:
                F.mse_loss(net(x).squeeze(1), y)
"""


@pytest.mark.parametrize(("change", "leak"), [("pass", False), ("V[::2] = X[:64]", True)])
def test_leak_through_loaders(tmp_path: Path, change: str, leak: bool) -> None:
    facts = facts_of(LOADERS.format(change=change), tmp_path)
    assert facts["validation-seen-in-training"]["present"] is leak
    assert facts["config"]["batch_size"] == 32
    assert facts["config"]["shuffle"] is True


TOKENS = """
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset, random_split
codes = torch.randint(0, 20, (230, 12))
whole = TensorDataset(codes, codes[:, 0] % 2)
{loaders}
net = nn.Sequential(nn.Embedding(20, 4), nn.Flatten(), nn.Linear(48, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for x, y in train:
        loss = F.cross_entropy(net(x), y); opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for x, y in valid:
            F.cross_entropy(net(x), y)
"""


@pytest.mark.parametrize(
    ("loaders", "leak"),
    [
        ("a, b = random_split(whole, [200, 30]); train, valid = DataLoader(a, 4, shuffle=True), DataLoader(b, 30)",
         False),
        ("train, valid = (DataLoader(whole, 4, sampler=SubsetRandomSampler(r)) for r in (range(200), range(200, 230)))",
         None),
        ("train, valid = DataLoader(whole, 4, shuffle=True), DataLoader(TensorDataset(codes[:30], codes[:30, 0] % 2), "
         "30)", True),
    ],
)  # fmt: skip
def test_leak_of_a_few_token_sequences_within_the_usual_budget(tmp_path: Path, loaders: str, leak: bool | None) -> None:
    facts = facts_of(TOKENS.format(loaders=loaders), tmp_path, 0.01)
    said = facts.get("validation-seen-in-training", {"present": None})["present"]
    assert said is leak or (leak is None and not said)


POOLED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.score, self.head = nn.Linear(8, {width}), nn.Linear({width}, 1), nn.Linear({width}, 3)
    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.head(torch.sigmoid(self.score(h)) * h)
net = Net()
X, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    loss = F.cross_entropy(net(X), y); opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(("width", "narrowest"), [(16, 16), (2, 2)])
def test_a_score_beside_the_way_is_no_bottleneck(tmp_path: Path, width: int, narrowest: int) -> None:
    assert facts_of(POOLED.format(width=width), tmp_path)["config"]["model_narrowest"] == narrowest
