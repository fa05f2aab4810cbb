"""Objectives of policies and values whose variables have names that say nothing: found by operations and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_scripts import facts_of, present, run

from traindx.measurements import BootstrapTargets, PolicyObjective, ReplayVariety, RewardGroups, TargetNetwork
from traindx.readers.find import find_runs
from traindx.run import Run
from traindx.signals import Signals

CRITIC = """
import copy
brain = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
twin, spare = copy.deepcopy(brain), copy.deepcopy(brain)
adam = torch.optim.Adam(brain.parameters(), lr=1e-2)
diary = [(torch.randn(3), int(i % 2), float(i % 5 == 4), torch.randn(3)) for i in range(400)]
for tick in range(12):
    picked = [diary[i] for i in torch.randint(0, HELD, (32,)).tolist()]
    x, k, h, x2 = (torch.tensor(c) if not torch.is_tensor(c[0]) else torch.stack(c) for c in zip(*picked))
    pay = torch.where(h > 0, torch.tensor(5.0), x[:, 0])
    with torch.no_grad():
        later, other = twin(x2).max(1).values, twin(x2).min(1).values
        aim = pay + 0.9 * LATER * MASK
    cost = F.smooth_l1_loss(brain(x).gather(1, k[:, None]).squeeze(1), aim)
    adam.zero_grad(); cost.backward(); adam.step()
    with torch.no_grad():
        for slow, fast in zip(twin.parameters(), brain.parameters()):
            slow.lerp_(fast, 0.1)
print(cost.item())
"""
LISTS = """
net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
adam = torch.optim.Adam(net.parameters(), lr=1e-2)
for game in range(8):
    did, pay = [], []
    for t in range(25):
        d = torch.distributions.Categorical(logits=net(torch.randn(3)))
        go = d.sample()
        did.append((d.log_prob(go), 0.0))
        pay.append(float(go) + 0.1 * (t % 3))
    acc, togo = 0.0, []
    for p in DIRECTION:
        acc = p + DISCOUNT * acc
        togo.append(acc)
    ORDER
    togo = torch.tensor(togo)
    togo = (togo - togo.mean()) / (togo.std() + 1e-6)
    cost = torch.stack([WAY lp * g for (lp, _), g in zip(did, togo)]).sum()
    adam.zero_grad(); cost.backward(); adam.step()
print(cost.item())
"""
GROUPS = """
net = nn.Sequential(nn.Embedding(6, 16), nn.Flatten(0, 1), nn.Linear(16, 6))
adam = torch.optim.Adam(net.parameters(), lr=1e-2)
for tick in range(8):
    q = torch.randint(0, 3, (8,)).repeat_interleave(4)
    with torch.no_grad():
        x = torch.distributions.Categorical(logits=net(q[:, None])).sample()
    pts = (x == q).float() + 0.1 * x
    m = pts.view(-1, 4)
    edge = (m - (m.sum(1, keepdim=True) - m) / 3).view(-1)
    ll = net(q[:, None]).log_softmax(-1).gather(1, x[:, None])[..., 0]
    cost = WAY(edge * ll).mean()
    adam.zero_grad(); cost.backward(); adam.step()
print(cost.item())
"""
SQUASHED = """
body = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 4))
critic = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
adam = torch.optim.Adam(body.parameters(), lr=1e-3)
for tick in range(6):
    s = torch.randn(32, 3)
    mu, ls = body(s).chunk(2, 1)
    d = torch.distributions.Normal(mu, ls.clamp(-5, 2).exp())
    z = d.rsample()
    a = torch.tanh(z)
    lp = (d.log_prob(z) CORRECTION).sum(1)
    cost = (0.1 * lp - critic(torch.cat([s, a], 1)).squeeze(1)).mean()
    adam.zero_grad(); cost.backward(); adam.step()
print(cost.item())
"""
PARTS = {
    "HELD": "400", "LATER": "later", "MASK": "(1 - h)", "DIRECTION": "pay[::-1]", "DISCOUNT": "0.97",
    "ORDER": "togo.reverse()", "WAY": "-", "CORRECTION": "- torch.log(1 - a.pow(2) + 1e-6)",
}  # fmt: skip
VALUES = {"terminals-bootstrapped", "discount-off", "replay-repeats", "reward-reversed", "squash-uncorrected"}


def filled(script: str, **parts: str) -> str:
    for name, text in {**PARTS, **parts}.items():
        script = script.replace(name, text)
    return script


def recorded(tmp_path: Path) -> Run:
    return find_runs([tmp_path / "run.traindx"])[0]


@pytest.mark.parametrize(
    ("script", "family"),
    [
        (filled(CRITIC), "td"),
        (filled(CRITIC, LATER="torch.minimum(later, other)"), "td"),
        (filled(LISTS), "policy-gradient"),
        (filled(GROUPS), "policy-gradient"),
    ],
)
def test_sound_loops_are_recognised_and_not_blamed(script: str, family: str, tmp_path: Path) -> None:
    assert not present(facts_of(script, tmp_path)) & VALUES
    assert {one.family for one in recorded(tmp_path).measured[0].latest(PolicyObjective)} == {family}
    assert not Signals(recorded(tmp_path)).ordinary


@pytest.mark.parametrize(
    ("script", "symptom"),
    [
        (filled(CRITIC, MASK="1"), "terminals-bootstrapped"),
        (filled(CRITIC, HELD="2"), "replay-repeats"),
        (filled(CRITIC, HELD="1"), "replay-repeats"),
        (filled(LISTS, WAY=""), "reward-reversed"),
        (filled(LISTS, DISCOUNT="0.1"), "discount-off"),
        (filled(LISTS, DIRECTION="pay", ORDER="pass"), "discount-off"),
        (filled(GROUPS, WAY=""), "reward-reversed"),
        (filled(SQUASHED, CORRECTION=""), "squash-uncorrected"),
    ],
)
def test_a_fault_is_seen(script: str, symptom: str, tmp_path: Path) -> None:
    assert present(facts_of(script, tmp_path)) & VALUES == {symptom}


@pytest.mark.parametrize("correction", ["- torch.log(1 - a.pow(2) + 1e-6)", "- 2 * (0.693 - z - F.softplus(-2 * z))"])
def test_a_corrected_draw_is_not_blamed(correction: str, tmp_path: Path) -> None:
    found = facts_of(filled(SQUASHED, CORRECTION=correction), tmp_path)
    assert not found["squash-uncorrected"]["present"]


def test_what_a_target_is_made_of_is_told_by_its_numbers(tmp_path: Path) -> None:
    facts_of(filled(CRITIC), tmp_path)
    measured = recorded(tmp_path).measured[0]
    target = measured.latest(BootstrapTargets)[0]
    assert target.names == ("pay", "h", "later")
    assert target.discount == pytest.approx(0.9)
    assert target.ends
    assert not target.through
    assert measured.latest(ReplayVariety)[0].batch == 32
    follows = measured.latest(TargetNetwork)  # `spare`, which is never asked, is no target
    assert [(one.where, one.online) for one in follows] == [("twin", "brain")]
    assert follows[0].moved


def test_groups_of_rewards_are_told_by_their_advantages(tmp_path: Path) -> None:
    facts_of(filled(GROUPS), tmp_path)
    rewards = recorded(tmp_path).measured[0].latest(RewardGroups)[0]
    assert (rewards.where, rewards.size) == ("pts", 4)
    assert "reward" in recorded(tmp_path).series


@pytest.mark.parametrize(
    "script",
    [
        # a target of two parts; a moving average beside what it averages, and a schedule beside equal numbers
        """
        net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 0.1)
        seen, smooth, rates, now = [], [], [], 0.0
        for step in range(20):
            x = torch.randn(16, 4); y = x.sum(1); w = torch.rand(16)
            cost = F.mse_loss(net(x)[:, 0], y + 0.1 * w)
            opt.zero_grad(); cost.backward(); opt.step()
            now = 0.9 * now + 0.1 * cost.item()
            seen.append(cost.item()); smooth.append(now); rates.append(0.1 * 0.9 ** step)
        """,
        # samples with weights of their own
        """
        net = nn.Linear(4, 3); opt = torch.optim.SGD(net.parameters(), 0.1)
        for step in range(8):
            x, k, w = torch.randn(16, 4), torch.randint(0, 3, (16,)), torch.rand(16)
            ll = net(x).log_softmax(-1).gather(1, k[:, None])[:, 0]
            cost = -(w * ll).mean()
            opt.zero_grad(); cost.backward(); opt.step()
        """,
    ],
)
def test_an_ordinary_loss_stays_ordinary(script: str, tmp_path: Path) -> None:
    facts_of(script, tmp_path)
    assert Signals(recorded(tmp_path)).ordinary


@pytest.mark.parametrize("script", [CRITIC, LISTS, GROUPS, SQUASHED])
def test_watching_changes_no_number(script: str, tmp_path: Path) -> None:
    assert run(filled(script), tmp_path / "watched.traindx") == run(filled(script), None)
