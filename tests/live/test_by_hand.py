"""Trainings that update their parameters without `torch.optim`."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from live_scripts import facts_of, run

from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.readers.find import find_runs
from traindx.run import Run

DATA = """
import sys
x = torch.randn(600, 10); y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).long(); vx = torch.randn(200, 10); vy = (vx[:, 0] + vx[:, 1] * vx[:, 2] > 0).long()
batches = [b for _ in range(12) for b in torch.randperm(600).split(30)]
def net_of(): return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
def say(i, loss, evaluate):
    if i % 20 == 19:
        with torch.no_grad(): val = F.cross_entropy(evaluate(vx), vy)
        print(i, repr(loss.item()), repr(val.item()))
"""  # noqa: E501
MODULE = """
net = net_of()
for i, b in enumerate(batches):
    loss = F.cross_entropy(net(x[b]), y[b])
    if CLEAR: net.zero_grad()
    loss.backward()
    with torch.no_grad():
        for p in net.parameters(): p -= RATE * p.grad
    say(i, loss, net)
"""
BARE = """
w1 = (torch.randn(10, 32) / 10 ** 0.5).requires_grad_(); b1 = torch.zeros(32, requires_grad=True)
w2 = (torch.randn(32, 2) / 32 ** 0.5).requires_grad_(); b2 = torch.zeros(2, requires_grad=True)
def net(x): return torch.relu(x @ w1 + b1) @ w2 + b2
def sgd(params, lr, batch_size):
    for p in params:
        p.data.sub_(lr * p.grad / batch_size)
        if CLEAR: p.grad.data.zero_()
for i, b in enumerate(batches):
    loss = F.cross_entropy(net(x[b]), y[b], reduction="sum"); loss.backward(); sgd([w1, b1, w2, b2], RATE, 30)
    say(i, loss / 30, net)
"""
OWN = """
class Momentum:
    def __init__(self, params, lr):
        self.params, self.lr = list(params), lr; self.v = [torch.zeros_like(p) for p in self.params]
    def zero_grad(self):
        for p in self.params: p.grad = None
    def step(self):
        for p, v in zip(self.params, self.v):
            v.mul_(0.9).add_(p.grad); p.data = p.data - self.lr * v
net = net_of(); opt = Momentum(net.parameters(), 0.2 * RATE)
for i, b in enumerate(batches):
    if CLEAR: opt.zero_grad()
    loss = F.cross_entropy(net(x[b]), y[b]); loss.backward(); opt.step()
    say(i, loss, net)
"""
FUNCTIONAL = """
from torch.func import functional_call
net = net_of(); q = dict(net.named_parameters())
for i, b in enumerate(batches):
    loss = F.cross_entropy(functional_call(net, q, (x[b],)), y[b])
    g = torch.autograd.grad(loss, tuple(q.values()))
    q = {k: (v - RATE * s).detach().requires_grad_() for (k, v), s in zip(q.items(), g)}
    say(i, loss, lambda x: functional_call(net, q, (x,)))
"""
LOOPS = {"module": MODULE, "bare": BARE, "own": OWN, "functional": FUNCTIONAL}
CLEARING = [name for name in LOOPS if name != "functional"]  # `torch.autograd.grad` adds up nothing


def written(loop: str, rate: float = 0.1, clear: bool = True) -> str:
    return DATA + LOOPS[loop].replace("RATE", str(rate)).replace("CLEAR", str(clear))


@pytest.fixture(autouse=True)
def _fresh_process() -> Iterator[None]:
    """Other tests have built optimisers in this process."""
    with mock.patch("traindx.live.events.by_hand.optimizer_built", return_value=False):
        yield


def recorded(script: str, folder: Path) -> Run:
    run(script, folder / "run.traindx", 0.2, ended=True)
    return find_runs([folder / "run.traindx"])[0]


def page(script: str, folder: Path) -> Diagnosis:
    return diagnose(recorded(script, folder))


@pytest.mark.parametrize("loop", LOOPS)
def test_a_sound_loop_is_recorded_and_not_changed(loop: str, tmp_path: Path) -> None:
    script = written(loop)
    bare = run(script, None)
    assert run(script, tmp_path / "again.traindx", 0.2, ended=True) == bare
    found = find_runs([tmp_path / "again.traindx"])[0]
    assert len(found.series["train_loss"]) >= 239
    assert len(found.series["val_loss"]) >= 10
    assert any(name.startswith("update_ratio/") for name in found.series)
    assert {"grad_norm", "weight_travel"} <= set(found.series)
    rate = {"bare": 0.1 / 30, "own": 0.02}.get(loop, 0.1)
    assert found.config["lr"] == pytest.approx(rate, rel=0.01)
    assert diagnose(found).verdict != "unhealthy"


@pytest.mark.parametrize("loop", LOOPS)
def test_a_rate_far_too_high_is_told(loop: str, tmp_path: Path) -> None:
    told = page(written(loop, rate=1e6), tmp_path)
    assert told.verdict == "unhealthy"
    assert "lr-too-high" in [hypothesis.cause for hypothesis in told.hypotheses[:2]]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_rate_that_moves_nothing_is_not_healthy(loop: str, tmp_path: Path) -> None:
    assert page(written(loop, rate=1e-8), tmp_path).verdict != "healthy"


@pytest.mark.parametrize("loop", LOOPS)
def test_a_turned_sign_is_told(loop: str, tmp_path: Path) -> None:
    facts = facts_of(written(loop, rate=-0.01), tmp_path, 0.2)
    assert facts["loss-maximised"]["present"]


@pytest.mark.parametrize("loop", CLEARING)
def test_gradients_that_are_never_cleared_are_told(loop: str, tmp_path: Path) -> None:
    assert facts_of(written(loop, clear=False), tmp_path, 0.2)["gradients-not-cleared"]["present"]


@pytest.mark.parametrize("loop", CLEARING)
def test_gradients_that_are_cleared_are_known_to_be(loop: str, tmp_path: Path) -> None:
    assert not facts_of(written(loop), tmp_path, 0.2)["gradients-not-cleared"]["present"]


def test_a_parameter_that_the_update_forgets_is_told(tmp_path: Path) -> None:
    facts = facts_of(
        DATA
        + MODULE.replace("net.parameters(): p", "net[2].parameters(): p")
        .replace("RATE", "0.1")
        .replace("CLEAR", "True"),
        tmp_path,
    )
    assert facts["parameters-not-optimized"]["present"]
    assert "0.weight" in facts["parameters-not-optimized"]["evidence"]


def test_passes_that_add_up_are_one_update(tmp_path: Path) -> None:
    script = (
        DATA
        + """
net = net_of()
for i, b in enumerate(batches):
    (F.cross_entropy(net(x[b]), y[b]) / 4).backward()
    if i % 4 == 3:
        with torch.no_grad():
            for p in net.parameters(): p -= 0.1 * p.grad; p.grad = None
"""
    )
    found = recorded(script, tmp_path)
    assert len(found.series["train_loss"]) == 60
    assert diagnose(found).verdict != "unhealthy"


@pytest.mark.parametrize(
    "script",
    [
        # an attack on a model, along the gradient of its input
        "net = net_of(); v = x[:30].clone().requires_grad_()\nfor i in range(30): F.cross_entropy(net(v), "
        "y[:30]).backward(); v.data += 0.1 * v.grad.sign(); v.grad = None\n",
        # a picture painted for a frozen model
        "net = net_of().requires_grad_(False); v = torch.randn(1, 10, requires_grad=True)\nfor i in range(30):\n    "
        "(-net(v)[0, 0]).backward()\n    with torch.no_grad(): v -= 0.1 * v.grad; v.grad = None\n",
        # gradients that are only looked at, of one model after the other
        "for i in range(30): net = net_of(); F.cross_entropy(net(x), y).backward()\n",
        # weights that are loaded between two passes
        "net = net_of(); F.cross_entropy(net(x), y).backward(); net.load_state_dict(net_of().state_dict()); "
        "F.cross_entropy(net(x), y).backward()\n",
    ],
)  # fmt: skip
def test_what_trains_no_model_is_no_training(script: str, tmp_path: Path) -> None:
    run(DATA + script, tmp_path / "run.traindx")
    recording = tmp_path / "run.traindx" / "rank-0.jsonl"
    rows = [json.loads(line) for line in recording.read_text().splitlines()] if recording.exists() else []
    assert not any("train_loss" in row for row in rows)


def test_an_optimiser_that_comes_later_is_seen_as_ever(tmp_path: Path) -> None:
    late = DATA + "net = net_of(); F.cross_entropy(net(x), y).backward(); net.zero_grad()\n"
    training = """
opt = torch.optim.SGD(net.parameters(), 0.1)
for b in batches: loss = F.cross_entropy(net(x[b]), y[b]); opt.zero_grad(); loss.backward(); opt.step()
"""
    with mock.patch("traindx.live.events.by_hand.optimizer_built", side_effect=[False, True]):
        found = recorded(late + training, tmp_path)
    assert len(found.series["train_loss"]) == len(found.series["lr"]) == 240
    assert "grad_norm" in found.series
    assert "update_by_hand" not in found.config


def test_the_command_treats_it_like_any_other_training(tmp_path: Path) -> None:
    text = "import torch, torch.nn as nn, torch.nn.functional as F\ntorch.manual_seed(0)\n" + written("bare", rate=1e6)
    (tmp_path / "train.py").write_text(textwrap.dedent(text))
    command = [sys.executable, "-m", "traindx", "run", "--gate", "--json", "page.json", "train.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    told = json.loads((tmp_path / "page.json").read_text())
    assert (result.returncode, told["verdict"], told["run"]["steps"]) == (1, "unhealthy", 240), result.stderr
    assert "stopped watching" not in result.stderr
