"""Small trainings of many kinds: data, model, optimiser and loss, each a second or so for a few hundred updates on one
core."""

from __future__ import annotations

import argparse as sample_of_text
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

SGD = torch.optim.SGD
MOMENTUM = partial(torch.optim.SGD, momentum=0.9)
ADAM = torch.optim.Adam
ADAMW = torch.optim.AdamW
Data = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Task:
    name: str
    data: Callable[[], Data]
    model: Callable[[], nn.Module]
    optimizer: Callable[..., torch.optim.Optimizer]
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    batch: int = 32

    def start(self, seed: int) -> tuple[nn.Module, DataLoader[Any]]:
        """The model and the loader as every method and every rate gets them."""
        torch.manual_seed(seed)
        model = self.model()
        order = torch.Generator().manual_seed(seed)
        return model, DataLoader(TensorDataset(*self.data()), self.batch, shuffle=True, drop_last=True, generator=order)


def digits() -> Data:
    found = load_digits()
    return torch.tensor(found.data / 16, dtype=torch.float32), torch.tensor(found.target)


def images() -> Data:
    x, y = digits()
    return x.reshape(-1, 1, 8, 8), y


def rebuilt() -> Data:
    x, _ = digits()
    return x, x


def tumours() -> Data:
    return _scaled(load_breast_cancer())


def sugar() -> Data:
    x, y = _scaled(load_diabetes())
    return x, (y - y.mean()) / y.std()


def text() -> Data:
    """Windows of 24 characters from a module of the standard library, and the same one character later."""
    source = inspect.getsource(sample_of_text)[:40_000].encode()
    codes = torch.tensor([min(byte, 127) for byte in source])
    windows = codes.unfold(0, 25, 12)
    return windows[:, :-1].contiguous(), windows[:, 1:].contiguous()


def pairs() -> Data:
    """A character and the next one."""
    x, y = text()
    return x.reshape(-1), y.reshape(-1)


def _scaled(found: Any) -> Data:
    x = torch.tensor(found.data, dtype=torch.float32)
    return (x - x.mean(0)) / x.std(0), torch.tensor(found.target, dtype=torch.float32)[:, None]


def mlp(
    inputs: int, outputs: int, hidden: int = 64, layers: int = 1, between: type[nn.Module] = nn.ReLU, drop: float = 0.0
) -> nn.Sequential:
    parts: list[nn.Module] = [nn.Linear(inputs, hidden), between()]
    for _ in range(layers - 1):
        parts += [nn.Linear(hidden, hidden), between()]
    return nn.Sequential(*parts, nn.Dropout(drop), nn.Linear(hidden, outputs))


def deep_tanh() -> nn.Module:
    model = mlp(64, 10, 48, 10, nn.Tanh)
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_normal_(layer.weight, nn.init.calculate_gain("tanh"))
    return model


def cnn(norm: bool) -> nn.Module:
    first, second = (nn.BatchNorm2d(8), nn.BatchNorm2d(16)) if norm else (nn.Identity(), nn.Identity())
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), first, nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), second,
        nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.gru, self.head = nn.Embedding(128, 16), nn.GRU(16, 48, batch_first=True), nn.Linear(48, 128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.head(self.gru(self.embed(x))[0])
        return out


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(128, 32), nn.Parameter(0.02 * torch.randn(24, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, 0.1, batch_first=True, norm_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(32, 128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        out: torch.Tensor = self.head(self.body(self.embed(x) + self.place, mask))
        return out


def next_character(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(output.flatten(0, 1), target.flatten())


def density(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """A Gaussian's negative log density of small targets: it falls far below zero."""
    mean, spread = output[:, :1], F.softplus(output[:, 1:]) + 1e-3
    return (spread.log() + 0.5 * ((0.05 * target - mean) / spread).square()).mean()


TASKS = (
    Task("digits MLP, SGD", digits, partial(mlp, 64, 10), SGD, F.cross_entropy),
    Task("digits MLP, dropout, batch 4, SGD", digits, partial(mlp, 64, 10, drop=0.5), SGD, F.cross_entropy, 4),
    Task("digits CNN, momentum", images, partial(cnn, False), MOMENTUM, F.cross_entropy),
    Task("digits CNN with BatchNorm, Adam", images, partial(cnn, True), ADAM, F.cross_entropy),
    Task("diabetes MLP, Adam", sugar, partial(mlp, 10, 1), ADAM, F.mse_loss),
    Task("diabetes, density (negative loss), Adam", sugar, partial(mlp, 10, 2), ADAM, density),
    Task("breast cancer MLP, SGD", tumours, partial(mlp, 30, 1), SGD, F.binary_cross_entropy_with_logits),
    Task("10 tanh layers, momentum", digits, deep_tanh, MOMENTUM, F.cross_entropy),
    Task("digits autoencoder, Adam", rebuilt, partial(mlp, 64, 64, 16), ADAM, F.mse_loss),
    Task("digits autoencoder, SGD", rebuilt, partial(mlp, 64, 64, 16), SGD, F.mse_loss),
    Task(
        "characters, embedding, SGD",
        pairs,
        lambda: nn.Sequential(nn.Embedding(128, 32), nn.Linear(32, 128)),
        SGD,
        F.cross_entropy,
        64,
    ),
    Task("characters, GRU, Adam", text, Recurrent, ADAM, next_character),
    Task("characters, transformer, AdamW", text, Transformer, ADAMW, next_character),
)
