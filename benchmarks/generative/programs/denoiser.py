"""A small diffusion model of pictures or of points in a plane, with one fault or none."""

from __future__ import annotations

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--schedule", choices=["linear", "cosine", "short", "flow"], default="linear")
parser.add_argument("--target", choices=["noise", "data", "velocity"], default="noise")
parser.add_argument("--data", choices=["pictures", "points"], default="pictures")
parser.add_argument("--loss", choices=["mse", "written-out", "huber"], default="mse")
parser.add_argument("--sampler", choices=["none", "noise", "data", "ddim"], default="none")
parser.add_argument(
    "--fault", choices=["none", "few-times", "reversed", "alphas-not-cumulated", "other-noise"], default="none"
)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--steps", type=int, default=1200)
options = parser.parse_args()

torch.manual_seed(options.seed)
TIMES = {"short": 200}.get(options.schedule, 1000)
if options.fault == "few-times":
    TIMES = 100
betas = torch.linspace(1e-4, 0.02, TIMES)
if options.schedule == "short" and options.fault == "none":
    betas = betas * 5
kept = torch.cumprod(1 - betas, 0)
if options.schedule == "cosine":
    places = torch.linspace(0, 1, TIMES + 1)
    curve = torch.cos((places + 0.008) / 1.008 * math.pi / 2) ** 2
    kept = (curve[1:] / curve[0]).clamp(1e-5, 0.9999)
    betas = 1 - kept / torch.cat([torch.ones(1), kept[:-1]])
if options.fault == "reversed":
    kept = kept.flip(0)
if options.fault == "alphas-not-cumulated":
    kept = 1 - betas
SHAPE = (2,) if options.data == "points" else (1, 8, 8)
SIZE = math.prod(SHAPE)
basis = torch.randn(4, SIZE)


def data(count: int) -> torch.Tensor:
    if options.data == "points":
        angle = torch.rand(count) * 2 * math.pi
        return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(count, 2)
    return torch.tanh(torch.randn(count, 4) @ basis * 0.5).view(count, *SHAPE)


class Denoiser(nn.Module):
    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.times = nn.Embedding(TIMES, width)
        self.enter, self.middle, self.leave = nn.Linear(SIZE, width), nn.Linear(width, width), nn.Linear(width, SIZE)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        place = (t * (TIMES - 1)).long() if t.is_floating_point() else t
        hidden = torch.relu(self.enter(x.flatten(1)) + self.times(place))
        return self.leave(torch.relu(self.middle(hidden))).view_as(x)


model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(options.steps):
    x0 = data(64)
    noise = torch.randn_like(x0)
    wide = (-1, *(1 for _ in SHAPE))
    if options.schedule == "flow":
        t = torch.rand(64)
        share = t.view(wide)
        noised, target = (1 - share) * x0 + share * noise, noise - x0
    else:
        t = torch.randint(0, TIMES, (64,))
        share = kept[t].view(wide)
        noised = share.sqrt() * x0 + (1 - share).sqrt() * noise
        target = {"noise": noise, "data": x0, "velocity": share.sqrt() * noise - (1 - share).sqrt() * x0}[
            options.target
        ]
    if options.fault == "other-noise":
        target = torch.randn_like(x0)
    given = model(noised, t)
    if options.loss == "written-out":
        loss = ((given - target) ** 2).mean()
    else:
        loss = (nn.functional.huber_loss if options.loss == "huber" else nn.functional.mse_loss)(given, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)

if options.sampler != "none":
    with torch.no_grad():
        x = torch.randn(16, *SHAPE)
        for i in reversed(range(TIMES)):
            given = model(x, torch.full((16,), i))
            now, before, beta = kept[i], kept[i - 1] if i else torch.tensor(1.0), betas[i]
            if options.sampler == "ddim":
                clean = (x - (1 - now).sqrt() * given) / now.sqrt()
                x = before.sqrt() * clean + (1 - before).sqrt() * given
                continue
            if options.sampler == "noise":
                mean = (x - beta / (1 - now).sqrt() * given) / (1 - beta).sqrt()
            else:
                mean = before.sqrt() * beta / (1 - now) * given + (1 - beta).sqrt() * (1 - before) / (1 - now) * x
            x = mean + beta.sqrt() * torch.randn_like(x) * bool(i)
