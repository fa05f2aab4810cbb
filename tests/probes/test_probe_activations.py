"""Dead, saturated and collapsed units agree with counting them by hand."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from probing import facts, read  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from traindx.probes.kinds.activations import PROBE, effective_rank  # noqa: E402
from traindx.reading import Reading  # noqa: E402


def column(reading: Reading, name: str) -> dict[str, object]:
    table = reading.tables[0]
    place = table.columns.index(name)
    return {str(row[0]): row[place] for row in table.rows}


def images(count: int = 4) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(1)
    return [
        (torch.randn(32, 3, 6, 6, generator=generator), torch.randint(4, (32,), generator=generator))
        for _ in range(count)
    ]


class Convolutional(nn.Module):
    """Activation functions as functions and as modules; `bias` pushes filters below zero."""

    def __init__(self, dead: int) -> None:
        super().__init__()
        self.conv, self.norm, self.mid, self.head = (
            nn.Conv2d(3, 10, 3),
            nn.BatchNorm2d(10),
            nn.Linear(10, 20),
            nn.Linear(20, 4),
        )
        self.act = nn.Tanh()
        with torch.no_grad():
            self.norm.bias[:dead] = -100.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.act(self.mid(F.relu(self.norm(self.conv(x))).mean((2, 3)))))


@pytest.mark.parametrize(("dead", "present"), [(2, False), (8, True)])
def test_dead_filters_are_counted_over_all_batches(dead: int, present: bool) -> None:
    torch.manual_seed(0)
    reading = read(PROBE, Convolutional(dead), images(), nn.CrossEntropyLoss())
    assert column(reading, "dead %")["norm.relu"] == pytest.approx(10 * dead)
    found = facts(reading)
    assert found["dead-units"].present is present
    assert "filters" in found["dead-units"].evidence
    assert found["saturated-units"].present is False
    assert column(reading, "kind")["act"] == "tanh"


def test_numbers_agree_with_numpy() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 40), nn.Sigmoid(), nn.Linear(40, 2))
    with torch.no_grad():
        model[0].weight *= 12
    batches = [(torch.randn(50, 5), torch.randint(2, (50,))) for _ in range(3)]
    reading = read(PROBE, model, batches, nn.CrossEntropyLoss())
    w, b = (p.detach().double().numpy() for p in model[0].parameters())
    raw = [x.double().numpy() @ w.T + b for x, _ in batches]
    squashed = 1 / (1 + np.exp(-np.concatenate(raw)))
    assert column(reading, "std")["0"] == pytest.approx(np.concatenate(raw).std(), rel=1e-5)
    assert column(reading, "mean")["1"] == pytest.approx(squashed.mean(), rel=1e-5)
    assert column(reading, "saturated %")["1"] == pytest.approx(
        100 * ((squashed < 0.03) | (squashed > 0.97)).mean(), abs=0.06
    )
    assert column(reading, "signal")["0"] == pytest.approx(np.sqrt((raw[0].std(0) ** 2).mean()), rel=1e-5)
    values = np.linalg.svd(raw[0] - raw[0].mean(0), compute_uv=False) ** 2
    assert column(reading, "rank")["0"] == pytest.approx(values.sum() ** 2 / (values**2).sum(), rel=1e-5)
    assert facts(reading)["saturated-units"].present


def test_the_rank_of_one_direction_is_one() -> None:
    assert effective_rank(torch.randn(100, 1) @ torch.randn(1, 30)) == pytest.approx(1.0, rel=1e-4)
    assert effective_rank(torch.randn(5000, 8)) == pytest.approx(8.0, rel=0.05)


@pytest.mark.parametrize(("gain", "fades", "grows"), [(0.3, True, False), (1.0, False, False), (3.0, False, True)])
def test_the_signal_along_the_depth(gain: float, fades: bool, grows: bool) -> None:
    torch.manual_seed(0)
    layers = [nn.Linear(16, 16) for _ in range(14)]
    for layer in layers:
        nn.init.orthogonal_(layer.weight, gain)
    reading = read(PROBE, nn.Sequential(*layers), (torch.randn(64, 16), torch.randn(64, 16)), nn.MSELoss())
    found = facts(reading)
    assert found["signal-fades"].present is fades
    assert found["signal-grows"].present is grows
    assert f"×{gain:.3g}" in found["signal-fades"].evidence


def test_an_output_that_ignores_the_input() -> None:
    torch.manual_seed(0)
    batch = (torch.randn(64, 8), torch.randint(3, (64,)))
    silent = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))
    with torch.no_grad():
        silent[0].bias.fill_(-100.0)
    assert facts(read(PROBE, silent, batch, nn.CrossEntropyLoss()))["prediction-collapse"].present
    # a last layer that starts at zero is a usual and healthy choice
    zero = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    nn.init.zeros_(zero[2].weight)
    assert not any(fact.present for fact in facts(read(PROBE, zero, batch, nn.CrossEntropyLoss())).values())


def test_values_that_are_not_finite() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    with torch.no_grad():
        model[2].weight[0, 0] = float("inf")
    fact = facts(read(PROBE, model, (torch.rand(8, 4) + 1, torch.randint(2, (8,))), nn.CrossEntropyLoss()))[
        "nonfinite-activation"
    ]
    assert fact.present
    assert fact.where == "2"
