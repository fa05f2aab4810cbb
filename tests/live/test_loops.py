"""Loops of every kind that people write: healthy ones raise no alarm, and what they are is understood."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from live_scripts import facts_of, present, run

from traindx.live.events.hub import Hub
from traindx.live.instruments.memory import EVERY_READINGS, Memory
from traindx.measurements import Measured, Measurement, ScheduleSteps
from traindx.readers.find import find_runs
from traindx.signals import Signals
from traindx.signals.choose import is_adversarial
from traindx.symptoms import memory_growth, symptoms

GAN = """
G = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2)); D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og, od = torch.optim.Adam(G.parameters(), 2e-4), torch.optim.Adam(D.parameters(), 2e-4); bce = F.binary_cross_entropy_with_logits
for i in range(40):
    fake, real = G(torch.randn(32, 4)), torch.randn(32, 2) + 1
    ld = bce(D(real), torch.ones(32, 1)) + bce(D(fake.detach()), torch.zeros(32, 1)); od.zero_grad(); ld.backward(); od.step()
    lg = bce(D(fake), torch.ones(32, 1)); og.zero_grad(); lg.backward(); og.step()
"""  # noqa: E501
CRITIC = """
G = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2)); D = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
og, od = torch.optim.Adam(G.parameters(), 1e-4, (0.5, 0.9)), torch.optim.Adam(D.parameters(), 1e-4, (0.5, 0.9))
for i in range(40):
    for p in D.parameters(): p.requires_grad = True
    for _ in range(5):
        real, fake = torch.randn(32, 2) + 1, G(torch.randn(32, 2)).detach(); od.zero_grad()
        (-D(real).mean()).backward(); D(fake).mean().backward()
        z = (real + (fake - real) * torch.rand(32, 1)).requires_grad_(); g = torch.autograd.grad(D(z).sum(), z, create_graph=True)[0]
        (0.1 * (g.norm(dim=1) - 1).pow(2).mean()).backward(); od.step()
    for p in D.parameters(): p.requires_grad = False
    og.zero_grad(); (-D(G(torch.randn(32, 2))).mean()).backward(); og.step()
"""  # noqa: E501
FROZEN = """
A, B = nn.Sequential(nn.Linear(8, 16), nn.Tanh()), nn.Linear(16, 1); head = nn.Linear(16, 8)
oa, ob = torch.optim.Adam([*A.parameters(), *head.parameters()], 1e-3), torch.optim.Adam(B.parameters(), 1e-2)
for i in range(80):
    x = torch.randn(32, 8)
    if i == 40:
        for p in [*A.parameters(), *head.parameters()]: p.requires_grad = False
    loss, opt = (F.mse_loss(head(A(x)), x), oa) if i < 40 else (F.mse_loss(B(A(x)), x.sum(1, keepdim=True)), ob)
    opt.zero_grad(); loss.backward(); opt.step()
"""
TOGETHER = """
A, B = nn.Linear(8, 16), nn.Linear(16, 1); oa, ob = torch.optim.Adam(A.parameters(), 1e-3), torch.optim.SGD(B.parameters(), 1e-2)
for i in range(40):
    x = torch.randn(32, 8); loss = F.mse_loss(B(torch.tanh(A(x))), x.sum(1, keepdim=True))
    oa.zero_grad(); ob.zero_grad(); loss.backward(); oa.step(); ob.step()
"""  # noqa: E501
SCALED = """
X = torch.randn(320, 16); Y = (X[:, :4].sum(1) > 0).long()
net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2)); opt = torch.optim.SGD(net.parameters(), 0.05); scaler = torch.amp.GradScaler("cpu")
for b in torch.randperm(320).split(16):
    with torch.autocast("cpu", torch.float16): loss = F.cross_entropy(net(X[b]), Y[b])
    opt.zero_grad(); scaler.scale(loss).backward(); scaler.unscale_(opt); nn.utils.clip_grad_value_(net.parameters(), 1.0); scaler.step(opt); scaler.update()
"""  # noqa: E501
BY_HAND = """
from torch.func import functional_call, grad
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)); p = {k: v.detach().clone().requires_grad_() for k, v in net.named_parameters()}
opt = torch.optim.Adam(p.values(), 1e-2)
for i in range(40):
    x = torch.randn(32, 4); g = grad(lambda q: F.mse_loss(functional_call(net, q, (x,)), x.sum(1, keepdim=True)))({k: v.detach() for k, v in p.items()})
    for name, value in p.items(): value.grad = g[name]
    opt.step()
"""  # noqa: E501
STATEFUL = """
s = torch.sin(torch.arange(2000) / 10); lstm, out = nn.LSTM(1, 8, batch_first=True), nn.Linear(8, 1); opt = torch.optim.Adam([*lstm.parameters(), *out.parameters()], 5e-3)
h = None
for i in range(0, 1900, 25):
    y, h = lstm(s[i:i + 25].view(1, -1, 1), h); h = tuple(v.detach() for v in h); loss = F.mse_loss(out(y), s[i + 1:i + 26].view(1, -1, 1)); opt.zero_grad(); loss.backward(); opt.step()
"""  # noqa: E501
PENALTY = """
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)); opt = torch.optim.Adam(net.parameters(), 2e-3)
for i in range(80):
    x = torch.rand(64, 1, requires_grad=True) * 2; u = net(x); du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    loss = ((du + u) ** 2).mean() + (net(torch.zeros(1, 1)) - 1).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
"""  # noqa: E501
LOOPS = {
    "gan": GAN,
    "two optimisers": TOGETHER,
    "scaler": SCALED,
    "gradients by hand": BY_HAND,
    "stateful": STATEFUL,
    "penalty": PENALTY,
}


@pytest.mark.parametrize("budget", [1.0, 0.0])
@pytest.mark.parametrize("name", LOOPS)
def test_no_alarm(tmp_path: Path, name: str, budget: float) -> None:
    facts = facts_of(LOOPS[name], tmp_path, budget)
    assert not {found for found in present(facts) if symptoms()[found].severity == "problem"}
    assert is_adversarial(find_runs([tmp_path / "run.traindx"])[0]) == (name == "gan")


@pytest.mark.parametrize(("script", "adversarial"), [(CRITIC, True), (FROZEN, False)])
def test_networks_that_are_switched_off_in_turns_train_each_other(
    tmp_path: Path, script: str, adversarial: bool
) -> None:
    """A critic that requires no gradient in its generator's turn; and a network that is trained first, then frozen."""
    facts_of(script, tmp_path)
    assert is_adversarial(find_runs([tmp_path / "run.traindx"])[0]) == adversarial


def test_the_loss_is_recorded_unscaled(tmp_path: Path) -> None:
    facts = facts_of(SCALED, tmp_path)
    (run,) = find_runs([tmp_path / "run.traindx"])
    losses = run.series["train_loss"].values.tolist()
    assert len(losses) == 20
    assert max(losses) < 2  # the scale is 65536
    assert facts["config"]["clip_grad_value"] == 1.0


PLATEAU = """
X = torch.randn(400, 8); Y = (X[:, 0] > 0).long()
net = nn.Linear(8, 2); opt = torch.optim.SGD(net.parameters(), 0.05)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="{mode}", factor=0.3, patience=1)
for epoch in range(12):
    for i in range(0, 300, 50):
        loss = F.cross_entropy(net(X[i:i + 50]), Y[i:i + 50]); opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        out = net(X[300:]); held = F.cross_entropy(out, Y[300:]); right = float((out.argmax(1) == Y[300:]).float().mean())
    sched.step({value})
"""  # noqa: E501


@pytest.mark.parametrize(
    ("mode", "value", "state"),
    [("min", "right + epoch / 100", "present"), ("max", "held", "present"), ("min", "held", "absent")],
)
def test_a_scheduler_that_waits_for_the_wrong_way(tmp_path: Path, mode: str, value: str, state: str) -> None:
    run(PLATEAU.format(mode=mode, value=value), tmp_path / "run.traindx", 1.0)
    signals = Signals(find_runs([tmp_path / "run.traindx"])[0])
    assert symptoms()["lr-schedule-anomaly"].detect(signals).state == state


SCHEDULED = """
net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 0.1)
sched = torch.optim.lr_scheduler.{kind}
for i in range(60):
    {before}
    loss = F.mse_loss(net(torch.randn(16, 4)), torch.randn(16, 1)); opt.zero_grad(); loss.backward(); opt.step()
    {after}
"""


@pytest.mark.parametrize(
    ("kind", "before", "after", "found"),
    [
        ("StepLR(opt, 5)", "if i % 10 == 0: sched.step()", "pass", True),
        ("LambdaLR(opt, lambda s: 0.99 ** s)", "pass", "sched.step()", False),
        ("OneCycleLR(opt, 0.1, total_steps=60)", "pass", "sched.step()", False),
        ("SequentialLR(opt, [torch.optim.lr_scheduler.LinearLR(opt), torch.optim.lr_scheduler.CosineAnnealingLR(opt, "
         "50)], [10])", "pass", "sched.step()", False),
        ("CosineAnnealingWarmRestarts(opt, 10)", "pass", "sched.step()", False),
    ],
)  # fmt: skip
def test_order_of_scheduler_and_optimizer(tmp_path: Path, kind: str, before: str, after: str, found: bool) -> None:
    facts = facts_of(SCHEDULED.format(kind=kind, before=before, after=after), tmp_path)
    assert ("schedule-before-optimizer" in present(facts)) is found
    assert "schedule-per-batch" not in present(facts)


@pytest.mark.parametrize(("gamma", "clarity"), [(0.7, 1.0), (0.85, 0.75), (0.93, None)])
def test_a_decay_of_epochs_in_batches_is_told_by_when_the_rate_is_gone(
    tmp_path: Path, gamma: float, clarity: float | None
) -> None:
    kind = f"ExponentialLR(opt, {gamma})"
    facts = facts_of(SCHEDULED.format(kind=kind, before="pass", after="sched.step()"), tmp_path)
    fact = facts["schedule-per-batch"]
    assert fact["present"] is (clarity is not None)
    assert not fact["present"] or fact.get("clarity", 1.0) == clarity


class _Hub:
    """As much of a hub as an observer of memory needs."""

    def __init__(self) -> None:
        self.step = 0
        self.measured = Measured()

    def measure(self, measurement: Measurement) -> None:
        self.measured.add(measurement)


@pytest.mark.parametrize("kept", [True, False])
def test_memory_that_climbs_and_why(kept: bool) -> None:
    hub = _Hub()
    memory = Memory(cast(Hub, hub))
    weight, held = torch.ones(3, requires_grad=True), []
    for reading in range(2 * EVERY_READINGS):
        hub.step = 100 * reading
        loss: Any = (weight * 2).sum()
        memory._next_mark = 0.0
        memory.on_backward(loss)
        held += [loss] if kept else []
        del loss
        memory._note(memory._host, 1e9 + 8e6 * reading)
    gc.collect()
    memory.on_end()
    found = memory_growth.judge(hub.measured)
    assert found is not None
    assert found.state == "present"
    assert "80 kB with every update" in found.evidence
    assert ("graphs of earlier losses are still alive" in found.evidence) == kept


def test_memory_that_fills_up_and_stays() -> None:
    hub = _Hub()
    memory = Memory(cast(Hub, hub))
    for reading in range(2 * EVERY_READINGS):
        hub.step = 100 * reading
        memory._note(memory._host, 1e9 + 2e8 * min(reading, EVERY_READINGS // 3))
    found = memory_growth.judge(hub.measured)
    assert found is not None
    assert found.state == "absent"


def test_a_rate_is_followed_at_every_step_of_its_schedule(tmp_path: Path) -> None:
    """Also where updates are told in groups: a warm-up and a cosine to zero are no schedule that ends early."""
    body = """
import math
net = nn.Linear(4, 2); optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4)
cosine = lambda step: step / 10 if step < 10 else 0.5 * (1 + math.cos(math.pi * (step - 10) / 490))
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, cosine)
for step in range(500):
    loss = F.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
    optimizer.zero_grad(); loss.backward(); optimizer.step(); scheduler.step()
"""
    assert "schedule-per-batch" not in present(facts_of(body, tmp_path))
    look = find_runs([tmp_path / "run.traindx"])[0].measured[0].last(ScheduleSteps)
    assert look is not None
    assert [round(step, -1) for step in look.last_above] == [400, 470, 490, 500]
