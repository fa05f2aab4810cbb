"""One training as data: what the task gives, and everything a fault or a variant may change before it begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from models import Shape
from torch import nn

Pair = tuple[torch.Tensor, torch.Tensor]
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Unfit(Exception):
    """This fault or variant means nothing in this training."""


@dataclass
class Setup:
    task: str
    kind: str  # classes, binary, labels, regression, text, copy, ranking
    train: Pair
    val: Pair
    model: Callable[[Shape], nn.Module]
    loss: Loss
    score: Callable[[torch.Tensor, torch.Tensor], float]  # 0 for a constant predictor, 1 for a perfect one
    classes: int
    seed: int
    optimizer: str
    lr: float
    batch: int = 32
    epochs: int = 12
    shape: Shape = field(default_factory=Shape)
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: Callable[[torch.optim.Optimizer, int, int], tuple[Any, str]] | None = None  # scheduler, stepped per what
    shuffle: bool = True
    loader: bool = True  # a DataLoader; otherwise slices
    clip: float | None = None
    accumulate: int = 1
    scaled: bool = True  # the loss is divided by the number of accumulated batches
    clear: bool = True  # zero_grad is called
    rebuild: str = ""  # the optimiser is made anew every 'step' or 'epoch'
    train_mode: bool = True
    eval_mode: bool = True
    prepare: Callable[[nn.Module], None] | None = None  # weights, freezing
    choose: Callable[[nn.Module], list[nn.Parameter]] | None = None  # what the optimiser gets
    feed: Callable[[torch.Tensor], torch.Tensor] | None = None  # inputs on their way to the model
    feed_val: Callable[[torch.Tensor], torch.Tensor] | None = None
    precision: torch.dtype | None = None
    delay: float = 0.0  # seconds to load a sample
    patience: int | None = None  # evaluations without improvement until it stops
    pretrained: int = 0  # epochs trained before anybody looks
    steps: int | None = None  # at most so many updates
    log_every: int = 0  # steps between rows of the log; 0: a row an epoch
    told: bool = True  # the log comes with its settings
    log_metrics: tuple[str, ...] = ()  # what the log tells beside losses and rate: accuracies, gradient norm
    judge_feed: Callable[[torch.Tensor], torch.Tensor] | None = None  # how an honest evaluation feeds the model

    @property
    def count(self) -> int:
        return len(self.train[0])

    def keep(self, index: torch.Tensor) -> None:
        self.train = (self.train[0][index], self.train[1][index])
