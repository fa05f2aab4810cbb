"""Units, activation functions and initial weights: faults and their healthy twins."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from live_watch import batch, fit, mlp, present, watch
from traindx.live.instruments.activations import Activations
from traindx.live.instruments.initialisation import Initialisation
from traindx.measurements import ZerosLater

ALL = (Activations, Initialisation)


class Net(nn.Module):
    """Functional activations, as most scripts have them."""

    def __init__(self, act: Callable[[torch.Tensor], torch.Tensor] = F.relu) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 3)
        self.act = act

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.log_softmax(self.fc3(self.act(self.fc2(self.act(self.fc1(x))))), dim=1)


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.rnn, self.head = kind(2, 12, batch_first=True), nn.Linear(12, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.rnn(x.view(-1, 4, 2))[0][:, -1])


class Conv(nn.Module):
    def __init__(self, act: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.conv, self.norm, self.fc, self.out = (
            nn.Conv2d(1, 6, 3),
            nn.BatchNorm2d(6),
            nn.Linear(24, 8),
            nn.Linear(8, 3),
        )
        self.act = act

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.repeat(1, 8).view(-1, 1, 8, 8)
        x = F.max_pool2d(self.act(self.norm(self.conv(x))), 3)
        return self.out(self.act(self.fc(x.flatten(1))))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Linear(2, 16), nn.Linear(16, 3)
        self.blocks = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2, enable_nested_tensor=False
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.embed(x.view(-1, 4, 2))).mean(1))


def train(model: nn.Module, init: Callable[[nn.Linear], object] | None = None) -> None:
    if init is not None:
        for layer in model.modules():
            if isinstance(layer, nn.Linear):
                init(layer)
    fit(model, torch.optim.Adam(model.parameters()), steps=8)


def identity(x: torch.Tensor) -> torch.Tensor:
    return x


def faint(layer: nn.Linear) -> None:
    nn.init.normal_(layer.weight, std=0.058 / math.sqrt(layer.in_features))


def faint_cells() -> None:
    model = Recurrent(nn.LSTM)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(0.1)
    train(model)


class Lookup(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(9, 4), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.table((x > 0).sum(1)))


class Heads(nn.Module):
    """A bias for every head, as Keras' attention has them: matrices that begin at zero."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels = nn.ParameterList(torch.randn(size, 4, 4) / size**0.5 for size in (8, 16))
        self.key_bias, self.value_bias = (nn.Parameter(torch.zeros(4, 4)) for _ in range(2))
        self.head = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for kernel, bias in zip(self.kernels, (self.key_bias, self.value_bias), strict=True):
            x = torch.relu(torch.einsum("bi,ihd->bhd", x, kernel) + bias).flatten(1)
        return self.head(x)


def nothing() -> None:
    """Zeros behind zeros, and no hidden layer whose units could be compared."""
    model = Lookup()
    for weight in (model.table.weight, model.head.weight):
        nn.init.zeros_(weight)
    train(model)


def steep_cells(gain: float) -> None:
    """A matrix that multiplies the state of a sequence at every step."""
    model = Recurrent(nn.RNN)
    nn.init.orthogonal_(model.rnn.weight_hh_l0, gain=gain)
    train(model)


def zero_ends(layer: nn.Linear) -> None:
    if layer.out_features == 3:
        nn.init.zeros_(layer.weight)


def deep(std: float) -> nn.Module:
    layers = [layer for _ in range(5) for layer in (nn.Linear(16, 16), nn.ReLU())]
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), *layers, nn.Linear(16, 3))
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=std)
    return model


FAULTS = {
    "no activation": (lambda: train(Net(identity)), "no-nonlinearity"),
    "no activation in a CNN": (lambda: train(Conv(identity)), "no-nonlinearity"),
    "zeros": (lambda: train(mlp(), lambda layer: nn.init.zeros_(layer.weight)), "equal-initial-weights"),
    "ones": (lambda: train(mlp(), lambda layer: nn.init.constant_(layer.weight, 0.1)), "equal-initial-weights"),
    "std 3": (lambda: train(mlp(), lambda layer: nn.init.normal_(layer.weight, std=3.0)), "initial-weights-large"),
    "std 0.65 in six layers": (lambda: train(deep(0.65)), "initial-weights-large"),
    "std 1e-4": (lambda: train(mlp(), lambda layer: nn.init.normal_(layer.weight, std=1e-4)), "initial-weights-small"),
    "a signal that three layers let fade": (lambda: train(Net(), faint), "initial-weights-small"),
    "a signal that the cells of an LSTM let fade": (faint_cells, "initial-weights-small"),
    "nothing times nothing": (nothing, "equal-initial-weights"),
    "a state that grows at every step": (lambda: steep_cells(2.5), "initial-weights-large"),
}
TWINS = {
    "modules": lambda: train(mlp()),
    "functions": lambda: train(Net()),
    "tanh": lambda: train(Net(torch.tanh)),
    "gelu": lambda: train(mlp(act=nn.GELU)),
    "sigmoid": lambda: train(mlp(act=nn.Sigmoid)),
    "sigmoid on the output": lambda: train(mlp(nn.Sigmoid())),
    "logistic regression": lambda: train(nn.Linear(8, 3), lambda layer: nn.init.zeros_(layer.weight)),
    "last layer starts at zero": lambda: train(mlp(), zero_ends),
    "LSTM": lambda: train(Recurrent(nn.LSTM)),
    "RNN": lambda: train(Recurrent(nn.RNN)),
    "orthogonal RNN": lambda: steep_cells(1.0),
    "vectors that are looked up": lambda: train(Lookup()),
    "a head of zeros behind them": lambda: train(Lookup(), lambda layer: nn.init.zeros_(layer.weight)),
    "biases of several heads": lambda: train(Heads()),
    "CNN with batch norm": lambda: train(Conv(F.relu)),
    "transformer": lambda: train(Transformer()),
    "He": lambda: train(mlp(), lambda layer: nn.init.kaiming_normal_(layer.weight)),
    "small weights under norms": lambda: train(Transformer(), faint),
    "He in six layers": lambda: train(deep((2 / 16) ** 0.5)),
    "orthogonal": lambda: train(mlp(), lambda layer: nn.init.orthogonal_(layer.weight)),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_seen(name: str, tmp_path: Path) -> None:
    script, fact = FAULTS[name]
    assert present(watch(tmp_path, script, *ALL)) == {fact}


@pytest.mark.parametrize("name", TWINS)
def test_the_healthy_twin_shows_nothing(name: str, tmp_path: Path) -> None:
    assert not present(watch(tmp_path, TWINS[name], *ALL))


@pytest.mark.parametrize(("model", "layer"), [(Net, "fc1.relu"), (mlp, "0.relu")], ids=["functions", "modules"])
def test_dead_units_are_counted_by_layer(model: Callable[[], nn.Module], layer: str, tmp_path: Path) -> None:
    dead = watch(tmp_path, lambda: train(model(), lambda layer: nn.init.constant_(layer.bias, -9.0)), Activations)
    assert dead.series[f"dead/{layer}"].values[-1] == 1.0
    assert present(dead) == {"dead-units"}
    alive = watch(tmp_path / "alive", lambda: train(model()), Activations)
    assert alive.series[f"dead/{layer}"].values.max() < 0.3


def test_layers_that_start_saturated(tmp_path: Path) -> None:
    script = lambda: train(Net(torch.tanh), lambda layer: nn.init.normal_(layer.weight, std=4.0))  # noqa: E731
    run = watch(tmp_path, script, Activations)
    assert present(run) == {"saturated-units"}
    assert run.series["saturated/fc1.tanh"].values[0] > 0.6


def test_checkpointed_layers_are_not_unpacked(tmp_path: Path) -> None:
    calls = []

    class Checkpointed(Net):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = checkpoint(self.body, x, use_reentrant=False)
            return self.fc3(h)

        def body(self, x: torch.Tensor) -> torch.Tensor:
            calls.append(torch.is_grad_enabled())
            return self.act(self.fc2(self.act(self.fc1(x))))

    watch(tmp_path, lambda: train(Checkpointed()), *ALL)
    assert len(calls) == 2 * 8  # once forward, once recomputed by the training itself


def test_a_function_without_a_model(tmp_path: Path) -> None:
    def script() -> None:
        w = torch.randn(8, 3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(5):
            x, y = batch()
            optimizer.zero_grad()
            F.cross_entropy(x @ w, y).backward()
            optimizer.step()

    assert not present(watch(tmp_path, script, *ALL))


def test_a_compiled_model(tmp_path: Path) -> None:
    """The layers are hidden in one node: nothing is said of them, and nothing breaks."""
    run = watch(tmp_path, lambda: train(torch.compile(mlp(), backend="aot_eager")), *ALL)  # type: ignore[arg-type]
    assert not present(run)


class Gated(nn.Module):
    """Most matrices start with zeros, as in RWKV and other networks of residual branches."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.head = nn.Linear(8, 16), nn.Linear(16, 3)
        self.blocks = nn.ModuleList(nn.ModuleList(nn.Linear(16, 16) for _ in range(3)) for _ in range(2))
        for layer in self.blocks.modules():
            if isinstance(layer, nn.Linear):
                nn.init.zeros_(layer.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for key, value, out in self.blocks:  # the last of them counts as the last layer
            x = x + out(torch.sigmoid(key(x)) * torch.tanh(value(x) + x))
        return self.head(x)


def test_zeros_beside_random_matrices_are_judged_by_what_becomes_of_them(tmp_path: Path) -> None:
    run = watch(tmp_path, lambda: train(Gated()), *ALL)
    (later,) = run.measured[0].all(ZerosLater)
    assert (later.matrices, later.equal) == (5, 0)
    assert "equal-initial-weights" not in present(run)
