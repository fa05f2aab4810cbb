"""REINFORCE on CartPole."""

from __future__ import annotations

import gymnasium as gym
import torch
from asked import asked
from torch import nn

fault, severity, seed = asked()
torch.manual_seed(seed)
env = gym.make("CartPole-v1")
policy = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
gamma = 0.99 if fault != "gamma" else (0.3, 1.05)[severity]
env.reset(seed=seed)
for _ in range(100):
    state, _ = env.reset()
    log_probs, rewards, done = [], [], False
    while not done:
        choice = torch.distributions.Categorical(logits=policy(torch.as_tensor(state)[None]).squeeze(0))
        action = choice.sample()
        log_probs.append(choice.log_prob(action))
        state, reward, terminated, truncated, _ = env.step(int(action))
        rewards.append(-reward if fault == "sign" and severity else reward)
        done = terminated or truncated
    total, returns = 0.0, []
    for reward in reversed(rewards):
        total = reward + gamma * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    advantages = (returns - returns.mean()) / (returns.std() + 1e-8)
    sign = 1.0 if fault == "sign" and not severity else -1.0
    loss = torch.stack([sign * one * weight for one, weight in zip(log_probs, advantages, strict=True)]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done", len(rewards))
