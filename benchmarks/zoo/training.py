"""The training itself: an ordinary loop, as people write it, over one Setup. It keeps a log as a logger would."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from setup import Setup
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCH_NAMES = (("epoch", "train_loss", "val_loss", "lr"), ("epoch", "loss", "val_loss", "learning_rate"))
EPOCH_METRICS = {"val_accuracy": "val_acc", "accuracy": "train_acc", "grad_norm": "grad_norm"}
STEP_METRICS = {"val_accuracy": "val/accuracy", "accuracy": "train/accuracy", "grad_norm": "grad_norm"}
STEP_NAMES = (("step", "train/loss", "val/loss", "lr"), ("step", "loss", "eval_loss", "learning_rate"))


@dataclass
class Outcome:
    """How a training went, seen by an honest judge: its score on clean validation data, at the end and on the way."""

    score: float
    way: list[float] = field(default_factory=list)
    fit: float = 0.0  # the same on the training data
    updates: int = 0
    seconds: float = 0.0


class SlowSet(TensorDataset):
    """Samples that take their time."""

    def __init__(self, delay: float, *tensors: torch.Tensor) -> None:
        super().__init__(*tensors)
        self.delay = delay

    def __getitem__(self, index: int) -> tuple[torch.Tensor, ...]:
        time.sleep(self.delay)
        return super().__getitem__(index)


def make_optimizer(setup: Setup, model: nn.Module) -> torch.optim.Optimizer:
    parameters = setup.choose(model) if setup.choose else list(model.parameters())
    decay = setup.weight_decay
    if setup.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=setup.lr, weight_decay=decay)
    if setup.optimizer == "adamw":
        return torch.optim.AdamW(parameters, lr=setup.lr, weight_decay=decay)
    momentum = setup.momentum if setup.optimizer == "momentum" else 0.0
    return torch.optim.SGD(parameters, lr=setup.lr, momentum=momentum, weight_decay=decay)


def batches(setup: Setup, generator: torch.Generator) -> Any:
    inputs, targets = setup.train
    if setup.loader:
        data = SlowSet(setup.delay, inputs, targets) if setup.delay else TensorDataset(inputs, targets)
        return DataLoader(data, batch_size=setup.batch, shuffle=setup.shuffle, generator=generator)
    return _Slices(setup, generator)


@dataclass
class _Slices:
    setup: Setup
    generator: torch.Generator

    def __len__(self) -> int:
        return -(-self.setup.count // self.setup.batch)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        inputs, targets = self.setup.train
        order = (
            torch.randperm(len(inputs), generator=self.generator) if self.setup.shuffle else torch.arange(len(inputs))
        )
        for start in range(0, len(inputs), self.setup.batch):
            index = order[start : start + self.setup.batch]
            yield inputs[index], targets[index]


def fresh_model(setup: Setup) -> nn.Module:
    torch.manual_seed(setup.seed)
    model = setup.model(setup.shape)
    if setup.prepare:
        setup.prepare(model)
    return model.to(setup.precision) if setup.precision else model


def train(
    setup: Setup, folder: Path, *, model: nn.Module | None = None, watch: AbstractContextManager[object] | None = None
) -> Outcome:
    """Train and write metrics.csv (and hparams.yaml, where the log tells its settings) into the folder. `watch` is open
    while the training runs, and closed when the judge calls the model: what he does is not part of the user's
    training."""
    model = fresh_model(setup) if model is None else model
    with watch or nullcontext():
        outcome, states = train_loop(setup, folder, model)
    for state in states:
        model.load_state_dict(state)
        outcome.way.append(judged(setup, model, setup.val))
    outcome.score, outcome.fit = outcome.way[-1], judged(setup, model, setup.train)
    return outcome


def train_loop(setup: Setup, folder: Path, model: nn.Module) -> tuple[Outcome, list[dict[str, torch.Tensor]]]:
    """The training and the weights after each of its epochs."""
    optimizer = make_optimizer(setup, model)
    generator = torch.Generator().manual_seed(setup.seed)
    loader = batches(setup, generator)
    scheduler, per = setup.schedule(optimizer, len(loader), setup.epochs) if setup.schedule else (None, "")
    log = _Log(folder, setup)
    outcome, states = Outcome(0.0), []
    began = time.perf_counter()
    best, waited = float("inf"), 0
    for epoch in range(setup.epochs):
        if setup.rebuild == "epoch":
            optimizer = make_optimizer(setup, model)
        model.train(setup.train_mode)
        total = count = 0.0
        for number, (inputs, targets) in enumerate(loader):
            if setup.rebuild == "step":
                optimizer = make_optimizer(setup, model)
            if setup.clear and number % setup.accumulate == 0:
                optimizer.zero_grad()
            inputs = in_precision(setup, setup.feed(inputs) if setup.feed else inputs)
            output = model(inputs)
            loss = setup.loss(output, in_precision(setup, targets))
            (loss / setup.accumulate if setup.accumulate > 1 and setup.scaled else loss).backward()
            if number % setup.accumulate == setup.accumulate - 1:
                update(setup, model, optimizer, scheduler if per == "batch" else None)
                outcome.updates += 1
            value = loss.item()
            total, count = total + value, count + 1
            log.look(model, output, targets)
            log.step(outcome.updates, value, optimizer.param_groups[0]["lr"])
            if setup.steps is not None and outcome.updates >= setup.steps:
                break
        validation, hits = evaluate(setup, model)
        if scheduler is not None and per == "epoch":
            scheduler.step()
        log.epoch(epoch, outcome.updates, total / max(count, 1), validation, hits, optimizer.param_groups[0]["lr"])
        states.append({name: value.clone() for name, value in model.state_dict().items()})
        waited = 0 if validation < best else waited + 1
        best = min(best, validation)
        if (setup.patience is not None and waited > setup.patience) or (
            setup.steps is not None and outcome.updates >= setup.steps
        ):
            break
    log.close()
    outcome.seconds = time.perf_counter() - began
    return outcome, states


def in_precision(setup: Setup, tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(setup.precision) if setup.precision and tensor.is_floating_point() else tensor


def update(setup: Setup, model: nn.Module, optimizer: torch.optim.Optimizer, scheduler: Any) -> None:
    if setup.clip:
        torch.nn.utils.clip_grad_norm_(model.parameters(), setup.clip)
    optimizer.step()
    if scheduler is not None:
        scheduler.step()


@torch.no_grad()
def evaluate(setup: Setup, model: nn.Module) -> tuple[float, float]:
    """The loss, and the share of right answers where the log keeps it."""
    model.train(not setup.eval_mode)
    inputs, targets = setup.val
    feed = setup.feed_val or setup.feed
    losses, sizes, hits = [], [], []
    for start in range(0, len(inputs), 128):
        piece, wanted = inputs[start : start + 128], targets[start : start + 128]
        piece = in_precision(setup, feed(piece) if feed else piece)
        output = model(piece)
        losses.append(setup.loss(output, in_precision(setup, wanted)).item())
        sizes.append(len(piece))
        if "val_accuracy" in setup.log_metrics:
            hits.append(_hits(output, wanted))
    return _mean(losses, sizes), _mean(hits, sizes) if hits else 0.0


def _mean(values: list[float], sizes: list[int]) -> float:
    return sum(a * b for a, b in zip(values, sizes, strict=True)) / sum(sizes)


def _hits(output: torch.Tensor, target: torch.Tensor) -> float:
    """The share of right answers, as people count it: whatever shape a fault gave the output, the largest or positive
    one."""
    if output.dim() > target.dim():
        guess = output.argmax(-1) if output.shape[-1] > 1 else output.squeeze(-1) > 0
    else:
        guess = output > 0
    if guess.shape != target.shape:
        return 0.0
    return float((guess == target).float().mean())


@torch.no_grad()
def judged(setup: Setup, model: nn.Module, pair: tuple[torch.Tensor, torch.Tensor]) -> float:
    """The score in evaluation mode, on inputs fed as in training."""
    model.eval()
    inputs = pair[0][:400]
    feed = setup.judge_feed or setup.feed
    if feed:
        inputs = feed(inputs)
    if setup.precision and inputs.is_floating_point():
        inputs = inputs.to(setup.precision)
    output = model(inputs).float()
    try:
        score = setup.score(output, pair[1][:400])
    except (RuntimeError, IndexError):  # outputs of another shape than the task's
        return 0.0
    return max(min(score, 1.0), -1.0) if score == score else -1.0


class _Log:
    """metrics.csv as a logger would write it: a row an epoch, or one every few steps and one at each evaluation."""

    def __init__(self, folder: Path, setup: Setup) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.every, self.metrics = setup.log_every, setup.log_metrics
        names = STEP_NAMES if self.every else EPOCH_NAMES
        names_of_metrics = STEP_METRICS if self.every else EPOCH_METRICS
        self._file = (folder / "metrics.csv").open("w", newline="")
        self._csv = csv.writer(self._file)
        self._csv.writerow((*names[setup.seed % 2], *(names_of_metrics[name] for name in self.metrics)))
        self._held: list[float] = []
        self._seen: dict[str, list[float]] = {"accuracy": [], "grad_norm": []}
        if setup.told:
            settings = {"lr": setup.lr, "batch_size": setup.batch, "optimizer": type_name(setup.optimizer)}
            settings |= {"weight_decay": setup.weight_decay} if setup.weight_decay else {}
            settings |= {"momentum": setup.momentum} if setup.optimizer == "momentum" else {}
            settings |= {"dropout": setup.shape.dropout} if setup.shape.dropout else {}
            settings |= {"num_classes": setup.classes} if setup.classes > 2 else {}
            (folder / "hparams.yaml").write_text("".join(f"{k}: {json.dumps(v)}\n" for k, v in settings.items()))

    @torch.no_grad()
    def look(self, model: nn.Module, output: torch.Tensor, targets: torch.Tensor) -> None:
        """Take down what the log keeps beside the loss of a step."""
        if "accuracy" in self.metrics:
            self._seen["accuracy"].append(_hits(output, targets))
        if "grad_norm" in self.metrics:
            norms = [float(p.grad.norm()) for p in model.parameters() if p.grad is not None]
            self._seen["grad_norm"].append(sum(norm**2 for norm in norms) ** 0.5)

    def step(self, step: int, loss: float, lr: float) -> None:
        if not self.every:
            return
        self._held.append(loss)
        if len(self._held) >= self.every:
            self._csv.writerow([step, sum(self._held) / len(self._held), "", lr, *self._means({"val_accuracy": ""})])
            self._held.clear()

    def epoch(self, epoch: int, step: int, loss: float, validation: float, hits: float, lr: float) -> None:
        if self.every:
            row = [step, "", validation, "", *(hits if name == "val_accuracy" else "" for name in self.metrics)]
        else:
            row = [epoch, loss, validation, lr, *self._means({"val_accuracy": hits})]
        self._csv.writerow(row)

    def _means(self, known: dict[str, object]) -> list[object]:
        """The columns of the metrics; what was taken down since the last row is averaged."""
        row = [
            known[name] if name in known else sum(seen) / len(seen) if (seen := self._seen[name]) else ""
            for name in self.metrics
        ]
        for values in self._seen.values():
            values.clear()
        return row

    def close(self) -> None:
        self._file.close()


def type_name(optimizer: str) -> str:
    return {"sgd": "SGD", "momentum": "SGD", "adam": "Adam", "adamw": "AdamW"}[optimizer]
