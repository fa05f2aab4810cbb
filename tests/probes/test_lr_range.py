"""The suggested rate works and wrong rates are told apart, with noise, spikes, Adam and negative losses; where none
works, none is named."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from traindx.probes.base import Deadline  # noqa: E402
from traindx.probes.given import subject_of  # noqa: E402
from traindx.probes.kinds.lr_range import PROBE  # noqa: E402
from traindx.probes.rate_curve import read_curve  # noqa: E402
from traindx.reading import Reading  # noqa: E402
from traindx.symptoms.observed import stated  # noqa: E402


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))


@cache
def batches() -> list[Any]:
    torch.manual_seed(1)
    inputs = [torch.randn(32, 8) for _ in range(8)]
    return [(x, x[:, :3].argmax(1)) for x in inputs]


def read(model: nn.Module, optimizer: torch.optim.Optimizer, loss: Any = F.cross_entropy, data: Any = None) -> Reading:
    subject = subject_of(model, data or batches(), loss, optimizer)
    before = [p.detach().clone() for p in model.parameters()]
    with subject.undisturbed():
        reading = PROBE.measure(subject, Deadline(20))
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    return reading


def present(reading: Reading) -> list[str]:
    return [fact.id for fact in stated(reading) if fact.present]


def descent(make: Any, rate: float, loss: Any = F.cross_entropy) -> float:
    """What a training at this rate ends with after 100 updates."""
    model = net()
    optimizer = make(model.parameters(), lr=rate)
    for number in range(100):
        x, y = batches()[number % 8]
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        optimizer.step()
    with torch.no_grad():
        ends = [float(loss(model(x), y)) for x, y in batches()]
    return sum(ends) / 8 if all(map(math.isfinite, ends)) else math.inf


def shifted(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(output, target) - 50


@pytest.mark.parametrize("loss", [F.cross_entropy, shifted])
@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.Adam])
def test_the_suggestion_is_as_good_as_a_grid(make: Any, loss: Any) -> None:
    model = net()
    reading = read(model, make(model.parameters(), lr=1e-3), loss)
    rate = reading.config["probe.lr"]
    grid = {value: descent(make, value) for value in (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)}
    start = math.log(3)
    assert start - descent(make, rate) > 0.9 * (start - min(grid.values()))
    assert {mark.label.split()[0] for mark in reading.charts[0].marks} >= {"suggested", "yours"}


def test_twice_the_same() -> None:
    first, second = net(), net()
    one, two = (read(model, torch.optim.Adam(model.parameters(), 1e-3)) for model in (first, second))
    assert one.config == two.config
    assert one.tables == two.tables


@pytest.mark.parametrize(
    ("make", "rate", "expected"),
    [
        (torch.optim.SGD, 0.3, []),
        (torch.optim.SGD, 1e-5, ["lr-below-useful"]),
        (torch.optim.SGD, 1e5, ["lr-above-stable"]),
        (torch.optim.Adam, 1e-3, []),
        (torch.optim.Adam, 1e-7, ["lr-below-useful"]),
        (torch.optim.Adam, 30.0, ["lr-above-stable"]),
        (torch.optim.Adam, 1.0, ["lr-above-stable"]),  # ends a little lower than it began; 54 times the suggestion
    ],
)
def test_the_current_rate_is_placed(make: Any, rate: float, expected: list[str]) -> None:
    model = net()
    assert present(read(model, make(model.parameters(), lr=rate))) == expected


def test_groups_keep_their_ratio_and_warm_ups_are_excused() -> None:
    model = net()
    groups = [{"params": model[0].parameters(), "lr": 0.0}, {"params": model[3].parameters(), "lr": 1e3}]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    reading = read(model, optimizer)
    assert reading.config["probe.lr"] < 100
    warm = torch.optim.SGD(model.parameters(), lr=1e3)
    torch.optim.lr_scheduler.LambdaLR(warm, lambda step: 1e-6 + step / 1000)
    assert present(read(model, warm)) == []


def test_no_rate_is_suggested_where_none_works() -> None:
    model = net()
    flat = read(model, torch.optim.SGD(model.parameters(), 0.1), lambda output, target: 0 * output.sum() + 1)
    assert "probe.lr" not in flat.config
    assert flat.unknown
    assert not present(flat)

    def noise(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return torch.randn(()) * 5 + 1e-4 * output.mean().tanh()

    model = net()
    loud = read(model, torch.optim.SGD(model.parameters(), 0.1), noise)
    assert "probe.lr" not in loud.config
    nan = read(model, torch.optim.SGD(model.parameters(), 0.1), lambda output, target: output.sum() * math.nan)
    assert nan.unknown


# --- the curve alone
# ---------------------------------------------------------------------------------------------------------


def curve(noise: float = 0.02, spikes: bool = False, seed: int = 0) -> tuple[Any, Any]:
    """Flat, then down by 1 between 1e-4 and 1e-2, up for good from 1e-1 on."""
    random = np.random.default_rng(seed)
    rates = np.geomspace(1e-6, 1, 120)
    place = np.log10(rates)
    y = -np.clip((place + 4) / 2, 0, 1) + 6 * np.clip(place + 1, 0, None) ** 2
    y = y + noise * random.standard_normal(len(y))
    if spikes:
        y[[20, 55, 70, 71]] += 8
    return rates, y


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("noise", "spikes"), [(0.0, False), (0.05, False), (0.05, True)])
def test_the_curve_is_read_through_noise_and_spikes(noise: float, spikes: bool, seed: int) -> None:
    found = read_curve(*curve(noise, spikes, seed), 2.0)
    assert found.refusal is None
    assert found.edge is not None
    assert found.begin is not None
    assert found.steepest is not None
    assert 0.03 <= found.edge <= 0.3
    assert 5e-5 <= found.begin <= 1e-3
    assert 1e-4 <= found.steepest <= 1e-2
    assert found.descent == pytest.approx(1.0, abs=0.15)


def test_curves_without_a_usable_region_are_refused() -> None:
    rates = np.geomspace(1e-6, 1, 120)
    random = np.random.default_rng(0)
    assert read_curve(rates, 0.5 * random.standard_normal(120), 1.0).refusal
    assert read_curve(rates, np.zeros(120), 1.0).refusal
    broken = np.concatenate([np.zeros(5), [math.nan]])
    assert "not finite" in str(read_curve(rates[:6], broken, 1.0).refusal)
