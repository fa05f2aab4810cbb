"""Proximal policy optimisation on CartPole, in one file."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
from asked import asked
from torch import nn
from torch.distributions.categorical import Categorical

fault, severity, seed = asked()
torch.manual_seed(seed)
np.random.seed(seed)
num_envs, num_steps, num_updates, gae_lambda, clip_coef = 4, 128, 24, 0.95, 0.2
gamma = 0.99 if fault != "gamma" else (0.3, 1.05)[severity]
ent_coef = 0.01 if fault != "entropy" else -(0.05, 0.3)[severity]


def network(out, last):
    layers = [nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, out)]
    for layer, size in zip(layers[::2], (2**0.5, 2**0.5, last), strict=True):
        nn.init.orthogonal_(layer.weight, size)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic, self.actor = network(1, 1.0), network(2, 0.01)

    def act(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        action = probs.sample() if action is None else action
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1") for _ in range(num_envs)])
agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3, eps=1e-5)
obs = torch.zeros(num_steps, num_envs, 4)
actions, logprobs, rewards, dones, values = torch.zeros(5, num_steps, num_envs).unbind()
next_obs = torch.as_tensor(envs.reset(seed=seed)[0])
next_done = torch.zeros(num_envs)
for _ in range(num_updates):
    for step in range(num_steps):
        obs[step], dones[step] = next_obs, next_done
        with torch.no_grad():
            action, logprob, _, value = agent.act(next_obs)
        values[step], actions[step], logprobs[step] = value.flatten(), action, logprob
        next_obs, reward, terminations, truncations, _ = envs.step(action.numpy())
        rewards[step] = torch.as_tensor(reward) * (-1 if fault == "sign" and severity else 1)
        next_obs = torch.as_tensor(next_obs)
        next_done = torch.as_tensor(np.logical_or(terminations, truncations)).float()
    with torch.no_grad():
        next_value = agent.critic(next_obs).reshape(1, -1)
        advantages, lastgaelam = torch.zeros_like(rewards), 0
        for t in reversed(range(num_steps)):
            nextnonterminal = 1.0 - (next_done if t == num_steps - 1 else dones[t + 1])
            nextvalues = next_value if t == num_steps - 1 else values[t + 1]
            if fault == "terminal":
                nextnonterminal = torch.ones(num_envs)
            delta = rewards[t] + gamma * nextvalues * nextnonterminal - values[t]
            advantages[t] = lastgaelam = delta + gamma * gae_lambda * nextnonterminal * lastgaelam
        returns = advantages + values
    b_obs, b_actions, b_logprobs = obs.reshape(-1, 4), actions.reshape(-1), logprobs.reshape(-1)
    b_advantages, b_returns = advantages.reshape(-1), returns.reshape(-1)
    b_inds = np.arange(num_envs * num_steps)
    for _ in range(4):
        np.random.shuffle(b_inds)
        for start in range(0, len(b_inds), 128):
            mb_inds = b_inds[start : start + 128]
            _, newlogprob, entropy, newvalue = agent.act(b_obs[mb_inds], b_actions[mb_inds])
            oldlogprob = newlogprob.detach() if fault == "old-new" else b_logprobs[mb_inds]
            ratio = (newlogprob - oldlogprob).exp()
            mb_advantages = b_advantages[mb_inds]
            if fault == "raw":
                mb_advantages = mb_advantages * (30.0, 300.0)[severity]
            else:
                mb_advantages = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
            if fault == "sign" and not severity:
                mb_advantages = -mb_advantages
            clipped = torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)
            pg_loss = torch.max(-mb_advantages * ratio, -mb_advantages * clipped).mean()
            v_loss = 0.5 * ((newvalue.view(-1) - b_returns[mb_inds]) ** 2).mean()
            loss = pg_loss - ent_coef * entropy.mean() + 0.5 * v_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
print("done")
