"""Deterministic policy gradients with two critics on Pendulum."""

from __future__ import annotations

import collections
import copy
import random

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from asked import asked
from torch import nn

fault, severity, seed = asked()
torch.manual_seed(seed)
np.random.seed(seed)
env = gym.make("Pendulum-v1")
bound = float(env.action_space.high[0])
gamma = 0.98 if fault != "gamma" else (0.5, 1.05)[severity]
tau = 0.01
scale = bound if fault != "scale" else (0.005, 60.0)[severity]


def network(given, out, last=None):
    layers = [nn.Linear(given, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, out)]
    return nn.Sequential(*layers, *([last] if last is not None else []))


actor = network(3, 1, nn.Tanh())
qf1, qf2 = network(4, 1), network(4, 1)
actor_target, qf1_target, qf2_target = copy.deepcopy(actor), copy.deepcopy(qf1), copy.deepcopy(qf2)
if fault == "target" and severity:
    actor_target, qf1_target, qf2_target = actor, qf1, qf2
q_optimizer = torch.optim.Adam([*qf1.parameters(), *qf2.parameters()], lr=1e-3 if fault != "rate" else 0.3)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
buffer = collections.deque(maxlen=20000 if fault != "replay" else (8, 1)[severity])
obs, _ = env.reset(seed=seed)
for step in range(3200):
    with torch.no_grad():
        action = (actor(torch.as_tensor(obs)) * scale).numpy() + np.random.normal(0, 0.1 * scale, 1)
    if step < 300:
        action = np.random.uniform(-scale, scale, 1)
    next_obs, reward, terminated, truncated, _ = env.step(action.astype(np.float32))
    if fault == "sign":
        reward = -reward
    buffer.append((obs, action / scale, reward / 10, next_obs, float(terminated)))
    obs = next_obs
    if terminated or truncated:
        obs, _ = env.reset()
    if step < 300:
        continue
    sample = random.choices(buffer, k=64)
    states, actions, rewards, next_states, dones = (
        torch.as_tensor(np.array(part), dtype=torch.float32).view(64, -1) for part in zip(*sample, strict=True)
    )
    with torch.no_grad():
        next_actions = (actor_target(next_states) + (torch.randn(64, 1) * 0.1).clamp(-0.3, 0.3)).clamp(-1, 1)
        following = torch.cat([next_states, next_actions], 1)
        min_qf_next = torch.min(qf1_target(following), qf2_target(following))
        td_target = rewards + (1 - dones) * gamma * min_qf_next
    taken = torch.cat([states, actions], 1)
    qf_loss = F.mse_loss(qf1(taken), td_target) + F.mse_loss(qf2(taken), td_target)
    q_optimizer.zero_grad()
    qf_loss.backward()
    q_optimizer.step()
    if step % 2 == 0:
        actor_loss = -qf1(torch.cat([states, actor(states)], 1)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
    if fault != "target":
        with torch.no_grad():
            for target, online in ((actor_target, actor), (qf1_target, qf1), (qf2_target, qf2)):
                for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
                    slow.lerp_(fast, tau)
print("done")
