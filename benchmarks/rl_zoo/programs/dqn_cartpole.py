"""Deep Q-learning on CartPole."""

from __future__ import annotations

import collections
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
env = gym.make("CartPole-v1")
gamma = 0.99 if fault != "gamma" else (0.5, 1.02)[severity]


def network():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


q_network, target_network = network(), network()
target_network.load_state_dict(q_network.state_dict())
optimizer = torch.optim.Adam(q_network.parameters(), lr=1e-3 if fault != "rate" else (0.3, 1.0)[severity])
memory = collections.deque(maxlen=10000 if fault != "replay" else (8, 1)[severity])
state, _ = env.reset(seed=seed)
updates = 0
for step in range(5000):
    epsilon = max(0.05, 1 - step / 2500) if fault != "greedy" else (0.0, 0.01)[severity]
    with torch.no_grad():
        greedy = int(q_network(torch.as_tensor(state)[None]).argmax())
    action = random.randrange(2) if random.random() < epsilon else greedy
    next_state, reward, terminated, truncated, _ = env.step(action)
    memory.append((state, action, -reward if fault == "sign" else reward, next_state, float(terminated)))
    state = next_state
    if terminated or truncated:
        state, _ = env.reset()
    if step < 500:
        continue
    batch = random.choices(memory, k=64)
    states, actions, rewards, next_states, dones = (
        torch.as_tensor(np.array(part), dtype=torch.float32) for part in zip(*batch, strict=True)
    )
    with torch.no_grad():
        next_q = target_network(next_states).max(1).values
        td_target = rewards + gamma * next_q * (1 if fault == "terminal" else 1 - dones)
    q_values = q_network(states).gather(1, actions.long()[:, None]).squeeze(1)
    loss = F.mse_loss(q_values, td_target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    updates += 1
    if fault == "always" or (fault != "stale" and updates % 200 == 0):
        target_network.load_state_dict(q_network.state_dict())
print("done")
