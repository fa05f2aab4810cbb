"""Objectives of policies, values and preferences inside a training: sound loops, and each with one fault."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from live_scripts import facts_of, present, run

from traindx.diagnosis import Diagnosis
from traindx.live.rl.roles import role_of
from traindx.measurements import EpisodeEnds, PolicyObjective, RewardedAnswers, RewardGroups
from traindx.opening import diagnose
from traindx.readers.find import find_runs
from traindx.reporters.html.report import Case, run_section
from traindx.signals import Signals

GRPO = """
policy = nn.Sequential(nn.Embedding(6, 16), nn.Flatten(0, 1), nn.Linear(16, 6))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
group_size, clip_eps = 4, 0.2
def logps_of(prompts, answers):
    return policy(prompts[:, None]).log_softmax(-1).gather(1, answers[:, None]).squeeze(1)
def policy_loss(logps, old_logps, advantages):
    ratio = torch.exp(logps - old_logps)
    return -torch.min(ratio * advantages, ratio.clamp(1 - clip_eps, 1 + clip_eps) * advantages).mean()
for step in range(6):
    prompts = torch.randint(0, 3, (8,)).repeat_interleave(group_size)
    with torch.no_grad():
        answers = torch.distributions.Categorical(logits=policy(prompts[:, None])).sample()
    rewards = (answers == prompts).float() + 0.1 * answers
    groups = rewards.view(-1, group_size)
    advantages = ((groups - groups.mean(1, keepdim=True)) / (groups.std(1, keepdim=True) + 1e-4)).reshape(-1)
    FAULT
    old_logps = logps_of(prompts, answers).detach()
    for _ in range(2):
        logps = logps_of(prompts, answers)
        OLD
        loss = policy_loss(logps, old_logps, advantages)
        opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
"""

DPO = """
import copy
net = nn.Sequential(nn.Embedding(6, 16), nn.Linear(16, 6))
ref = REFERENCE
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
beta = 0.1
def logps(model, texts):
    return model(texts[:, :-1]).log_softmax(-1).gather(2, texts[:, 1:, None]).squeeze(2).sum(1)
for step in range(6):
    chosen, rejected = torch.randint(0, 3, (8, 5)), torch.randint(2, 6, (8, 5))
    PAIRS
    chosen_logps, rejected_logps = logps(net, chosen), logps(net, rejected)
    with torch.no_grad():
        ref_chosen_logps, ref_rejected_logps = logps(ref, chosen), logps(ref, rejected)
    margin = (chosen_logps - rejected_logps) - (ref_chosen_logps - ref_rejected_logps)
    loss = -F.logsigmoid(SIGN beta * margin).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
"""

DQN = """
import copy
q_net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
target_net = TARGET
opt = torch.optim.Adam(q_net.parameters(), lr=1e-2)
gamma = 0.9
for step in range(12):
    states, next_states = torch.randn(32, 3), torch.randn(32, 3)
    actions, rewards, dones = torch.randint(0, 2, (32,)), torch.rand(32), (torch.rand(32) < 0.2).float()
    with torch.no_grad():
        next_q = target_net(next_states).max(1).values
        target = rewards + DISCOUNT * next_q * MASK
    loss = F.mse_loss(q_net(states).gather(1, actions[:, None]).squeeze(1), target)
    opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for slow, fast in zip(target_net.parameters(), q_net.parameters()):
            slow.lerp_(fast, 0.1)
print(loss.item())
"""
# a policy of the module that keeps what its functions gave, as PyTorch's own examples do
KEPT = """
from collections import namedtuple
Did = namedtuple("Did", "log_prob value")
import ENVIRONMENTS
class Ends:
    def __init__(self): self.action_space = None
    def step(self, action):
        self.t = getattr(self, "t", 0) + 1
        return torch.zeros(3).numpy(), float(action), self.t % 7 == 0, False, {}
env = ENVIRONMENTS.wrappers.TimeLimit(Ends())
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.actor, self.critic = nn.Linear(3, 8), nn.Linear(8, 2), nn.Linear(8, 1)
        self.saved_log_probs, self.rewards, self.done_actions = [], [], []
    def forward(self, x):
        h = F.relu(self.first(x))
        return F.softmax(self.actor(h), dim=1), self.critic(h)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
def act():
    probs, value = policy(torch.randn(1, 3))
    m = torch.distributions.Categorical(probs)
    action = m.sample()
    KEEP
    return action.item()
def finish():
    R, returns, losses = 0, [], []
    for r in policy.rewards[::-1]:
        R = r + 0.9 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    for log_prob, R in zip(KEPT, returns):
        losses.append(WAY log_prob * R)
    optimizer.zero_grad()
    loss = torch.cat(losses).sum()
    loss.backward()
    optimizer.step()
    del policy.rewards[:], policy.saved_log_probs[:], policy.done_actions[:]
    return loss.item()
for episode in range(8):
    for _ in range(7):
        _, reward, done, _, _ = env.step(act())
        policy.rewards.append(reward)
    last = finish()
print(last)
"""
LISTED = {"KEEP": "policy.saved_log_probs.append(m.log_prob(action))", "KEPT": "policy.saved_log_probs"}
TUPLES = {
    "KEEP": "policy.done_actions.append(Did(m.log_prob(action), value))",
    "KEPT": "[one.log_prob for one in policy.done_actions]",
}
# rewards in rows, one for each prompt, by a name that elsewhere is a return
ROWS = """
net = nn.Sequential(nn.Embedding(6, 16), nn.Flatten(0, 1), nn.Linear(16, 6))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(6):
    q = torch.randint(0, 3, (8,)).repeat_interleave(4)
    with torch.no_grad():
        x = torch.distributions.Categorical(logits=net(q[:, None])).sample()
        before = net(q[:, None]).log_softmax(-1).gather(1, x[:, None]).squeeze(1)
    r = (x == q).float()
    g = r.view(8, 4)
    a = ((g - g.mean(1, keepdim=True)) / (g.std(1, keepdim=True) + 1e-4)).view(-1)
    now = net(q[:, None]).log_softmax(-1).gather(1, x[:, None]).squeeze(1)
    rho = (now - before).exp()
    loss = -(rho * a).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
"""
# a preference between two texts under names that say nothing, in a function that has returned before `backward`
PLAIN_PAIRS = """
import copy
net = nn.Sequential(nn.Embedding(6, 16), nn.Linear(16, 6))
other = REFERENCE
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
def total(model, texts):
    return model(texts[:, :-1]).log_softmax(-1).gather(2, texts[:, 1:, None]).squeeze(2).sum(1)
def objective(a, b, c, d):
    return -F.logsigmoid(0.1 * ((a - c) - (b - d))).mean()
def both(x, y):
    u, v = total(net, x), total(net, y)
    with torch.no_grad():
        s, t = total(other, x), total(other, y)
    return objective(u, v, s, t)
for step in range(6):
    x, y = torch.randint(0, 3, (8, 5)), torch.randint(2, 6, (8, 5))
    PAIRS
    loss = both(x, y)
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
"""
# a policy that writes letters, known to the script by a table
WRITTEN = """
itos = dict(enumerate("abcdefgh"))
net = nn.Sequential(nn.Embedding(8, 16), nn.Linear(16, 8))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(6):
    with torch.no_grad():
        texts = torch.distributions.Categorical(logits=torch.zeros(8, 9, 8)).sample()
    rewards = (texts == 0).sum(1).float()
    advantages = rewards - rewards.mean()
    logps = net(texts[:, :-1]).log_softmax(-1).gather(2, texts[:, 1:, None]).squeeze(2).sum(1)
    old_logps = logps.detach()
    loss = -(torch.exp(logps - old_logps) * advantages).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
"""
# an environment of the script's own, without any wrapper, and a critic of its rewards
BARE = """
import gymnasium, numpy
class Space:
    low, high = numpy.array([-3.0]), numpy.array([3.0])
class Line(gymnasium.Env):
    action_space = Space()
    def reset(self, seed=None):
        super().reset(seed=seed)
        self.t = 0
        return numpy.zeros(3)
    def step(self, action):
        self.t += 1
        return numpy.full(3, float(self.t)), 1.0, self.t == 5, False, {}
Line.__module__ = "MODULE"
env, critic, gamma = Line(), nn.Linear(3, 1), 0.9
opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
for update in range(30):
    seen, ends = [], []
    for _ in range(10):
        if not ends or ends[-1]: env.reset()
        observation, reward, done, _, _ = env.step(REACH * numpy.tanh(4 * torch.randn(1).numpy()))
        seen.append(observation), ends.append(done)
    states = torch.tensor(numpy.array(seen), dtype=torch.float32)
    rewards, dones = torch.full((10,), EARNED), torch.tensor([float(FLAG) for one in ends])
    with torch.no_grad():
        target = rewards + gamma * critic(states + 1).squeeze(1) * (1 - dones)
    loss = F.mse_loss(critic(states).squeeze(1), target)
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
"""
# a trainer that computes the rewards of a batch in one place, as TRL's do, with 3 answers to each of 4 prompts
REWARDED = """
import random
from trl.trainer.grpo_trainer import GRPOTrainer
random.seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(8):
    prompts = [str(number // 12) for number in range(48)]
    answers = [random.choice("abc") for _ in prompts]
    earned = [float(answer == "abca"[int(prompt)]) for prompt, answer in zip(prompts, answers)]
    ORDER
    trainer = GRPOTrainer(earned)
    trainer._calculate_rewards([{"prompt": one} for one in prompts], prompts, answers, None)
    loss = net(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
"""
TRAINER = """
import torch
class GRPOTrainer:
    def __init__(self, earned): self.earned, self.reward_weights = earned, torch.ones(1)
    def _calculate_rewards(self, inputs, prompts, completions, completion_ids_list):
        return torch.tensor(self.earned)[:, None]
"""
NAMED = {
    "reward-reversed", "advantages-off-rewards", "advantages-unscaled", "ratio-pinned", "reward-spread-zero",
    "chosen-pushed-down", "reference-is-policy", "equal-pairs", "terminals-bootstrapped", "discount-off",
    "target-network-still", "replay-repeats", "values-beyond-returns", "exploration-missing", "sampler-disagrees",
    "kl-pushed-up", "entropy-pushed-down",
}  # fmt: skip


def filled(script: str, **parts: str) -> str:
    sound = {
        "FAULT": "pass", "OLD": "pass", "REFERENCE": "copy.deepcopy(net)", "PAIRS": "pass", "SIGN": "",
        "MODULE": "line", "TARGET": "copy.deepcopy(q_net)", "DISCOUNT": "gamma", "MASK": "(1 - dones)",
    }  # fmt: skip
    for name, text in {**sound, **parts}.items():
        script = script.replace(name, text)
    return script


@pytest.mark.parametrize(
    ("script", "family"), [(GRPO, "ratio"), (DPO, "preference"), (DQN, "td"), (PLAIN_PAIRS, "preference")]
)
def test_sound_objectives_are_recognised_and_not_blamed(script: str, family: str, tmp_path: Path) -> None:
    found = facts_of(filled(script), tmp_path)
    assert not present(found) & NAMED
    recorded = find_runs([tmp_path / "run.traindx"])[0]
    objectives = [one for one in recorded.measured[0] if type(one).__name__ == "PolicyObjective"]
    assert {one.family for one in objectives} == {family}
    assert not Signals(recorded).ordinary


@pytest.mark.parametrize(
    ("script", "parts", "symptom"),
    [
        (GRPO, {"FAULT": "advantages = -advantages"}, "reward-reversed"),
        (GRPO, {"FAULT": "advantages = advantages.roll(2)"}, "advantages-off-rewards"),
        (GRPO, {"FAULT": "advantages = rewards * 100"}, "advantages-unscaled"),
        (GRPO, {"FAULT": "rewards = rewards * 0; advantages = rewards"}, "reward-spread-zero"),
        (GRPO, {"OLD": "old_logps = logps.detach()"}, "ratio-pinned"),
        (
            GRPO,
            {"FAULT": "advantages = ((groups - groups.mean(0)) / (groups.std(0) + 1e-4)).reshape(-1)"},
            "advantages-unscaled",
        ),
        (PLAIN_PAIRS, {"REFERENCE": "net"}, "reference-is-policy"),
        (PLAIN_PAIRS, {"PAIRS": "y = x"}, "equal-pairs"),
        (DPO, {"SIGN": "-"}, "chosen-pushed-down"),
        (DPO, {"REFERENCE": "net"}, "reference-is-policy"),
        (DPO, {"PAIRS": "rejected = chosen"}, "equal-pairs"),
        (DQN, {"MASK": "1"}, "terminals-bootstrapped"),
        (DQN, {"DISCOUNT": "(gamma * 0.5)"}, "discount-off"),
        (DQN, {"TARGET": "q_net"}, "target-network-still"),
    ],
)
def test_a_fault_is_seen(script: str, parts: dict[str, str], symptom: str, tmp_path: Path) -> None:
    assert symptom in present(facts_of(filled(script, **parts), tmp_path)) & NAMED


@pytest.mark.parametrize("script", [GRPO, DPO, DQN, PLAIN_PAIRS])
def test_watching_changes_no_number(script: str, tmp_path: Path) -> None:
    assert run(filled(script), tmp_path / "watched.traindx") == run(filled(script), None)


def _environments(at: Path, package: str) -> None:
    """A package with the places that gymnasium and gym share."""
    for module, names in (("wrappers", ("TimeLimit", "OrderEnforcing")), ("vector", ("SyncVectorEnv",))):
        (at / package / module).mkdir(parents=True)
        classes = "\n".join(
            f"class {name}:\n    def __init__(self, env): self.unwrapped = env\n"
            "    def step(self, action): return self.unwrapped.step(action)"
            for name in names
        )
        (at / package / module / "__init__.py").write_text(classes)
    (at / package / "__init__.py").write_text(
        f"from {package} import vector, wrappers\nclass Env:\n    def reset(self, *, seed=None): pass\n"
        "class Wrapper(Env): pass\n"
    )


@pytest.mark.parametrize(
    ("package", "kept", "way", "reversed_"), [("gymnasium", LISTED, "-", False), ("gym", TUPLES, "", True)]
)
def test_what_a_policy_of_the_module_keeps_is_found(
    package: str, kept: dict[str, str], way: str, reversed_: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _environments(tmp_path / "packages", package)
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    found = facts_of(filled(KEPT, **kept, WAY=way, ENVIRONMENTS=package), tmp_path)
    recorded = find_runs([tmp_path / "run.traindx"])[0]
    assert {one.family for one in recorded.measured[0].latest(PolicyObjective)} == {"policy-gradient"}
    assert recorded.measured[0].latest(EpisodeEnds)[0].episodes == 8
    assert ("reward-reversed" in present(found)) == reversed_


@pytest.mark.parametrize(
    ("parts", "symptom"),
    [
        ({}, ""),
        ({"REACH": "0.3"}, "actions-out-of-range"),
        ({"FLAG": "False"}, "terminals-bootstrapped"),
        ({"EARNED": "-0.01"}, "reward-reversed"),
    ],
)
def test_an_environment_without_wrappers_is_watched(
    parts: dict[str, str], symptom: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _environments(tmp_path / "packages", "gymnasium")
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    found = facts_of(filled(BARE, **{"REACH": "3.0", "FLAG": "one", "EARNED": "1.0", **parts}), tmp_path)
    assert find_runs([tmp_path / "run.traindx"])[0].measured[0].latest(EpisodeEnds)[0].episodes == 60
    assert present(found) & (NAMED | {"actions-out-of-range"}) == ({symptom} if symptom else set())


def test_a_class_that_travels_to_other_processes_whole_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _environments(tmp_path / "packages", "gymnasium")
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    facts_of(filled(BARE, REACH="3.0", FLAG="one", EARNED="1.0", MODULE="__main__"), tmp_path)
    assert not find_runs([tmp_path / "run.traindx"])[0].measured[0].latest(EpisodeEnds)


@pytest.mark.parametrize(("order", "mixed"), [("pass", False), ("random.shuffle(earned)", True)])
def test_equal_answers_that_earn_differently_are_seen(
    order: str, mixed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "packages" / "trl" / "trainer").mkdir(parents=True)
    for name, text in (("__init__", ""), ("trainer/__init__", ""), ("trainer/grpo_trainer", TRAINER)):
        (tmp_path / "packages" / "trl" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    made = ("trl", "trl.trainer", "trl.trainer.grpo_trainer")
    for name in {*made, *(name for name in sys.modules if name.partition(".")[0] == "trl")}:
        monkeypatch.setitem(sys.modules, name, sys)  # so that what the script loads is gone afterwards
        monkeypatch.delitem(sys.modules, name)
    found = facts_of(REWARDED.replace("ORDER", order), tmp_path)
    assert ("advantages-off-rewards" in present(found)) == mixed


def test_a_name_about_rewards_is_no_reward() -> None:
    assert [role_of(name) for name in ("rewards", "b_rewards", "reward_weights", "reward_scale")] == [
        "reward", "reward", "", "",
    ]  # fmt: skip


def test_rewards_in_rows_tell_the_groups(tmp_path: Path) -> None:
    facts_of(ROWS, tmp_path)
    recorded = find_runs([tmp_path / "run.traindx"])[0]
    assert recorded.measured[0].latest(RewardGroups)[0].size == 4
    assert "reward" in recorded.series


def test_a_policy_without_a_reward_is_not_called_healthy(tmp_path: Path) -> None:
    script = ROWS.replace("r = (x", "scored = (x").replace("g = r.view", "rows = scored.view").replace("g.", "rows.")
    script = script.replace("(g -", "(rows -").replace("    now =", "    del rows, scored\n    now =")
    facts_of(script, tmp_path)
    seen = {one.id: one for one in diagnose(tmp_path / "run.traindx").symptoms}["too-short"]
    assert seen.state == "present"
    assert "No reward was seen" in seen.evidence


def test_an_ordinary_loss_stays_ordinary(tmp_path: Path) -> None:
    facts_of(
        """
        net = nn.Linear(4, 2); opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(6):
            target = torch.randint(0, 2, (16,)); values = torch.randn(16, 4)
            loss = F.cross_entropy(net(values), target)
            opt.zero_grad(); loss.backward(); opt.step()
        """,
        tmp_path,
    )
    assert Signals(find_runs([tmp_path / "run.traindx"])[0]).ordinary


def test_what_was_written_stands_beside_what_it_earned(tmp_path: Path) -> None:
    facts_of(WRITTEN, tmp_path)
    measured = find_runs([tmp_path / "run.traindx"])[0].measured[0]
    shown = measured.all(RewardedAnswers)[0]
    assert shown.total == 8
    assert len(shown.answers) == 6
    assert [one.reward for one in shown.answers] == sorted((one.reward for one in shown.answers), reverse=True)
    assert all(one.text.count("a") == one.reward for one in shown.answers)
    page = diagnose(tmp_path / "run.traindx")
    assert Diagnosis.from_json(page.to_json(texts=True)).answers == page.answers
    assert not any(one["text"] for batch in page.to_json()["answers"] for one in batch["answers"])
    report = run_section(Case(page), "run", "h1")
    assert "What the policy wrote" in str(report.parts[0])
    assert shown.answers[0].text in str(report.parts[0])
