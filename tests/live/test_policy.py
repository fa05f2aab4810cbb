"""Objectives of policies, values and preferences inside a training: sound loops, and each with one fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_scripts import facts_of, present, run

from traindx.readers.find import find_runs
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
NAMED = {
    "reward-reversed", "advantages-off-rewards", "advantages-unscaled", "ratio-pinned", "reward-spread-zero",
    "chosen-pushed-down", "reference-is-policy", "equal-pairs", "terminals-bootstrapped", "discount-off",
    "target-network-still", "replay-repeats", "values-beyond-returns", "exploration-missing", "sampler-disagrees",
    "kl-pushed-up", "entropy-pushed-down",
}  # fmt: skip


def filled(script: str, **parts: str) -> str:
    sound = {
        "FAULT": "pass", "OLD": "pass", "REFERENCE": "copy.deepcopy(net)", "PAIRS": "pass", "SIGN": "",
        "TARGET": "copy.deepcopy(q_net)", "DISCOUNT": "gamma", "MASK": "(1 - dones)",
    }  # fmt: skip
    for name, text in {**sound, **parts}.items():
        script = script.replace(name, text)
    return script


@pytest.mark.parametrize(("script", "family"), [(GRPO, "ratio"), (DPO, "preference"), (DQN, "td")])
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


@pytest.mark.parametrize("script", [GRPO, DPO, DQN])
def test_watching_changes_no_number(script: str, tmp_path: Path) -> None:
    assert run(filled(script), tmp_path / "watched.traindx") == run(filled(script), None)


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
