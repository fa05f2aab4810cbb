"""What a script trains is captured by watching it, and its loss can be computed again, exactly."""

from __future__ import annotations

import copy
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from probing import captured  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from traindx.errors import TraindxError  # noqa: E402
from traindx.probes.capture import STEPS  # noqa: E402
from traindx.probes.given import subject_of  # noqa: E402
from traindx.probes.kinds import probes  # noqa: E402
from traindx.probes.runner import run_probe  # noqa: E402

Losses = list[float]


def mlp(*between: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), *between, nn.ReLU(), nn.Linear(16, 3))


def batches(count: int = STEPS) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(3)
    for _ in range(count):
        yield torch.randn(20, 6, generator=generator), torch.randint(3, (20,), generator=generator)


def supervised(
    model: nn.Module, losses: Losses, compute: Callable[..., torch.Tensor] | None = None, count: int = STEPS
) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for x, y in batches(count):
        optimizer.zero_grad()
        loss = compute(model, x, y) if compute is not None else F.cross_entropy(model(x), y)
        loss.backward()
        losses.append(loss.item())
        optimizer.step()


class TwoHeads(nn.Module):
    """Several inputs, several outputs in a mapping, one shared layer."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Linear(6, 6)
        self.one, self.two = nn.Linear(6, 3), nn.Linear(6, 1)

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> dict[str, torch.Tensor]:
        hidden = self.shared(self.shared(x).tanh()) * scale
        return {"classes": self.one(hidden), "size": self.two(hidden)}


class Variational(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(6, 4), nn.Linear(2, 6)


def two_heads_loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    output = model(x, scale=torch.ones(6) * 2)
    return F.cross_entropy(output["classes"], y) + 0.1 * output["size"].squeeze(1).square().mean()


def variational_loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Layers are called from outside, with random numbers between them."""
    mean, log = model.encoder(x).chunk(2, dim=1)
    code = mean + torch.randn_like(mean) * (0.5 * log).exp()
    return F.mse_loss(model.decoder(code), x) - 0.5 * (1 + log - mean.pow(2) - log.exp()).mean()


def penalised_loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """A gradient penalty: the loss holds a gradient."""
    point = (x * torch.rand(len(x), 1)).requires_grad_()
    slope = torch.autograd.grad(model(point).sum(), point, create_graph=True)[0]
    return F.cross_entropy(model(x), y) + (slope.norm(dim=1) - 1).square().mean()


def filled_loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Outputs are written into a tensor that was there before."""
    scores = torch.zeros(len(x), 3)
    scores[:10] = model(x[:10])
    scores[10:] += model(x[10:])
    scores.mul_(2.0)
    return F.cross_entropy(scores, y)


def autocast_loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        scores = model(x) @ torch.eye(3)
    return F.cross_entropy(scores.float(), y)


def recurrent() -> nn.Module:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.head = nn.LSTM(2, 8, batch_first=True), nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.rnn(x.view(len(x), 3, 2))[0][:, -1])

    return Net()


@pytest.mark.parametrize(
    ("make", "compute"),
    [
        (lambda: mlp(nn.Dropout(0.5)), None),
        (lambda: mlp(nn.BatchNorm1d(16)), None),
        (
            lambda: mlp(),
            lambda model, x, y: (
                nn.CrossEntropyLoss(label_smoothing=0.1)(model(x), y)
                + 1e-3 * sum(p.square().sum() for p in model.parameters())
            ),
        ),
        (TwoHeads, two_heads_loss),
        (Variational, variational_loss),
        (lambda: mlp(), penalised_loss),
        (lambda: mlp(), filled_loss),
        (lambda: mlp(), autocast_loss),
        (recurrent, None),
        (lambda: nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(6, 3))), None),
        (lambda: torch.compile(mlp(), backend="eager"), None),
    ],
    ids=[
        "dropout",
        "batchnorm",
        "penalty",
        "two-heads",
        "vae",
        "gradient-penalty",
        "in-place",
        "autocast",
        "lstm",
        "spectral-norm",
        "compiled",
    ],
)
def test_losses_are_replayed_exactly(
    make: Callable[[], nn.Module], compute: Callable[..., torch.Tensor] | None, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    model, losses = make(), Losses()
    start = copy.deepcopy(dict(model.named_parameters()))
    (subject,) = captured(lambda: supervised(model, losses, compute), tmp_path)
    assert subject.notes == ()
    assert len(subject.steps) == STEPS
    with subject.undisturbed():
        assert subject.loss(0).item() == pytest.approx(losses[0], rel=1e-6)
        trained = subject.parameters()
        assert len(trained) == len(start)
        for name, value in start.items():
            assert torch.equal(trained[name.replace("_orig_mod.", "")].detach(), value.detach())


def test_the_gradient_is_that_of_the_script(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = mlp(nn.Dropout(0.3))
    reference = copy.deepcopy(model)
    (subject,) = captured(lambda: supervised(model, []), tmp_path)
    x, y = next(batches())
    with subject.undisturbed():
        found = subject.gradients(0)
    with subject.undisturbed():
        subject.steps[0].parts[0].run(None, True)  # puts the random numbers where the script had them
        torch.set_rng_state(next(iter(subject.steps[0].parts[0].nodes.values())).setting.host)
        F.cross_entropy(reference(x), y).backward()
    for name, parameter in reference.named_parameters():
        assert torch.equal(found[name], parameter.grad)


def test_accumulated_gradients_make_one_step_of_several_parts(tmp_path: Path) -> None:
    model = mlp()

    def train() -> None:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for number, (x, y) in enumerate(batches(3 * STEPS)):
            (F.cross_entropy(model(x), y) / 3).backward()
            if number % 3 == 2:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()

    (subject,) = captured(train, tmp_path)
    assert {len(step.parts) for step in subject.steps} == {3}
    assert subject.steps[0].size == 60
    assert subject.clip is not None
    assert subject.clip.limit == 1.0
    with subject.undisturbed():
        whole = torch.stack([F.cross_entropy(model(x), y) for x, y in list(batches(3))]).mean()
        assert subject.loss(0).item() == pytest.approx(whole.item(), rel=1e-6)


def test_each_optimiser_of_an_adversarial_pair_is_a_subject(tmp_path: Path) -> None:
    torch.manual_seed(0)
    maker, judge = nn.Linear(2, 6), nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(), nn.Linear(8, 1))
    seen: Losses = []

    def train() -> None:
        one, two = torch.optim.Adam(judge.parameters(), 1e-3), torch.optim.Adam(maker.parameters(), 1e-3)
        for x, _ in batches():
            one.zero_grad()
            fake = maker(torch.randn(20, 2))
            real_loss = F.softplus(-judge(x)).mean()
            fake_loss = F.softplus(judge(fake.detach())).mean()
            real_loss.backward()
            fake_loss.backward()
            seen.append(real_loss.item() + fake_loss.item())
            one.step()
            two.zero_grad()
            loss = F.softplus(-judge(fake)).mean()
            loss.backward()
            seen.append(loss.item())
            two.step()

    first, second = captured(train, tmp_path)
    assert first.partial
    assert second.partial
    assert len(first.steps[0].parts) == 2
    assert set(second.parameters()) == {"weight", "bias"}
    with first.undisturbed():
        assert first.loss(0).item() == pytest.approx(seen[0], rel=1e-6)


def test_tensors_without_a_module_are_trained_too(tmp_path: Path) -> None:
    weight = torch.zeros(6, 3, requires_grad=True)
    losses: Losses = []

    def train() -> None:
        optimizer = torch.optim.SGD([weight], lr=0.1)
        for x, y in batches():
            loss = F.cross_entropy(x @ weight, y)
            optimizer.zero_grad()
            loss.backward()
            losses.append(loss.item())
            optimizer.step()

    (subject,) = captured(train, tmp_path)
    assert list(subject.parameters()) == ["tensor0"]
    x, y = next(batches())
    with subject.undisturbed():
        assert subject.loss(0).item() == losses[0]
        expected = x.T @ (torch.full((20, 3), 1 / 3) - F.one_hot(y, 3)) / 20
        assert torch.allclose(subject.gradients(0)["tensor0"], expected, atol=1e-6)


def test_a_closure_gives_its_first_evaluation(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, losses = mlp(), Losses()

    def train() -> None:
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
        for x, y in batches():

            def closure(x: torch.Tensor = x, y: torch.Tensor = y) -> torch.Tensor:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                losses.append(loss.item())
                return loss

            optimizer.step(closure)

    (subject,) = captured(train, tmp_path)
    assert {len(step.parts) for step in subject.steps} == {1}
    x, _y = next(batches())
    assert [float(value) for value in subject.steps[0].data[0][0]] == [float(value) for value in x[0]]


def test_the_scaler_of_half_precision_is_taken_out(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, losses = mlp(), Losses()

    def train() -> None:
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in batches():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            losses.append(loss.item())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

    (subject,) = captured(train, tmp_path)
    with subject.undisturbed():
        assert subject.loss(0).item() == pytest.approx(losses[0], rel=1e-6)


@pytest.fixture
def one_rank() -> Iterator[None]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    torch.distributed.init_process_group("gloo", init_method=address, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("one_rank")
def test_a_wrapped_model_is_replayed_without_its_wrapper(tmp_path: Path) -> None:
    losses: Losses = []
    model = nn.parallel.DistributedDataParallel(mlp(nn.BatchNorm1d(16)))
    (subject,) = captured(lambda: supervised(model, losses), tmp_path)
    assert next(iter(subject.parameters())) == "0.weight"
    with subject.undisturbed():
        assert subject.loss(0).item() == pytest.approx(losses[0], rel=1e-6)


@pytest.mark.usefixtures("one_rank")
def test_a_sharded_model_is_refused_with_the_reason(tmp_path: Path) -> None:
    losses: Losses = []
    model = fully_shard(mlp())
    (subject,) = captured(lambda: supervised(model, losses), tmp_path)
    assert len(losses) == STEPS
    reading = run_probe(subject, probes()["gradients"], 5.0)
    assert reading.facts == ()
    assert "sharded over ranks" in reading.summary
    with pytest.raises(TraindxError, match="sharded over ranks"):
        subject_of(model, next(batches()), F.cross_entropy)


def test_a_later_step_is_captured_as_it_is_then(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, losses = mlp(), Losses()
    (subject,) = captured(lambda: supervised(model, losses, count=5 + STEPS), tmp_path, at_step=5)
    assert subject.step == 5
    with subject.undisturbed():
        assert subject.loss(0).item() == pytest.approx(losses[5], rel=1e-6)


def test_what_cannot_be_replayed_is_said(tmp_path: Path) -> None:
    class Counting(nn.Module):
        """A model that answers differently every time it is called."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 3)
            self.calls = [0]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls[0] += 1
            return self.layer(x) * self.calls[0]

    (subject,) = captured(lambda: supervised(Counting(), []), tmp_path)
    assert subject.steps == ()
    assert "computed again, the loss is" in subject.notes[0]
    reading = run_probe(subject, probes()["gradients"], 5.0)
    assert reading.facts == ()
    assert "could be computed again" in reading.unknown[0]


def test_the_training_is_the_same_with_and_without(tmp_path: Path) -> None:
    def run(watch: bool) -> tuple[Losses, dict[str, torch.Tensor], torch.Tensor]:
        torch.manual_seed(0)
        model, losses = mlp(nn.BatchNorm1d(16), nn.Dropout(0.4)), Losses()
        if watch:
            # the state goes back to the start of the watched steps when they are over, so the watch ends with the run
            captured(lambda: supervised(model, losses, count=7), tmp_path)
        else:
            supervised(model, losses, count=7)
        return losses, model.state_dict(), torch.get_rng_state()

    plain, watched = run(False), run(True)
    assert plain[0] == watched[0]
