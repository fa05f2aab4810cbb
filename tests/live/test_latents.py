"""The code of a variational autoencoder, used and unused."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_scripts import facts_of

SCRIPT = """
import torch
from torch import nn

class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.width, self.decoder = nn.Linear(12, 3), nn.Linear(12, 3), nn.Linear(3, 12)

    def forward(self, x):
        mean, width = self.mean(x), self.width(x)
        std = torch.exp(0.5 * width)
        return self.decoder(torch.tanh(mean + torch.randn_like(std) * std)), mean, width

torch.manual_seed(0)
data = torch.randn(400, 3) @ torch.randn(3, 12)
model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), 0.01)
for step in range(250):
    x = data[step * 20 % 400 : step * 20 % 400 + 20]
    output, mean, width = model(x)
    divergence = -0.5 * (1 + width - mean.pow(2) - width.exp()).sum(1).mean()
    loss = nn.functional.mse_loss(output, x) + WEIGHT * divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("weight", "collapsed"), [(50.0, True), (0.001, False)])
def test_a_code_that_ignores_its_input_is_seen(tmp_path: Path, weight: float, collapsed: bool) -> None:
    found = facts_of(SCRIPT.replace("WEIGHT", str(weight)), tmp_path, ended=True)
    assert found["latent-unused"]["present"] is collapsed
