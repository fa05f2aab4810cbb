"""Which lines made the tensors of the first steps: exact, bounded, and out of the user's sight."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from live_scripts import run

from traindx.causes import causes
from traindx.engine import diagnose
from traindx.lines import line_of
from traindx.live.events.instrument import Criterion
from traindx.live.measures.tracing import Lines, Trace
from traindx.measurements import Provenance, SourceFile
from traindx.readers.find import find_runs


@pytest.fixture(autouse=True)
def traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINDX_TRACE", "1")


HEAD = """
import torch, torch.nn as nn, torch.nn.functional as F
from pieces import squared
torch.manual_seed(0)
X = torch.randn(200, 4)
y = X @ torch.randn(4) + 0.1 * torch.randn(200)
net = nn.Sequential(
    nn.Linear(4, 8),
    nn.Tanh(),
    nn.Linear(8, 1),
)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(60):
    rows = torch.randint(0, 200, (32,))
    loss = squared(net(X[rows]).squeeze(1), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
"""
PIECES = """
def squared(p, t):
    difference = p - t
    return (difference ** 2).mean()
"""


def recorded(folder: Path, script: str, pieces: str = PIECES) -> tuple[object, str]:
    """A run of two files under the recorder, and what it printed."""
    (folder / "train.py").write_text(script)
    (folder / "pieces.py").write_text(pieces)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TRAINDX_DEBUG": "1", "TRAINDX_CASES": "off"}
    command = [sys.executable, "-m", "traindx", "run", "--to", "recording", "train.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    return find_runs([folder / "recording"])[0], done.stdout + done.stderr


def test_chains_lead_through_helper_files_to_where_layers_and_data_were_made(tmp_path: Path) -> None:
    found, _ = recorded(tmp_path, HEAD)
    measured = found.measured[0]  # type: ignore[attr-defined]
    chains = {one.where: one for one in measured.all(Provenance)}
    operations = [(step.operation, step.line) for step in chains["loss"].steps]
    assert operations[:3] == [("mean", "pieces.py:4"), ("pow", "pieces.py:4"), ("sub", "pieces.py:3")]
    tanh = next(step for step in chains["output"].steps if step.operation == "tanh")
    assert (tanh.made_at, tanh.contained, tanh.grad) == ("train.py:9", True, True)
    assert chains["input"].steps[0].source == "X"
    assert chains["loss"].at == "train.py:17"
    assert {one.where for one in measured.all(SourceFile)} == {"train.py", "pieces.py"}
    assert "cut" not in chains


@pytest.mark.parametrize(
    "cut", ["p.detach()", "p.data", "torch.tensor(p.tolist())", "torch.from_numpy(p.detach().numpy())"]
)
def test_a_cut_is_named_where_it_is_made(tmp_path: Path, cut: str) -> None:
    kept = "0 * t.new_zeros(1, requires_grad=True).sum()"  # so that backward runs
    pieces = f"import torch\ndef squared(p, t):\n    q = {cut}\n    return ((q - t) ** 2).mean() + {kept}\n"
    found, _ = recorded(tmp_path, HEAD, pieces)
    page = diagnose(found)  # type: ignore[arg-type]
    assert next(h.where for h in page.hypotheses if h.cause == "detached-graph") == "pieces.py:3"


TWO = """
import torch, torch.nn as nn
gen, judge = nn.Linear(2, 2), nn.Linear(2, 1)
opt_g, opt_j = torch.optim.SGD(gen.parameters(), lr=0.1), torch.optim.SGD(judge.parameters(), lr=0.1)
for step in range(8):
    fake = gen(torch.randn(16, 2)).detach()
    opt_j.zero_grad(); judge(fake).mean().backward(); opt_j.step()
    apart = gen(torch.randn(16, 2)).detach()
    opt_g.zero_grad(); (-judge(apart)).mean().backward(); opt_g.step()
"""


def test_a_cut_tells_what_the_next_update_lacks_by_it(tmp_path: Path) -> None:
    found, _ = recorded(tmp_path, TWO)
    cuts = [one for one in found.measured[0].all(Provenance) if one.where == "cut"]  # type: ignore[attr-defined]
    assert {(one.at, one.hidden, one.held) for one in cuts if one.held} == {("train.py:8", 2, 2)}
    assert {one.at for one in cuts} == {"train.py:6", "train.py:8"}


RECURRENT = """
import torch, torch.nn as nn, torch.nn.functional as F
first, second, head = nn.GRU(3, 8, batch_first=True), nn.GRU(3, 8, batch_first=True), nn.Linear(8, 1)
opt = torch.optim.Adam([*first.parameters(), *second.parameters(), *head.parameters()])
x = torch.randn(32, 5, 3)
for step in range(12):
    _, state = first(x)
    out, _ = second(x, state.data)
    loss = F.mse_loss(head(out[:, -1]), x[:, 0, :1])
    opt.zero_grad(); loss.backward(); opt.step()
"""


def test_a_cut_behind_a_recurrent_layer_is_seen(tmp_path: Path) -> None:
    found, _ = recorded(tmp_path, RECURRENT)
    cuts = [one for one in found.measured[0].all(Provenance) if one.where == "cut"]  # type: ignore[attr-defined]
    assert {one.at for one in cuts} == {"train.py:8"}


FILLED = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
X = torch.randn(64, 4); y = (X[:, 0] > 0).long()
body, head = nn.Linear(4, 8), nn.Linear(8, 2)
opt = torch.optim.Adam([*body.parameters(), *head.parameters()])
for step in range(6):
    store = torch.zeros(8, 8)
    for i, row in enumerate(body(X[:8])):
        store[i] = row.detach()
    loss = F.cross_entropy(head(store.relu()), y[:8])
    opt.zero_grad(); loss.backward(); opt.step()
"""


def test_a_cut_before_numbers_are_written_into_a_tensor_is_seen(tmp_path: Path) -> None:
    found, _ = recorded(tmp_path, FILLED)
    cuts = [one for one in found.measured[0].all(Provenance) if one.where == "cut"]  # type: ignore[attr-defined]
    assert {one.at for one in cuts} == {"train.py:10"}


FUNCTIONS = """
import torch
from pieces import forward, weights
torch.manual_seed(0)
params = weights()
x = torch.randn(64, 4)
for step in range(40):
    loss = (forward(params, x) - x[:, 0]).pow(2).mean()
    for p in params:
        p.grad = None
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= 0.1 * p.grad
"""
WEIGHTS = """
import torch
def weights():
    first = torch.ones(4, 8) * 0.1
    second = torch.ones(8, 1) * 0.1
    return [first.requires_grad_(), second.requires_grad_()]
def forward(params, x):
    return (torch.relu(x @ params[0]) @ params[1]).squeeze(1)
"""


def test_a_model_of_plain_tensors_is_traced_too(tmp_path: Path) -> None:
    found, _ = recorded(tmp_path, FUNCTIONS, WEIGHTS)
    chains = {one.where: one for one in found.measured[0].all(Provenance)}  # type: ignore[attr-defined]
    assert {"train.py:8", "pieces.py:8"} <= {step.line for step in chains["loss"].steps}
    assert line_of(causes()["constant-init"].line, found.measured) == "pieces.py:4"  # type: ignore[attr-defined]


SHARED = """
class Count(torch.overrides.TorchFunctionMode):
    calls = 0
    def __torch_function__(self, func, types, args=(), kwargs=None):
        Count.calls += 1
        return func(*args, **(kwargs or {}))
from torch.utils.flop_counter import FlopCounterMode
X = torch.randn(64, 4); y = torch.randn(64, 1)
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
with FlopCounterMode(display=False) as flops, Count():
    for step in range(5):
        loss = F.mse_loss(net(X), y)
        opt.zero_grad(); loss.backward(); opt.step()
print(loss.item(), flops.get_total_flops(), [p.sum().item() for p in net.parameters()])
print(torch._C._len_torch_function_stack(), torch.rand(2))
"""


def test_the_training_and_the_users_own_modes_see_nothing_of_it(tmp_path: Path) -> None:
    assert run(SHARED, tmp_path / "run.traindx") == run(SHARED, None)


BY_HAND = """
X = torch.randn(64, 4); y = X.sum(1, keepdim=True)
w = torch.randn(4, 1).mul(0.1).requires_grad_()
for step in range(12):
    loss = F.mse_loss(X @ w, y)
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
    print(step, loss.item(), torch._C._len_torch_function_stack() > 1)
print(torch._C._len_torch_function_stack())
"""


def test_a_loop_without_an_optimiser_is_left_behind_too(tmp_path: Path) -> None:
    assert run(BY_HAND, tmp_path / "run.traindx") == run(BY_HAND, None)


def test_a_mode_of_the_users_that_outlives_the_trace_stays() -> None:
    class Theirs(torch.overrides.TorchFunctionMode):
        pass

    trace = Trace(Lines(), lambda: False)
    trace.start()
    with Theirs():
        trace.stop()
        assert torch._C._len_torch_function_stack() == 1
    assert torch._C._len_torch_function_stack() == 0


def test_a_fused_evaluation_stays_fused(tmp_path: Path) -> None:
    script = """
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    net = nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Linear(8, 1))
    X = torch.randn(16, 5, 8)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(3):
        net.train()
        loss = (net(X) ** 2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        net.eval()
        with torch.no_grad():
            print(net(X).sum().item())
    """
    assert run(script, tmp_path / "run.traindx") == run(script, None)


def test_a_run_is_traced_where_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = recorded(tmp_path, HEAD)
    assert found.measured[0].all(Provenance)  # type: ignore[attr-defined]
    monkeypatch.setenv("TRAINDX_TRACE", "0")
    (tmp_path / "quiet").mkdir()
    found, _ = recorded(tmp_path / "quiet", HEAD)
    assert not found.measured[0].all(Provenance)  # type: ignore[attr-defined]


def test_workers_that_are_started_meanwhile_are_not_traced(tmp_path: Path) -> None:
    script = """
    class Rows(torch.utils.data.Dataset):
        def __len__(self): return 8
        def __getitem__(self, i): return torch.full((4,), float(torch._C._len_torch_function_stack()))
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(3):
        for x in torch.utils.data.DataLoader(Rows(), batch_size=8, num_workers=1):
            print(epoch, x.sum().item())
            loss = net(x).mean()
            opt.zero_grad(); loss.backward(); opt.step()
    """
    assert run(script, tmp_path / "run.traindx") == run(script, None)


LOOPS = {
    "module": """
        criterion = nn.CrossEntropyLoss()
        def loss_of(): return criterion(net(X), y)
        """,
    "function": "def loss_of(): return F.cross_entropy(net(X), y, label_smoothing=0.1)",
    "held": "ce = F.cross_entropy\ndef loss_of(): return ce(net(X), y)",
    "by hand": "def loss_of(): return -(net(X).log_softmax(1)[range(64), y]).mean()",
    "regression": "def loss_of(): return F.mse_loss(net(X)[:, 0], X[:, 1]) + 0.1 * F.l1_loss(net(X)[:, 1], X[:, 2])",
    "functional": """
        from torch.func import functional_call
        def loss_of(): return F.cross_entropy(functional_call(net, dict(net.named_parameters()), (X,)), y)
        """,
    "own kind of tensor": """
        class Own(torch.Tensor): pass
        labels = y.as_subclass(Own)
        def loss_of(): return F.cross_entropy(net(X), labels)
        """,
}
LOOP = """
X = torch.randn(64, 4); y = (X[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
{loss}
opt = torch.optim.{optimizer}
for step in range(24):
    def closure():
        opt.zero_grad(); loss = loss_of(); loss.backward(); return loss
    print(opt.step(closure).item())
"""


def series_of(script: str, recording: Path) -> tuple[str, dict[str, list[float]]]:
    """What a training prints, and what was recorded of it step by step, without what it took."""
    printed = run(script, recording, 10.0)
    series = find_runs([recording])[0].series
    timed = ("seconds", "time", "cost", "memory", "throughput", "per_second")
    kept = {name: one for name, one in series.items() if not any(word in name for word in timed)}
    return printed, {name: list(map(repr, (*one.steps, *one.values))) for name, one in kept.items()}


@pytest.mark.parametrize("optimizer", ["Adam(net.parameters())", "LBFGS(net.parameters(), max_iter=3)"])
@pytest.mark.parametrize("loss", LOOPS)
def test_what_is_recorded_is_the_same_with_a_trace(
    loss: str, optimizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = textwrap.dedent(LOOP).format(loss=textwrap.dedent(LOOPS[loss]), optimizer=optimizer)
    traced = series_of(script, tmp_path / "traced.traindx")
    monkeypatch.setenv("TRAINDX_TRACE", "")
    assert series_of(script, tmp_path / "plain.traindx") == traced
    assert traced[0] == run(script, None)


GRADIENTS = """
from torch.func import functional_call, grad
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)); params = {k: v.detach() for k, v in net.named_parameters()}
X = torch.randn(64, 4); y = (X[:, 0] > 0).long()
def loss_of(params): return F.cross_entropy(functional_call(net, params, (X,)), y)
def by_autograd(params):
    params = {k: v.requires_grad_() for k, v in params.items()}
    return dict(zip(params, torch.autograd.grad(loss_of(params), list(params.values()))))
for step in range(24):
    g = STEP(params)
    params = {k: (params[k] - 0.1 * g[k]).detach() for k in params}
    print(loss_of(params).item())
"""  # noqa: E501


@pytest.fixture
def _no_optimiser_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests have built optimisers in this process."""
    monkeypatch.setattr("traindx.live.events.by_hand.optimizer_built", lambda *_: False)


@pytest.mark.usefixtures("_no_optimiser_yet")
@pytest.mark.parametrize("step", ["by_autograd", "grad(loss_of)"])
def test_gradients_by_function_are_taken_as_without_a_trace(step: str, tmp_path: Path) -> None:
    script = GRADIENTS.replace("STEP", step)
    before = torch._C._len_torch_function_stack()
    assert run(script, tmp_path / "traced.traindx") == run(script, None)
    assert torch._C._len_torch_function_stack() == before


@pytest.mark.usefixtures("_no_optimiser_yet")
def test_a_loop_of_functions_is_recorded_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = GRADIENTS.replace("STEP", "by_autograd")
    traced = series_of(script, tmp_path / "traced.traindx")
    monkeypatch.setenv("TRAINDX_TRACE", "")
    assert series_of(script, tmp_path / "plain.traindx") == traced


@pytest.mark.parametrize("trace", ["", "1"])
@pytest.mark.parametrize("criterion", ["nn.MSELoss()", "F.mse_loss", "F.smooth_l1_loss", "nn.CrossEntropyLoss()"])
def test_a_loss_is_counted_once_whatever_modes_there_are(
    criterion: str, trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mode is handed what stands in the loss function's place, and calls it in its turn."""
    monkeypatch.setenv("TRAINDX_TRACE", trace)
    seen = []

    def noted(name: str, *given: Any) -> Criterion:
        seen.append(name)
        return Criterion(name, *given)

    monkeypatch.setattr("traindx.live.events.criteria.Criterion", noted)
    alone = SHARED.replace(", Count():", ":")
    for script in (SHARED, alone):
        run(script.replace("F.mse_loss(", f"({criterion})("), tmp_path / f"{len(seen)}.traindx")
    assert len(seen) == 10


def test_nothing_is_kept_in_the_frames_that_a_trace_looks_into(tmp_path: Path) -> None:
    script = """
    import weakref
    def train():
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            x = torch.randn(16, 4); hidden = net(x); left = weakref.ref(hidden), weakref.ref(x)
            loss = hidden.pow(2).mean()
            del hidden, x
            print(left[0]() is None, left[1]() is None)
            opt.zero_grad(); loss.backward(); opt.step()
    train()
    """
    assert run(script, tmp_path / "run.traindx") == run(script, None)


def test_what_the_optimiser_calculates_is_not_traced(tmp_path: Path) -> None:
    found, _ = recorded(tmp_path, HEAD.replace("SGD(net.parameters(), lr=0.05)", "Adam(net.parameters(), lr=0.01)"))
    operations = {s.operation for one in found.measured[0].all(Provenance) for s in one.steps}  # type: ignore[attr-defined]
    assert "linear" in operations
    assert not operations & {"lerp_", "addcmul_", "addcdiv_"}
