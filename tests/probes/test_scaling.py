"""An experiment tells a learning rate that is too high from data that is not scaled."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from traindx.engine import diagnose  # noqa: E402
from traindx.probes.given import subject_of  # noqa: E402
from traindx.probes.kinds import probes  # noqa: E402
from traindx.probes.overfit import standardised, unscaled  # noqa: E402
from traindx.probes.python import run_of  # noqa: E402
from traindx.probes.runner import run_probe  # noqa: E402


def regression(spread: float, centre: float) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(64, 8, generator=generator)
    return x, x[:, :1] * spread + centre


@pytest.mark.parametrize(
    ("spread", "centre", "inputs", "rate", "fact", "cause"),
    [
        (80.0, 150.0, 1.0, 0.01, "scaling-cures", "targets-not-normalized"),
        (1.0, 0.0, 1000.0, 0.01, "scaling-cures", "inputs-not-normalized"),
        (1.0, 0.0, 1.0, 5.0, "batch-diverges", "lr-too-high"),
        (1.0, 0.0, 1.0, 0.05, None, None),
    ],
    ids=["targets", "inputs", "rate", "healthy"],
)
def test_the_cause_of_a_divergence(
    spread: float, centre: float, inputs: float, rate: float, fact: str | None, cause: str | None
) -> None:
    torch.manual_seed(0)
    x, y = regression(spread, centre)
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    reading = run_probe(subject_of(model, (x * inputs, y), nn.MSELoss(), optimizer), probes()["sanity"], 12.0)
    assert [one.id for one in reading.facts if one.present][:1] == ([] if fact is None else [fact])
    page = diagnose(run_of([reading], "model"))
    if cause is None:
        assert page.verdict != "unhealthy"
    else:
        assert page.hypotheses[0].cause == cause


def test_features_are_scaled_one_by_one() -> None:
    torch.manual_seed(0)
    table = torch.randn(500, 3) * torch.tensor([1.0, 50.0, 2000.0]) + torch.tensor([0.0, 300.0, -5.0])
    images = torch.rand(20, 3, 5, 5) * 255
    assert unscaled((table,))
    assert unscaled((images,))
    assert not unscaled((torch.randn(100, 3), torch.randint(1000, (100,))))
    assert torch.allclose(standardised(table).std(0, unbiased=False), torch.ones(3), atol=1e-4)
    assert torch.allclose(standardised(images).mean((0, 2, 3)), torch.zeros(3), atol=1e-4)
    assert standardised(torch.arange(5)).tolist() == [0, 1, 2, 3, 4]
