"""The zoo's tasks: data, network, loss and settings with which each learns well."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import data
import models
import numpy as np
import torch
from models import Shape
from setup import Setup, Unfit
from torch import nn
from torch.nn import functional as F

TEXT_LENGTH = 32


def _split(
    x: np.ndarray, y: np.ndarray, rng: np.random.Generator, most: int
) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    order = rng.permutation(len(x))[: int(most * 1.25)]
    left, right = torch.from_numpy(x[order].copy()), torch.from_numpy(y[order].copy())
    cut = int(len(order) * 0.8)
    return {"train": (left[:cut], right[:cut]), "val": (left[cut:], right[cut:])}


def accuracy(output: torch.Tensor, target: torch.Tensor) -> float:
    """Balanced over classes, 0 at chance."""
    guess = output.argmax(-1)
    found = [float((guess[target == label] == label).float().mean()) for label in target.unique()]
    chance = 1 / max(len(found), 2)
    return (float(np.mean(found)) - chance) / (1 - chance)


def binary_accuracy(output: torch.Tensor, target: torch.Tensor) -> float:
    guess = (output.reshape(target.shape) > 0).float()
    found = [float((guess[target == label] == label).float().mean()) for label in target.unique()]
    return 2 * float(np.mean(found)) - 1


def explained(output: torch.Tensor, target: torch.Tensor) -> float:
    """Share of the variance; below zero is worse than the mean."""
    output = output.reshape(target.shape)
    return float(1 - ((output - target) ** 2).mean() / target.var())


def _bits(output: torch.Tensor, target: torch.Tensor) -> float:
    """What letters are better foretold by than by their frequencies."""
    counts = torch.bincount(target.flatten(), minlength=output.shape[-1]).float() + 1
    entropy = float(-(counts / counts.sum() * (counts / counts.sum()).log()).sum())
    return 1 - float(F.cross_entropy(output.flatten(0, 1), target.flatten())) / entropy


def _order(output: torch.Tensor, target: torch.Tensor) -> float:
    return 2 * float((output > 0).float().mean()) - 1


def _letters_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(output.flatten(0, 1), target.flatten())


def _regression_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.mse_loss(output, target)


def _ranking_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return -F.logsigmoid(output).mean()


def _rates(adam: float, sgd: float | None = None, momentum: float | None = None) -> dict[str, float]:
    """Rates at which the task learns well, for the optimisers with which it does at all."""
    rates = {"adam": adam, "adamw": adam}
    rates |= {"sgd": sgd, "momentum": sgd / 5} if sgd is not None else {}
    return rates | ({"momentum": momentum} if momentum is not None else {})


def _setup(rates: dict[str, float], optimizer: str, **known: object) -> Setup:
    if optimizer not in rates:
        raise Unfit
    return Setup(optimizer=optimizer, lr=rates[optimizer], **known)  # type: ignore[arg-type]


def digits_mlp(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    return _setup(
        _rates(2e-3, 0.2), optimizer, task="digits-mlp", kind="classes", seed=seed, classes=10,
        loss=nn.CrossEntropyLoss(),
        score=accuracy, model=partial(models.mlp, 64, 10), **_split(*data.digits(), rng, 1200),
    )  # fmt: skip


def digits_cnn(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    x, y = data.digits()
    return _setup(
        _rates(3e-3, 0.3), optimizer, task="digits-cnn", kind="classes", seed=seed, classes=10, loss=F.cross_entropy,
        score=accuracy, model=partial(models.cnn, 8, 10), shape=Shape(width=8), epochs=10,
        **_split(x.reshape(-1, 1, 8, 8), y, rng, 1000),
    )  # fmt: skip


def fashion_bn(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    return _setup(
        _rates(2e-3, 0.1), optimizer, task="fashion-bn", kind="classes", seed=seed, classes=10,
        loss=nn.CrossEntropyLoss(),
        score=accuracy, model=partial(models.cnn, 14, 10), shape=Shape(width=8, norm=True, dropout=0.2), epochs=8,
        **_split(*data.fashion(rng), rng, 1200),
    )  # fmt: skip


def digits_lstm(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    x, y = data.digits()
    return _setup(
        _rates(5e-3, 0.5), optimizer, task="digits-lstm", kind="classes", seed=seed, classes=10,
        loss=nn.CrossEntropyLoss(),
        score=accuracy, model=partial(models.rnn, "LSTM", 8, 10), shape=Shape(width=48, depth=1), epochs=12, clip=5.0,
        **_split(x.reshape(-1, 8, 8), y, rng, 1200),
    )  # fmt: skip


def digits_rnn(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    x, y = data.digits()
    return _setup(
        _rates(2e-3, 0.1), optimizer, task="digits-rnn", kind="classes", seed=seed, classes=10, loss=F.cross_entropy,
        score=accuracy, model=partial(models.rnn, "RNN", 8, 10), shape=Shape(width=48, depth=1), epochs=12,
        **_split(x.reshape(-1, 8, 8), y, rng, 1000),
    )  # fmt: skip


def text_lm(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    codes, _ = data.windows(rng, 1800, TEXT_LENGTH + 1)
    return _setup(
        _rates(3e-3, momentum=0.1), optimizer, task="text-lm", kind="text", seed=seed, classes=data.LETTERS,
        loss=_letters_loss,
        score=_bits, model=partial(models.transformer, data.LETTERS, TEXT_LENGTH, data.LETTERS, pooled=False),
        shape=Shape(width=32, depth=2, activation="gelu"), epochs=6, **_split(codes[:, :-1], codes[:, 1:], rng, 1400),
    )  # fmt: skip


def text_classes(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    codes, labels = data.marked(rng, 2000, TEXT_LENGTH)
    return _setup(
        _rates(3e-3), optimizer, task="text-classes", kind="classes", seed=seed, classes=len(data.MARKS),
        loss=nn.CrossEntropyLoss(), score=accuracy, epochs=8,
        model=partial(models.transformer, data.LETTERS, TEXT_LENGTH, len(data.MARKS), pooled=True),
        shape=Shape(width=32, depth=1, activation="gelu", causal=False, dropout=0.1),
        **_split(codes, labels, rng, 1600),
    )  # fmt: skip


def digits_copy(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    x, _ = data.digits()
    x = data.standardised(x)[:, x.std(0) > 0.05]
    return _setup(
        _rates(3e-3, 0.7), optimizer, task="digits-copy", kind="copy", seed=seed, classes=0, loss=nn.MSELoss(),
        score=explained,
        model=partial(models.mlp, x.shape[1], x.shape[1]), shape=Shape(width=32, depth=2), epochs=15,
        **_split(x, x.copy(), rng, 1200),
    )  # fmt: skip


def diabetes(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    x, y = data.diabetes()
    return _setup(
        _rates(1e-3, 0.02), optimizer, task="diabetes", kind="regression", seed=seed, classes=0, loss=_regression_loss,
        score=explained, model=partial(models.mlp, 10, 1), shape=Shape(width=16, depth=1), epochs=25, batch=16,
        weight_decay=1e-2, **_split(x, y[:, None], rng, 350),
    )  # fmt: skip


def friedman(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    x, y = data.friedman(rng)
    return _setup(
        _rates(3e-3, 0.1), optimizer, task="friedman", kind="regression", seed=seed, classes=0, loss=nn.MSELoss(),
        score=explained, model=partial(models.mlp, 10, 1), shape=Shape(width=48, depth=2, activation="tanh"), epochs=15,
        **_split(x, y[:, None], rng, 960),
    )  # fmt: skip


def cancer(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    x, y = data.cancer()
    return _setup(
        _rates(1e-3, 0.05), optimizer, task="cancer", kind="binary", seed=seed, classes=2, loss=nn.BCEWithLogitsLoss(),
        score=binary_accuracy, model=partial(models.mlp, 30, 1), shape=Shape(width=24, depth=2, dropout=0.1), batch=16,
        epochs=12, **_split(x, y.astype(np.float32)[:, None], rng, 450),
    )  # fmt: skip


def rings(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    x, y = data.rings(rng)
    return _setup(
        _rates(3e-3, 0.2), optimizer, task="rings", kind="classes", seed=seed, classes=2, loss=nn.CrossEntropyLoss(),
        score=accuracy, model=partial(models.mlp, 2, 2), shape=Shape(width=32, depth=3), epochs=15,
        **_split(x, y, rng, 800),
    )  # fmt: skip


def wine(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    return _setup(
        _rates(3e-3, 0.1), optimizer, task="wine", kind="classes", seed=seed, classes=3, loss=F.cross_entropy,
        score=accuracy,
        model=partial(models.mlp, 13, 3), shape=Shape(width=24, depth=1, norm=True), batch=8, epochs=20,
        **_split(*data.wine(), rng, 142),
    )  # fmt: skip


def digits_labels(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    """Even, above four, prime, round: four yes-or-no questions about one digit."""
    x, y = data.digits()
    asked = np.stack([y % 2 == 0, y > 4, np.isin(y, (2, 3, 5, 7)), np.isin(y, (0, 6, 8, 9))], 1).astype(np.float32)
    return _setup(
        _rates(2e-3, 0.5), optimizer, task="digits-labels", kind="labels", seed=seed, classes=2,
        loss=nn.BCEWithLogitsLoss(), score=binary_accuracy, model=partial(models.mlp, 64, 4),
        **_split(x, asked, rng, 1200),
    )  # fmt: skip


def tastes(rng: np.random.Generator, optimizer: str, seed: int) -> Setup:
    triples = data.tastes(rng)
    return _setup(
        _rates(1e-2), optimizer, task="tastes", kind="ranking", seed=seed, classes=0, loss=_ranking_loss, score=_order,
        model=partial(models.ranking, 60, 40), shape=Shape(width=4, depth=1), epochs=10,
        **_split(triples, np.ones(len(triples), dtype=np.float32), rng, 3000),
    )  # fmt: skip


TASKS: dict[str, Callable[[np.random.Generator, str, int], Setup]] = {
    "digits-mlp": digits_mlp, "digits-cnn": digits_cnn, "fashion-bn": fashion_bn, "digits-lstm": digits_lstm,
    "digits-rnn": digits_rnn, "text-lm": text_lm, "text-classes": text_classes, "digits-copy": digits_copy,
    "diabetes": diabetes, "friedman": friedman, "cancer": cancer, "rings": rings, "wine": wine,
    "digits-labels": digits_labels, "tastes": tastes,
}  # fmt: skip
OPTIMIZERS = ("sgd", "momentum", "adam", "adamw")
