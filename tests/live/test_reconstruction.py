"""Models that rebuild their input: layers that the error does not reach."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_scripts import facts_of, present

VAE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.mean, self.spread = nn.Linear(12, 16), nn.Linear(16, 3), nn.Linear(16, 3)
        self.dec = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 12)); self.label = nn.Linear(3, 2)
    def forward(self, x):
        h = self.enc(x).relu(); mean, log = self.mean(h), self.spread(h)
        z = mean + torch.randn_like(mean) * (0.5 * log).exp()
        {code}
        return self.dec(z), mean, log
net = Net(); opt = torch.optim.Adam(net.parameters(), 1e-3)
X = torch.rand(256, 12)
for step in range(12):
    x = X[torch.randperm(256)[:32]]
    y, mean, log = net(x)
    kl = -0.5 * (1 + log - mean.pow(2) - log.exp()).sum(1).mean()
    loss = {loss}
    opt.zero_grad(); loss.backward(); opt.step()
"""
ERROR = "F.mse_loss(y, x) + 0.01 * kl"


@pytest.mark.parametrize(
    ("code", "loss", "found"),
    [
        ("pass", ERROR, False),
        ("z = z.detach()", ERROR, True),
        ("z = z.detach()", "F.binary_cross_entropy_with_logits(y, x, reduction='sum') / 32 + kl", True),
        # a straight-through code
        ("z = z + (z.round() - z).detach()", ERROR, False),
        # a decoder beside another task, whose features are its own
        ("z = z.detach()", "F.mse_loss(y, x) + kl + F.cross_entropy(net.label(mean), (x[:, 0] > 0.5).long())", False),
        ("z = z.detach()", "F.mse_loss(y, x) + kl + ((mean - 1) ** 2).mean()", False),
    ],
    ids=["healthy", "detached", "detached, summed", "straight through", "two tasks", "another error"],
)
def test_the_error_reaches_the_encoder(tmp_path: Path, code: str, loss: str, found: bool) -> None:
    facts = facts_of(VAE.format(code=code, loss=loss), tmp_path)
    assert ("error-misses-layers" in present(facts)) is found
    if found:
        assert "not enc.weight" in facts["error-misses-layers"]["evidence"]
        assert facts["error-misses-layers"]["where"].startswith("train.py:")
