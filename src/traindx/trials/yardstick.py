"""Measures a training by something that stays comparable when the loss itself is changed.

Classification is measured by the log loss of the probabilities that the outputs stand for and by the share of wrong
answers, regression by the squared error over the variance of the targets, both per sample. A sum instead of a mean, a
softmax too many or targets on another scale change none of these meanings. Where no loss function of torch is called,
the loss itself is all there is."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_every_step
from traindx.live.measures.nodes import ending
from traindx.trials.treatment import Treatment

FILE = "yardstick.json"
CLASSES = ("cross_entropy", "nll_loss")
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
DISTANCES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
LEAST_PROBABILITY = 1e-7
SEVERAL = 1.5  # sum of a row of targets, which is 1 where a sample has one label
FETCH = 256  # measurements that wait on the device before they are fetched together
BROKEN_STEPS = 25  # updates with a loss that is not finite, after which a training is not going to recover
WINDOW = 25  # steps between two looks at how an arm does
LATE = 5  # looks before one may be given up
HOPELESS = 3.0  # times the error of the unchanged script
AROUND = 3  # places of its course up to the same step, of which the worst counts: small errors scatter
AGAIN = 2  # looks in a row
Reference = tuple[str, list[tuple[int, float]]]  # what is measured, and the unchanged script's errors by step
LEAST_TIMED = 10  # steps
MOST_COUNTED = 100  # classes whose recall is measured


class Yardstick(Observer):
    """Records into a file of its own: the diagnosis must see what the script shows, not what we add."""

    def __init__(
        self, hub: Hub, folder: Path, treatments: Iterable[Treatment] = (), seconds: float | None = None,
        reference: Reference | None = None, aligned: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(hub)
        self._folder = folder
        self._treatments = list(treatments)
        self._seconds = seconds
        self._began = 0.0
        self._updates: list[float] = []  # when each was done
        self._rows: dict[str, list[tuple[int, torch.Tensor]]] = {}  # by split and kind: step, [error, wrong, samples]
        self._recorded: dict[str, list[list[float]]] = {}
        self._probabilities: dict[str, bool] = {}  # of a loss function: it is given probabilities, whatever it wants
        self._several: dict[str, bool] = {}  # of a loss function: samples have more than one label
        self._targets: list[torch.Tensor] = []  # [count, sum, sum of squares]
        self._counts: dict[str, torch.Tensor] = {}
        self._broken = 0
        self._stopped = "end"
        self._reference = reference
        self._aligned = aligned
        self._far = 0  # looks in a row at which the error was far above the unchanged script's
        self._recent: deque[torch.Tensor] = deque(maxlen=WINDOW)  # errors of the latest training batches

    def attach(self) -> None:
        """Every call counts, those too that the recorder lets pass: both arms must be measured on the same batches."""
        for name in (*CLASSES, *BINARY, *DISTANCES):
            self.hub.patch(torch.nn.functional, name, partial(self._around, name))

    def _around(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def criterion(*args: Any, **kwargs: Any) -> Any:
            output = original(*args, **kwargs)
            input = args[0] if args else kwargs.get("input")
            target = args[1] if len(args) > 1 else kwargs.get("target")
            tensors = all(isinstance(one, torch.Tensor) for one in (output, input, target))
            if tensors and not torch.compiler.is_compiling():
                self.hub.guard(self, self._take, Criterion(name, input, target, kwargs, output, ""))  # type: ignore[arg-type]
            return output

        return criterion

    def _take(self, call: Criterion) -> None:
        training = call.output.requires_grad
        if not training and not self.hub.step:
            return  # an evaluation before the first update says nothing of the training
        measured = self._measure(call, training)
        if measured is None:
            return
        kind, error, wrong, samples = measured
        row = torch.stack([error.detach().double(), wrong.detach().double(), error.new_tensor(samples).double()])
        self._put(f"{'train' if training else 'val'}/{kind}", row)
        if training and self._reference is not None and kind == self._reference[0]:
            self._recent.append(row[0])

    @on_every_step
    def on_backward(self, loss: torch.Tensor) -> None:
        self._began = self._began or time.perf_counter()
        if loss.numel() == 1:
            value = loss.detach().double().reshape(())
            self._put("train/loss", torch.stack([value, value * float("nan"), torch.ones_like(value)]))
            number = self.hub.number_of(loss)
            if number is not None and number.value is not None:
                self._broken = self._broken + 1 if not abs(number.value) < float("inf") else 0

    @on_every_step
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._updates.append(time.perf_counter())
        if self._broken >= BROKEN_STEPS:
            self._stop("broken")
        elif self._seconds is not None and time.perf_counter() - self._began > self._seconds:
            self._stop("time")
        elif self._reference is not None and self.hub.step and self.hub.step % WINDOW == 0 and self._is_hopeless():
            self._stop("hopeless")

    def _is_hopeless(self) -> bool:
        """Half way, and still far above the unchanged script at the same step."""
        if len(self._recent) < WINDOW or self._reference is None or not self._reference[1]:
            return False
        course = self._reference[1]
        there = [value for step, value in course if step <= self.hub.step]
        if not there or self.hub.step < max(LATE * WINDOW, course[-1][0] / 2):
            return False
        far = float(torch.stack(list(self._recent)).mean()) > HOPELESS * max(there[-AROUND:])
        self._far = self._far + 1 if far else 0
        return self._far >= AGAIN

    def _stop(self, reason: str) -> None:
        self._stopped = reason
        self.hub.stop_after = self.hub.step + 1

    def on_end(self) -> None:
        for name in list(self._rows):
            self._fetch(name)
        count, total, squares = (
            torch.stack(self._targets).sum(0).tolist() if self._targets else (0.0, 0.0, 0.0)
        )  # fmt: skip
        spread = squares / count - (total / count) ** 2 if count else 0.0
        document = {
            "series": self._recorded,
            "spread": spread,
            "recalls": {name: _recalls(counts) for name, counts in self._counts.items()},
            "acted": {str(one.setting): one.acted for one in self._treatments},
            "steps": self.hub.step,
            "seconds": time.perf_counter() - self._began if self._began else 0.0,
            "pace": _pace(self._updates),
            "aligned": self._aligned,
            "stopped": "steps" if self._stopped == "end" and self.hub.cut_short else self._stopped,
        }
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / FILE).write_text(json.dumps(document))

    # --- measuring ----------------------------------------------------------------------------------------------------

    def _put(self, name: str, row: torch.Tensor) -> None:
        rows = self._rows.setdefault(name, [])
        rows.append((self.hub.step, row))
        if len(rows) >= FETCH:
            self._fetch(name)

    def _fetch(self, name: str) -> None:
        rows = self._rows.pop(name)
        table = torch.stack([row for _, row in rows]).tolist()
        self._recorded.setdefault(name, []).extend([step, *row] for (step, _), row in zip(rows, table, strict=True))

    def _measure(self, call: Criterion, training: bool) -> tuple[str, torch.Tensor, torch.Tensor, int] | None:
        output, target = call.input.detach().float(), call.target.detach()
        if call.name in CLASSES and output.dim() >= 2:
            return self._classes(call, output, target, training)
        if call.name in BINARY and output.numel() == target.numel():
            return self._binary(call, output.reshape(-1), target.reshape(-1).float(), training)
        if call.name in DISTANCES and output.numel() == target.numel():
            return self._distance(output, target.float(), training)
        return None

    def _classes(
        self, call: Criterion, output: torch.Tensor, target: torch.Tensor, training: bool
    ) -> tuple[str, torch.Tensor, torch.Tensor, int] | None:
        if training:
            self._probabilities[call.name] = ending(call.input).kind == "Softmax"
        logs = output.clamp(min=LEAST_PROBABILITY).log() if self._probabilities.get(call.name) else output
        logs = torch.log_softmax(logs, 1).movedim(1, -1).reshape(-1, output.shape[1])
        if target.is_floating_point():
            if target.shape != output.shape:
                return None
            if self._has_several_labels(call.name, target):
                return self._binary(call, output.reshape(-1), target.reshape(-1).float(), training)
            shares = target.movedim(1, -1).reshape(-1, output.shape[1])
            truth = shares.argmax(1)
            losses = -(shares * logs).sum(1)
            counted = torch.ones_like(truth, dtype=torch.bool)
        else:
            truth = target.reshape(-1)
            counted = (truth != call.options.get("ignore_index", -100)) & (truth >= 0) & (truth < logs.shape[1])
            losses = -logs.gather(1, truth.clamp(0, logs.shape[1] - 1).unsqueeze(1)).squeeze(1)
        size = counted.sum().clamp(min=1)
        answers = logs.argmax(1)
        self._count(answers, truth.clamp(0, logs.shape[1] - 1), counted, logs.shape[1], training)
        wrong = ((answers != truth) & counted).sum() / size
        return "log loss", (losses * counted).sum() / size, wrong, len(truth)

    def _has_several_labels(self, name: str, target: torch.Tensor) -> bool:
        """Decided once, since it waits for the device: then each label is measured by itself, as after the repair."""
        if name not in self._several:
            self._several[name] = bool((target.float().sum(1) >= SEVERAL).any())
        return self._several[name]

    def _binary(
        self, call: Criterion, output: torch.Tensor, target: torch.Tensor, training: bool
    ) -> tuple[str, torch.Tensor, torch.Tensor, int]:
        if training:
            self._probabilities[call.name] = ending(call.input).kind in ("Sigmoid", "Softmax")
        given = call.name == "binary_cross_entropy" or self._probabilities.get(call.name, False)
        share = output if given else torch.sigmoid(output)
        share = share.clamp(LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        losses = -(target * share.log() + (1 - target) * (1 - share).log())
        answers, truth = (share > 0.5).long(), (target > 0.5).long()
        self._count(answers, truth, torch.ones_like(truth, dtype=torch.bool), 2, training)
        return "log loss", losses.mean(), (answers != truth).float().mean(), len(target)

    def _distance(
        self, output: torch.Tensor, target: torch.Tensor, training: bool
    ) -> tuple[str, torch.Tensor, torch.Tensor, int]:
        """The squared error; it is divided by the targets' variance when all of them are known. Shapes that would
        broadcast are measured as they were meant, sample by sample."""
        if training:
            wide = target.double()
            self._targets.append(torch.stack([wide.new_tensor(wide.numel()), wide.sum(), (wide * wide).sum()]))
            if len(self._targets) >= FETCH:
                self._targets = [torch.stack(self._targets).sum(0)]
        error = ((output.reshape(target.shape) - target) ** 2).mean()
        return "squared error", error, error * float("nan"), target.shape[0] if target.dim() else 1

    def _count(
        self, answers: torch.Tensor, truth: torch.Tensor, counted: torch.Tensor, classes: int, training: bool
    ) -> None:
        """Right answers and samples by class, for the recall of each; of the latest third of the training only, by
        halving."""
        if classes > MOST_COUNTED:
            return
        right = torch.zeros(classes, device=truth.device).index_add_(0, truth, ((answers == truth) & counted).float())
        there = torch.zeros(classes, device=truth.device).index_add_(0, truth, counted.float())
        name = "train" if training else "val"
        before = self._counts.get(name)
        now = torch.stack([right, there])
        self._counts[name] = now if before is None or before.shape != now.shape else before * FADE + now


def _pace(updates: list[float]) -> float | None:
    """Seconds a step in the second half: workers that start, caches that fill and kernels that are compiled cost a
    short trial more than the training it stands for."""
    late = updates[len(updates) // 2 :]
    return (late[-1] - late[0]) / (len(late) - 1) if len(late) >= LEAST_TIMED else None


FADE = 0.95  # of the counts so far: what is predicted now weighs most


def _recalls(counts: torch.Tensor) -> list[Any]:
    right, there = counts.tolist()
    return [hit / count if count else None for hit, count in zip(right, there, strict=True)]
