"""Gradients by layer agree with a slow computation, and the rate along the depth is the one that was built in."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")


from probing import facts, read  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from traindx.probes.kinds.gradients import PROBE  # noqa: E402
from traindx.signals.along import rate_along  # noqa: E402


def chain(layers: int, gain: float, width: int = 16) -> nn.Module:
    """Linear layers that multiply every vector's length by `gain`, forwards and backwards."""
    made = [nn.Linear(width, width, bias=False) for _ in range(layers)]
    for layer in made:
        nn.init.orthogonal_(layer.weight, gain)
    return nn.Sequential(*made)


def test_numbers_agree_with_numpy() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 1))
    batches = [(torch.randn(9, 5), torch.randn(9, 1)) for _ in range(3)]
    rows = {row[0]: row[1:] for row in read(PROBE, model, batches, nn.MSELoss()).tables[0].rows}
    w1, b1, w2, b2 = (p.detach().double().numpy() for p in model.parameters())
    found = []
    for x, y in ((x.double().numpy(), y.double().numpy()) for x, y in batches):
        hidden = np.maximum(x @ w1.T + b1, 0)
        slope = 2 * (hidden @ w2.T + b2 - y) / len(x)
        found.append(((slope @ w2) * (hidden > 0)).T @ x)
    whole = np.concatenate([one.ravel() for one in found])
    norm, mean, std, largest, zeros, nonfinite = rows["0.weight"]
    assert norm == pytest.approx(np.mean([np.linalg.norm(one) for one in found]), rel=1e-5)
    assert mean == pytest.approx(whole.mean(), rel=1e-3, abs=1e-7)
    assert std == pytest.approx(whole.std(), rel=1e-5)
    assert largest == pytest.approx(np.abs(whole).max(), rel=1e-5)
    assert zeros == pytest.approx(100 * (whole == 0).mean(), abs=0.01)
    assert nonfinite == 0


@pytest.mark.parametrize(
    ("gain", "vanishing", "exploding"), [(0.5, True, False), (1.0, False, False), (2.0, False, True)]
)
def test_the_rate_is_the_one_built_in(gain: float, vanishing: bool, exploding: bool) -> None:
    torch.manual_seed(0)
    batches = [(torch.randn(8, 16), torch.zeros(8, 16)) for _ in range(4)]
    reading = read(PROBE, chain(20, gain), batches, lambda output, target: (output / output.detach().norm()).sum())
    found = facts(reading)
    assert found["vanishing-gradients"].present is vanishing
    assert found["exploding-gradients"].present is exploding
    sizes = [row[1] for row in reading.tables[1].rows]
    rate = rate_along(sizes)
    assert rate is not None
    assert rate.per_layer == pytest.approx(1 / gain, rel=1e-4)
    assert rate.error < 1e-4


def test_widths_do_not_count() -> None:
    """Default layers of very different widths keep the norm at their outputs; the norms of their weights' gradients
    differ."""
    torch.manual_seed(0)
    widths = [8, 512, 16, 256, 8, 512, 16, 8]
    layers = [nn.Linear(a, b, bias=False) for a, b in pairwise(widths)]
    for layer in layers:
        nn.init.normal_(layer.weight, std=1 / math.sqrt(layer.in_features))
    reading = read(PROBE, nn.Sequential(*layers), [(torch.randn(64, 8), torch.randn(64, 8))], nn.MSELoss())
    rate = rate_along([row[1] for row in reading.tables[1].rows])
    assert rate is not None
    assert 0.8 < rate.per_layer < 1.25


def test_a_deep_residual_net_is_fine() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.norm = nn.Linear(16, 16), nn.LayerNorm(16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + F.relu(self.one(self.norm(x)))

    torch.manual_seed(0)
    model = nn.Sequential(*(Block() for _ in range(30)), nn.Linear(16, 4))
    found = facts(read(PROBE, model, [(torch.randn(32, 16), torch.randint(4, (32,)))], nn.CrossEntropyLoss()))
    assert not any(fact.present for fact in found.values())
    assert found["no-gradient"].present is False


def test_a_detached_graph_and_infinite_gradients_are_seen() -> None:
    batch = (torch.randn(8, 16), torch.randn(8, 16))
    cut = read(PROBE, chain(3, 1.0), batch, lambda output, target: (output.detach() - target).square().mean())
    assert facts(cut)["no-gradient"].present
    model = nn.Linear(16, 16)
    endless = read(
        PROBE,
        model,
        (torch.zeros(8, 16), torch.zeros(8, 16)),
        lambda output, target: (output - model.bias).abs().sqrt().mean(),
    )
    assert facts(endless)["nonfinite-gradient"].present


def test_one_odd_layer_does_not_move_the_rate() -> None:
    sizes = [2.0**i for i in range(12)]
    sizes[4] *= 1e6
    rate = rate_along(sizes)
    assert rate is not None
    assert rate.per_layer == pytest.approx(2.0, rel=0.05)
    assert rate_along([1.0, 2.0, 4.0]) is None
