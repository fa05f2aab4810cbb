"""The signal in the untrained network: growth with depth, in a loop and over time."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from live_watch import fit, judged, mlp, present, watch
from traindx.live.instruments.strength import Strength


class Looped(nn.Module):
    """One layer that is gone through again and again."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.first, self.again, self.last = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 3)
        self.rounds = rounds

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x).relu()
        for _ in range(self.rounds):
            x = self.again(x).relu() + x
        return self.last(x)


class Recurrent(nn.Module):
    def __init__(self, gain: float) -> None:
        super().__init__()
        self.rnn, self.head = nn.RNN(2, 12, nonlinearity="relu", batch_first=True), nn.Linear(12, 3)
        nn.init.orthogonal_(self.rnn.weight_hh_l0, gain=gain)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.rnn(x.view(-1, 4, 2).repeat(1, 10, 1))[0][:, -1])


def deep(std: float | None) -> nn.Module:
    net = nn.Sequential(*(part for _ in range(8) for part in (nn.Linear(8, 8), nn.ReLU())), nn.Linear(8, 3))
    for weight in net.parameters() if std else ():
        nn.init.normal_(weight, std=std)
    return net


@pytest.mark.parametrize(
    ("make", "grows"),
    [
        (lambda: mlp(), False),
        (lambda: deep(None), False),
        (lambda: deep(3.0), True),
        (lambda: Looped(4), False),
        (lambda: Looped(40), True),
        (lambda: Recurrent(0.9), False),
        (lambda: Recurrent(2.5), True),
    ],
)
def test_growth_before_any_update(tmp_path: Path, make: object, grows: bool) -> None:
    def train() -> None:
        net = make()  # type: ignore[operator]
        fit(net, torch.optim.SGD(net.parameters(), lr=1e-3), 3)

    assert ("signal-grows" in present(watch(tmp_path, train, Strength))) is grows


@pytest.mark.parametrize(
    ("gain", "squash", "multiply", "grows"),
    [
        (2.5, torch.relu, torch.nn.functional.linear, True),
        (2.5, torch.relu, lambda state, weight: state @ weight.T, True),
        (1.0, torch.relu, torch.nn.functional.linear, False),
        (2.5, torch.tanh, torch.nn.functional.linear, False),  # large weights, and states that cannot grow
    ],
)
def test_growth_over_time_in_a_loop_without_modules(
    tmp_path: Path, gain: float, squash: object, multiply: object, grows: bool
) -> None:
    def train() -> None:
        inward, again, out = (torch.randn(*shape, requires_grad=True) for shape in ((2, 12), (12, 12), (12, 3)))
        nn.init.orthogonal_(again, gain=gain)
        optimizer = torch.optim.SGD([inward, again, out], lr=1e-9)
        for _ in range(2):
            x = torch.randn(16, 30, 2)
            state = torch.zeros(16, 12)
            for moment in range(30):
                state = squash(x[:, moment] @ inward + multiply(state, again))  # type: ignore[operator]
            optimizer.zero_grad()
            nn.functional.cross_entropy(state @ out, torch.arange(16) % 3).backward()
            optimizer.step()

    run = watch(tmp_path, train, Strength)
    assert ("signal-grows" in present(run)) is grows
    if grows:
        assert "weights of shape (12, 12)" in judged(run)["signal-grows"].evidence
