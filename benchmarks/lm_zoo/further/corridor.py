"""Actor and critic in a corridor: the reward lies at its far end, a small one at the near end."""

import torch
import torch.nn as nn
from torch.distributions import Categorical

LENGTH = 12


class Corridor:
    def reset(self):
        self.x, self.t = 4, 0
        return self.see()

    def see(self):
        return nn.functional.one_hot(torch.tensor(self.x), LENGTH).float()

    def step(self, right):
        self.x += 1 if right else -1
        self.t += 1
        if self.x <= 0:
            return self.see_end(), 0.15, True
        if self.x >= LENGTH - 1:
            return self.see_end(), 1.0, True
        return self.see(), 0.0, self.t >= 60

    def see_end(self):
        return torch.zeros(LENGTH)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(LENGTH, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return Categorical(logits=self.pi(h)), self.v(h)[..., 0]


def main():
    torch.manual_seed(0)
    net, env, gamma = ActorCritic(), Corridor(), GAMMA
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    history = []
    for episode in range(400):
        obs, logps, values, rewards, entropies, done = env.reset(), [], [], [], [], False
        while not done:
            dist, value = net(obs)
            action = dist.sample()
            obs, reward, done = env.step(action.item())
            logps.append(dist.log_prob(action))
            values.append(value)
            rewards.append(reward)
            entropies.append(dist.entropy())
        returns, g = [], 0.0
        for r in reversed(rewards):
            g = r + gamma * g
            returns.insert(0, g)
        returns, values = torch.tensor(returns), torch.stack(values)
        advantage = returns - values.detach()
        loss = (
            -(torch.stack(logps) * advantage).mean()
            + 0.5 * (returns - values).square().mean()
            - 0.01 * torch.stack(entropies).mean()
        )
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(sum(rewards))
        if episode % 40 == 39:
            print(f"episode {episode + 1} mean reward {sum(history[-40:]) / 40:.3f}")
    print(f"reached the far end: {sum(h > 0.9 for h in history[-50:]) / 50:.2f}")


GAMMA = 0.98

if __name__ == "__main__":
    main()
