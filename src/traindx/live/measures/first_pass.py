"""Measures what a model makes of samples it has not met before: the losses of the first pass over the data, beside
those of the end.

Labels that follow from the inputs are learnt from some samples for all others, so that the loss of new samples falls
as well. Labels that do not can only be memorised: new samples stay at chance, and the loss falls when the old ones
come back.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import torch

from traindx.live.events.instrument import Criterion
from traindx.live.measures.neighbours import keys_of
from traindx.live.measures.sources import holds, tables_like

LEAST_LOSSES = 10  # on new samples
MOST_TARGETS = 1 << 12
MOST_COLUMNS = 512  # labels of one sample: beyond this it is a picture
LAST = 20
MOST_BYTES = 1 << 26  # of a table that is searched for a sample
ROWS = 32  # of a batch that are looked up
CLASSES = ("cross_entropy", "nll_loss")
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits", "multilabel_soft_margin_loss")
NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
ALTERED = ("weight", "pos_weight", "label_smoothing")  # options that move the loss of a guess


@dataclass(frozen=True, slots=True)
class Progress:
    """The loss of a constant guess, of samples that were new, and at the end."""

    chance: float
    fresh: float
    last: float
    columns: int = 1  # labels of a sample


class FirstPass:
    """Losses of training calls until samples come back, and the last ones."""

    def __init__(self) -> None:
        self.over = False
        self.size = 0  # samples of the whole data, where that is known
        self._seen = 0
        self._known: set[float] = set()
        self._fresh: list[tuple[torch.Tensor, torch.Tensor]] = []  # losses and their targets
        self._held = 0  # targets
        self._last: deque[torch.Tensor] = deque(maxlen=LAST)
        self._name: str | None = None

    def samples(self, rows: torch.Tensor) -> None:
        """Some samples of a training batch, as features."""
        keys = keys_of(rows)
        here = keys[:: max(1, len(keys) // ROWS)]
        # a first pass may hold a sample twice; a second one brings known samples in every batch
        self.over = self.over or (
            len(self._known) >= 2 * len(here) and sum(key in self._known for key in here) > 0.1 * len(here)
        )
        if not self.over:
            self._known.update(keys)

    def loss(self, call: Criterion) -> None:
        """The result of a loss function in training."""
        if self._name is None:
            plain = call.output.numel() == 1 and not any(_given(call.options.get(name)) for name in ALTERED)
            self._name = call.name if plain and call.name in (*CLASSES, *BINARY, *NUMBERS) else ""
        if call.name != self._name or call.output.numel() != 1:
            return
        value = call.output.detach()
        self._last.append(value)
        self._seen += call.target.shape[0] if call.target.dim() else 1
        self.over = self.over or self._seen > self.size > 0
        if not self.over and self._held < MOST_TARGETS:
            targets = call.target.detach().reshape(-1, call.target.shape[1] if has_several(call) else 1).clone()
            self._held += len(targets)
            self._fresh.append((value, targets))
            if targets.shape[1] != self._fresh[0][1].shape[1]:
                self._name = ""  # losses of several things

    def progress(self) -> Progress | None:
        """None where that was not seen."""
        if len(self._fresh) < LEAST_LOSSES or not self._name:
            return None
        late = self._fresh[len(self._fresh) // 2 :]
        fresh, last = (
            float(torch.stack(values).double().mean()) for values in ([one for one, _ in late], [*self._last])
        )
        targets = torch.cat([one for _, one in late])
        chance = _guess(self._name, targets)
        return Progress(chance, fresh, last, targets.shape[1]) if chance > 0 and math.isfinite(fresh + last) else None


def size_of_source(batch: torch.Tensor) -> int:
    """How many rows the table has that a batch was cut from, where that is a variable of a function that is running;
    else 0."""
    if batch.dim() < 2:
        return 0  # one sample, such as the state of an environment
    rows = batch.detach().flatten(1)
    tables = (table for table in tables_like(batch) if table.is_cpu and table.nbytes <= MOST_BYTES)
    return next((len(table) for table in tables if holds(table, rows)), 0)


def has_several(call: Criterion) -> bool:
    """Rows of several labels or numbers in host memory, and as many answers."""
    plain = call.target.dim() == 2 and call.target.is_cpu and call.target.shape == call.input.shape
    return plain and 1 < call.target.shape[1] <= MOST_COLUMNS


def _given(option: object) -> bool:
    return isinstance(option, torch.Tensor) or bool(option)


def _guess(name: str, targets: torch.Tensor) -> float:
    """The loss of the best answer that looks at no input, one for each column; 0 where there is none."""
    targets, several = targets.double(), targets.shape[1] > 1
    if name in NUMBERS:
        levels = torch.linspace(0.1, 0.9, 17, dtype=targets.dtype)
        guesses = torch.cat([targets.mean(0, keepdim=True), targets.quantile(levels, 0)])
        loss = getattr(torch.nn.functional, name)
        losses = [loss(guess.expand_as(targets), targets, reduction="none").mean(0) for guess in guesses]
        return float(torch.stack(losses).amin(0).mean())
    if several:
        if float(targets.min()) < 0 or float(targets.max()) > 1:
            return 0.0
        shares = targets.mean(0)
        return float(binary_entropy(shares).mean()) if name in BINARY else float(-shares.xlogy(shares).sum())
    _, counts = targets.unique(return_counts=True)  # type: ignore[no-untyped-call]
    shares = counts.double() / counts.sum()
    return float(-(shares * shares.log()).sum())


def binary_entropy(shares: torch.Tensor) -> torch.Tensor:
    """What guessing yes by its share costs."""
    return -(shares.xlogy(shares) + (1 - shares).xlogy(1 - shares))
