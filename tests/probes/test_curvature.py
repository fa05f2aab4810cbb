"""Eigenvalues agree with the explicit Hessian, the noise scale with gradients sample by sample, limits with optimisers
that break."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

from traindx.probes.base import Deadline  # noqa: E402
from traindx.probes.given import subject_of  # noqa: E402
from traindx.probes.hessian import Hessian, spectrum  # noqa: E402
from traindx.probes.kinds.curvature import PROBE  # noqa: E402
from traindx.probes.noise_scale import noise_scale  # noqa: E402
from traindx.probes.stability import stability_of  # noqa: E402
from traindx.probes.subject import Subject  # noqa: E402
from traindx.reading import Reading  # noqa: E402
from traindx.symptoms.observed import stated  # noqa: E402


def read(subject: Subject, seconds: float = 20) -> Reading:
    with subject.undisturbed():
        return PROBE.measure(subject, Deadline(seconds))


def explicit(model: nn.Module, batches: list[Any], loss: Any) -> torch.Tensor:
    """The whole Hessian of the mean loss, in double precision, row by row."""
    model = model.double()
    parameters = dict(model.named_parameters())
    sizes = [p.numel() for p in parameters.values()]

    def of(vector: torch.Tensor) -> torch.Tensor:
        parts = {n: v.view(p.shape) for (n, p), v in zip(parameters.items(), vector.split(sizes), strict=True)}
        losses = [loss(torch.func.functional_call(model, parts, (x.double(),)), y) for x, y in batches]
        return torch.stack(losses).mean()

    start = torch.cat([p.detach().flatten() for p in parameters.values()])
    with sdpa_kernel(SDPBackend.MATH):  # the fused one has no second derivative
        found: torch.Tensor = torch.autograd.functional.hessian(of, start)
    return found


def smooth_net() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 3))


def classes(count: int, size: int) -> list[Any]:
    torch.manual_seed(2)
    return [(torch.randn(size, 6), torch.randint(3, (size,))) for _ in range(count)]


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.MultiheadAttention(4, 2, batch_first=True)
        self.head = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.view(-1, 3, 2).repeat(1, 1, 2)
        out: torch.Tensor = self.head(self.mix(x, x, x, need_weights=False)[0].mean(1))
        return out


@pytest.mark.parametrize("make", [smooth_net, Attention])
def test_eigenvalues_are_those_of_the_explicit_hessian(make: Any) -> None:
    torch.manual_seed(0)
    model, batches = make(), classes(3, 16)
    subject = subject_of(model, batches, nn.CrossEntropyLoss())
    hessian = Hessian(subject, subject.steps)
    assert hessian.exact
    found = spectrum(hessian.__matmul__, hessian.gradient, Deadline(20))
    values = torch.linalg.eigvalsh(explicit(model, batches, F.cross_entropy))
    assert found.largest == pytest.approx(float(values[-1]), rel=0.01)
    assert found.smallest == pytest.approx(float(values[0]), rel=0.01, abs=0.01 * float(values[-1]))
    assert found.settled


def test_differences_of_gradients_agree_too() -> None:
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x.tanh()

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, slope: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return slope * (1 - x.tanh() ** 2)

    class Odd(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = Once.apply(x)
            return out

    model, batches = smooth_net(), classes(2, 32)
    subject = subject_of(nn.Sequential(model[0], Odd(), model[2]), batches, nn.CrossEntropyLoss())
    reading = read(subject)
    assert "differences of gradients" in str(reading.tables[0].rows[0])
    values = torch.linalg.eigvalsh(explicit(model, batches, F.cross_entropy))
    assert reading.values["sharpness"] == pytest.approx(float(values[-1]), rel=0.02)


def test_direction_and_saddle() -> None:
    """x² - y²: curvatures 2 and -2, along the gradient (2x, -2y) at (1, 2): (8 - 32) / (4 + 16)."""
    model = nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0, 2.0]]))

    def loss(model: nn.Linear, batch: Any) -> torch.Tensor:
        return model.weight[0, 0] ** 2 - model.weight[0, 1] ** 2 + 0 * model(batch[0]).sum()

    rows = {row[0]: row[1] for row in read(subject_of(model, [(torch.ones(4, 2),)] * 2, loss)).tables[0].rows}
    assert rows["largest eigenvalue"] == pytest.approx(2.0, rel=1e-4)
    assert rows["smallest eigenvalue"] == pytest.approx(-2.0, rel=1e-4)
    assert rows["curvature along the gradient"] == pytest.approx(-24 / 20, rel=1e-4)


@pytest.mark.parametrize(("size", "exact"), [(8, True), (32, False)])
def test_noise_scale_is_that_of_single_samples(size: int, exact: bool) -> None:
    model, batches = smooth_net(), classes(8, size)
    batches = [(x, (x[:, 0] > 0).long()) for x, _ in batches]
    found = noise_scale(subject_of(model, batches, nn.CrossEntropyLoss()), Deadline(20))
    singles = []
    for x, y in batches:
        for i in range(size):
            gradient = torch.autograd.grad(F.cross_entropy(model(x[i : i + 1]), y[i : i + 1]), list(model.parameters()))
            singles.append(torch.cat([g.flatten() for g in gradient]).double())
    whole = torch.stack(singles)
    variance = float(whole.var(0, unbiased=True).sum())
    signal = float(whole.mean(0).square().sum()) - variance / len(whole)
    assert found is not None
    assert found.samples_each == size // 8
    assert found.variance == pytest.approx(variance, rel=1e-4 if exact else 0.25)
    assert found.size == pytest.approx(variance / signal, rel=1e-3 if exact else 0.35)
    assert found.low < variance / signal < found.high


def test_batch_norm_is_not_cut() -> None:
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    found = noise_scale(subject_of(model, classes(6, 16), nn.CrossEntropyLoss()), Deadline(20))
    assert found is not None
    assert found.samples_each == 16


OPTIMISERS = {
    "sgd": lambda p, lr: torch.optim.SGD(p, lr=lr),
    "momentum": lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9),
    "nesterov": lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9, nesterov=True),
    "rmsprop": lambda p, lr: torch.optim.RMSprop(p, lr=lr, eps=1.0),
    "adam": lambda p, lr: torch.optim.Adam(p, lr=lr, eps=1.0),
}


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize(("share", "breaks"), [(0.95, False), (1.05, True)])
def test_the_limit_is_where_training_breaks(name: str, share: float, breaks: bool) -> None:
    """On a parabola the rate at the limit separates shrinking from growing. A large eps makes adaptive steps
    constant, so that the limit is sharp for them as well."""
    weight = nn.Linear(1, 1, bias=False).double()

    def parabola(model: nn.Linear, batch: Any) -> torch.Tensor:
        return 1.5e-40 * model.weight.square().sum() + 0 * model(batch[0]).sum()

    optimizer = OPTIMISERS[name](weight.parameters(), 1.0)
    subject = subject_of(weight, [(torch.ones(1, 1).double(),)], parabola, optimizer)
    hessian = Hessian(subject, subject.steps)
    stability = stability_of(subject, hessian.tensors)
    assert stability is not None
    per_rate = float((stability.scales * (hessian @ stability.scales)).sum())
    optimizer.param_groups[0]["lr"] = share * stability.limit / per_rate
    with torch.no_grad():
        weight.weight.fill_(1.0)
    sizes = []
    for _ in range(60):
        subject.update(0, optimizer)
        sizes.append(abs(float(weight.weight.detach())))
    assert (max(sizes[50:]) > max(sizes[25:35])) is breaks


def test_a_rate_far_beyond_the_limit_is_a_fact_and_a_normal_one_is_not() -> None:
    batches = classes(4, 32)
    for lr, expected in ((0.1, False), (1000.0, True)):
        model = smooth_net()
        reading = read(subject_of(model, batches, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr)))
        assert [fact.id for fact in stated(reading) if fact.present] == (["lr-above-stable"] if expected else [])
    assert len(reading.charts[0].lines) == 2


def test_unknown_optimisers_and_broken_losses_are_said() -> None:
    model = smooth_net()
    rprop = read(subject_of(model, classes(2, 8), nn.CrossEntropyLoss(), torch.optim.Rprop(model.parameters())))
    assert any("Rprop" in text for text in rprop.unknown)
    with torch.no_grad():
        model[0].weight.fill_(math.nan)
    assert read(subject_of(model, classes(2, 8), nn.CrossEntropyLoss())).unknown


def test_adam_is_judged_by_its_own_scales() -> None:
    """The limit does not move when the loss is multiplied: Adam's steps do not either."""
    found = []
    for factor in (1.0, 1e4):
        model = smooth_net()
        adam = torch.optim.Adam(model.parameters(), 1e-3)

        def loss(output: torch.Tensor, target: torch.Tensor, factor: float = factor) -> torch.Tensor:
            return factor * F.cross_entropy(output, target)

        subject = subject_of(model, classes(4, 32), loss, adam)
        for step in subject.steps:
            subject.update(step, adam)
        found.append({row[0]: row[1] for row in read(subject).tables[0].rows})
    assert found[1]["largest eigenvalue"] > 1e3 * found[0]["largest eigenvalue"]
    assert found[1]["learning rate × sharpness"] == pytest.approx(found[0]["learning rate × sharpness"], rel=0.02)


def test_flattened_targets_are_cut_with_their_samples() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(9, 6), nn.Linear(6, 9))
    batches = [(torch.randint(9, (8, 5)), torch.randint(9, (8, 5))) for _ in range(2)]

    def loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(output.flatten(0, 1), target.flatten())

    found = noise_scale(subject_of(model, batches, loss), Deadline(20))
    assert found is not None
    assert (found.gradients, found.samples_each) == (16, 1)
