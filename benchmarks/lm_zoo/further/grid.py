"""Double Q-learning with a small network in a grid world of our own."""

import random
from collections import deque

import torch
import torch.nn as nn

MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]


class Grid:
    """Walk from a random cell to the goal in the corner."""

    def __init__(self, size=5, limit=40):
        self.size, self.limit = size, limit

    def reset(self):
        self.pos, self.t = (random.randrange(self.size), random.randrange(self.size)), 0
        return self.obs()

    def obs(self):
        return [self.pos[0] / self.size, self.pos[1] / self.size]

    def step(self, move):
        dx, dy = MOVES[move]
        old = self.distance()
        self.pos = (min(max(self.pos[0] + dx, 0), self.size - 1), min(max(self.pos[1] + dy, 0), self.size - 1))
        self.t += 1
        reward = self.pay(old)
        done = self.distance() == 0
        return self.obs(), reward, done, self.t >= self.limit

    def distance(self):
        return 2 * (self.size - 1) - sum(self.pos)

    def pay(self, old):
        return (old - self.distance()) * 0.2 + (1.0 if self.distance() == 0 else 0.0)


def net():
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))


def success(q, env, n=100):
    reached = 0
    for _ in range(n):
        s, done, late = env.reset(), env.distance() == 0, False
        while not done and not late:
            with torch.no_grad():
                s, _, done, late = env.step(int(q(torch.tensor(s)).argmax()))
        reached += done
    return reached / n


def main():
    random.seed(0)
    torch.manual_seed(0)
    env, q, target = Grid(), net(), net()
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    memory, gamma, eps = deque(maxlen=5000), 0.95, 1.0
    s, total, returns = env.reset(), 0.0, deque(maxlen=50)
    for t in range(6000):
        a = random.randrange(4) if random.random() < eps else int(q(torch.tensor(s)).argmax())
        s2, r, done, late = env.step(a)
        memory.append((s, a, r, s2, float(done)))
        total += r
        s = s2
        if done or late:
            returns.append(total)
            s, total = env.reset(), 0.0
        eps = max(0.05, eps * 0.999)
        if len(memory) >= 200:
            batch = random.sample(memory, 32)
            S, A, R, S2, D = (torch.tensor(x, dtype=torch.float32) for x in zip(*batch, strict=False))
            with torch.no_grad():
                best = q(S2).argmax(1, keepdim=True)
                goal = R + gamma * (1 - D) * target(S2).gather(1, best)[:, 0]
            value = q(S).gather(1, A.long()[:, None])[:, 0]
            loss = nn.functional.smooth_l1_loss(value, goal)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if t % 200 == 0:
            target.load_state_dict(q.state_dict())
        if t % 1000 == 999:
            print(f"t {t + 1} mean return {sum(returns) / max(1, len(returns)):.2f} eps {eps:.2f}")
    print(f"success rate {success(q, env):.2f}")


if __name__ == "__main__":
    main()
