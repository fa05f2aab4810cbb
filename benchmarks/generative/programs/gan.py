"""A small GAN on a ring of clusters or on small pictures, with one fault or none."""

from __future__ import annotations

import argparse
import math

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--loss", choices=["bce", "minimax", "hinge", "least-squares", "wasserstein"], default="bce")
parser.add_argument("--data", choices=["ring", "pictures"], default="ring")
parser.add_argument("--first", choices=["discriminator", "generator"], default="discriminator")
parser.add_argument("--fault", choices=["none", "strong-discriminator", "collapse", "same-noise"], default="none")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--steps", type=int, default=1500)
options = parser.parse_args()

torch.manual_seed(options.seed)
NOISE, BATCH = 16, 64
lift = torch.randn(2, 32)


def real_samples() -> torch.Tensor:
    if options.data == "pictures":
        places = torch.randint(0, 6, (BATCH, 2))
        grid = torch.arange(8)
        rows = (grid[None] - places[:, :1]).abs() < 2
        columns = (grid[None] - places[:, 1:]).abs() < 2
        picture = (rows[:, :, None] & columns[:, None, :]).float() * 2 - 1
        return (picture + 0.05 * torch.randn(BATCH, 8, 8))[:, None]
    angle = torch.randint(0, 8, (BATCH,)) * (2 * math.pi / 8)
    return torch.stack([angle.cos(), angle.sin()], 1) @ lift + 0.05 * torch.randn(BATCH, 32)


if options.data == "pictures":
    generator = nn.Sequential(
        nn.Linear(NOISE, 128), nn.ReLU(), nn.Unflatten(1, (32, 2, 2)), nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(),
        nn.ConvTranspose2d(16, 1, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip
    discriminator = nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 32, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(),
        nn.Linear(128, 1),
    )  # fmt: skip
else:
    generator = nn.Sequential(nn.Linear(NOISE, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32))
    discriminator = nn.Sequential(
        nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
    )
rate_d = {"strong-discriminator": 2e-3, "collapse": 1e-4}.get(options.fault, 2e-4)
rate_g = {"strong-discriminator": 1e-6, "collapse": 5e-3}.get(options.fault, 4e-4)
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=rate_d, betas=(0.5, 0.999))
optimizer_g = torch.optim.Adam(generator.parameters(), lr=rate_g, betas=(0.5, 0.999))


def judge_loss(real: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
    if options.loss == "hinge":
        return F.relu(1 - real).mean() + F.relu(1 + fake).mean()
    if options.loss == "least-squares":
        return F.mse_loss(real, torch.ones_like(real)) + F.mse_loss(fake, torch.zeros_like(fake))
    if options.loss == "wasserstein":
        return fake.mean() - real.mean()
    ones, zeros = torch.ones_like(real), torch.zeros_like(fake)
    return F.binary_cross_entropy_with_logits(real, ones) + F.binary_cross_entropy_with_logits(fake, zeros)


def maker_loss(fake: torch.Tensor) -> torch.Tensor:
    if options.loss in ("hinge", "wasserstein"):
        return -fake.mean()
    if options.loss == "least-squares":
        return F.mse_loss(fake, torch.ones_like(fake))
    if options.loss == "minimax":
        return -F.binary_cross_entropy_with_logits(fake, torch.zeros_like(fake))
    return F.binary_cross_entropy_with_logits(fake, torch.ones_like(fake))


def update_judge(fake: torch.Tensor) -> float:
    optimizer_d.zero_grad()
    loss = judge_loss(discriminator(real_samples()), discriminator(fake.detach()))
    loss.backward()
    optimizer_d.step()
    if options.loss == "wasserstein":
        with torch.no_grad():
            for parameter in discriminator.parameters():
                parameter.clamp_(-0.1, 0.1)
    return loss.item()


def update_maker(fake: torch.Tensor) -> float:
    optimizer_g.zero_grad()
    loss = maker_loss(discriminator(fake))
    loss.backward()
    optimizer_g.step()
    return loss.item()


for step in range(options.steps):
    noise = torch.zeros(BATCH, NOISE) if options.fault == "same-noise" else torch.randn(BATCH, NOISE)
    fake = generator(noise)
    if options.first == "discriminator":
        loss_d, loss_g = update_judge(fake), update_maker(fake)
    else:
        loss_g, loss_d = update_maker(fake), update_judge(fake)
    if step % 50 == 0:
        print(f"step {step} loss_D {loss_d:.4f} loss_G {loss_g:.4f}", flush=True)
