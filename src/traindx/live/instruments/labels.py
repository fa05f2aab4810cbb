"""Measures the targets that loss functions are given: their range, the sums of their rows, and where they are found
among the inputs."""

from __future__ import annotations

import math
from typing import Any

import torch

from traindx.live.events.criteria import REGRESSION
from traindx.live.events.hub import Hub, user_line
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps
from traindx.live.measures.margins import margin_labels
from traindx.live.measures.packing import Packing
from traindx.live.measures.padding import padding_of
from traindx.live.measures.rows import near, watchable
from traindx.live.measures.tensors import first_input
from traindx.measurements import NumbersAsTargets, TargetRowSums, TargetValues, TokensAsTargets

FIRST_LOOKS = 6  # calls of each place that are looked at on deep steps, and after that
LATER = 16  # every so many
# losses for two classes: cross-entropies of one output, and margins
TWO_CLASSES = ("binary_cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss", "hinge_embedding_loss")
MARGIN = "margin"  # one that is written out
MAX_SUMS = 100  # of rows of targets that are recorded
MAX_TEXTS = 4  # inputs of embeddings that are held until the next backward pass
MIN_TOKENS = 64  # in fewer, equal ones may be chance
MAX_TOKENS = 1 << 18
MAX_WIDTH = 1 << 13  # numbers of one input that are compared with its target


class Labels(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._looks: dict[tuple[str, str], int] = {}
        self._texts: list[tuple[torch.Tensor, int]] = []  # inputs of embeddings since the last backward, their sizes
        self._given: torch.Tensor | None = None  # numbers that the model was given since the last backward
        self._called = False  # a loss function of torch, since the last backward
        self._values: dict[tuple[str, str], TargetValues] = {}
        self._packing = Packing(hub)

    def attach(self) -> None:
        self._packing.attach()

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        if not isinstance(module, torch.nn.Embedding) or not self.hub.grad or not args or len(self._texts) >= MAX_TEXTS:
            return
        ids = args[0]
        if isinstance(ids, torch.Tensor) and ids.dim() == 2 and ids.shape[1] > 1:
            self._texts.append((ids, module.num_embeddings))

    @on_deep_steps
    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        data = first_input(args, kwargs)
        if self.hub.grad and data is not None and data.is_floating_point() and not data.requires_grad:
            self._given = data

    @on_deep_steps
    def on_criterion(self, call: Criterion) -> None:
        plain = watchable(call.target) and watchable(call.input)
        if not self.hub.deep or not call.output.requires_grad or not plain:
            return
        self._called = True
        look = self._looks[call.name, call.where] = self._looks.get((call.name, call.where), 0) + 1
        if look > FIRST_LOOKS and look % LATER:
            return
        numbers = call.target.is_floating_point()
        if call.name in TWO_CLASSES:
            self._measure_values(call.name, call.target, call.where)
        if call.name in ("cross_entropy", "binary_cross_entropy") and numbers:
            self._measure_sums(call)
        elif call.name in ("cross_entropy", "nll_loss"):
            self._measure_sequences(call, look)
        elif call.name in REGRESSION and numbers:
            self._measure_copies(call, look)

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        called, self._called = self._called, False
        self._texts.clear()
        self._given = None
        if self.hub.deep and not called and not self._packing.seen and watchable(loss) and loss.numel() == 1:
            labels = margin_labels(loss)
            if labels is not None:
                self._measure_values(MARGIN, labels, user_line())

    def _measure_values(self, criterion: str, target: torch.Tensor, where: str) -> None:
        target = near(target).double()
        low, high = target.aminmax()
        between = (target != low) & (target != high)
        counts = torch.stack([between.sum(), (target == 0).sum(), (target == 1).sum()]).tolist()
        if math.isnan(float(low)):
            return
        now = TargetValues(
            criterion=criterion,
            low=float(low),
            high=float(high),
            between=counts[0],
            zeros=counts[1],
            ones=counts[2],
            count=target.numel(),
            where=where,
        )
        before = self._values.get((criterion, where))
        self._values[criterion, where] = now if before is None else _together(before, now)
        self.hub.measure(self._values[criterion, where])

    def _measure_sums(self, call: Criterion) -> None:
        """Of labels that are given as one number a class: a distribution over the classes, or several of them."""
        if call.target.dim() < 2 or call.target.shape != call.input.shape:
            return
        sums = near(call.target).float().sum(1).flatten().sort().values
        count = min(len(sums), MAX_SUMS)
        places = ((torch.arange(count) + 0.5) * len(sums) / count).long()
        self.hub.measure(TargetRowSums(sums=tuple(sums[places].tolist()), where=call.where))

    def _measure_copies(self, call: Criterion, look: int) -> None:
        """Whether one of the numbers that go in is the answer."""
        data, target = self._given, call.target
        if data is None or not watchable(data) or data.dim() < 2 or target.numel() != len(data):
            return
        rows = near(data).flatten(1)
        answers = near(target).reshape(-1)[: len(rows)].to(rows.dtype)
        width = rows.shape[1]
        if width > MAX_WIDTH:
            return
        equal = (rows[: len(answers)] == answers.unsqueeze(1)).all(0).nonzero().flatten().tolist()
        distinct = len(answers.unique()) / len(answers)  # type: ignore[no-untyped-call]
        self.hub.measure(
            NumbersAsTargets(
                criterion=call.name,
                look=look,
                column=equal[-1] if equal else -1,
                width=width,
                rows=len(data),
                distinct=distinct,
                where=call.where,
            )
        )

    def _measure_sequences(self, call: Criterion, look: int) -> None:
        """Class numbers beside the tokens that went in."""
        classes = call.input.shape[1] if call.input.dim() > 1 else 0
        same_size = [ids for ids, size in self._texts if size == classes and ids.device == call.target.device]
        texts = [ids for ids in same_size if watchable(ids) and ids.numel() >= MIN_TOKENS]
        if not texts:
            self._measure_tags(call)
            return
        pairs = [pair for pair in (_aligned(ids, call.target) for ids in texts) if pair is not None]
        if not pairs:
            return
        ignored = _ignored(call)
        same, following, second, repeated, counted = zip(*(_agreement(*pair, ignored) for pair in pairs), strict=True)
        self.hub.measure(
            TokensAsTargets(
                criterion=call.name,
                look=look,
                same=same,
                next=following,
                second=second,
                repeated=repeated,
                counted=counted,
                where=call.where,
            )
        )
        if len(texts) == 1 and _is_reduced(call):
            self.hub.measure(padding_of(call, *pairs[0], ignored))

    def _measure_tags(self, call: Criterion) -> None:
        """Targets of another kind than the tokens, one for each of them: where the tokens end, those should too."""
        alike = [
            ids for ids, _ in self._texts if ids.device == call.target.device and ids.numel() == call.target.numel()
        ]
        if len(alike) != 1 or not watchable(alike[0]) or alike[0].numel() < MIN_TOKENS or not _is_reduced(call):
            return
        ids = alike[0]
        few = max(1, MAX_TOKENS // ids.shape[1])
        ids, targets = ids[:few].cpu(), call.target.detach().reshape(ids.shape)[:few].cpu()
        self.hub.measure(padding_of(call, ids, targets, _ignored(call), tags=True))


def _together(one: TargetValues, other: TargetValues) -> TargetValues:
    return TargetValues(
        criterion=one.criterion,
        low=min(one.low, other.low),
        high=max(one.high, other.high),
        between=one.between + other.between,
        zeros=one.zeros + other.zeros,
        ones=one.ones + other.ones,
        count=one.count + other.count,
        where=one.where,
    )


def _is_reduced(call: Criterion) -> bool:
    """Whether it gives one number: else some targets may be masked afterwards."""
    return bool(call.options.get("reduction", "mean") != "none")


def _ignored(call: Criterion) -> int:
    return int(call.options.get("ignore_index", -100))


def _aligned(ids: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Some rows of tokens with the targets of each, where there is one for every token, or every one but the last."""
    rows, length = ids.shape
    wide = target.numel() // rows
    if wide * rows != target.numel() or wide not in (length, length - 1):
        return None
    few = max(1, MAX_TOKENS // length)
    return ids[:few].cpu(), target.detach().reshape(rows, wide)[:few].cpu()


def _agreement(ids: torch.Tensor, targets: torch.Tensor, ignored: int) -> list[float]:
    """The shares of targets that equal the tokens 0, 1 and 2 places ahead, of neighbours that are equal, and of targets
    that count."""
    counted = targets != ignored
    shares = []
    for offset in (0, 1, 2):
        count = min(targets.shape[1], ids.shape[1] - offset)
        here = counted[:, :count]
        same = (targets[:, :count] == ids[:, offset : offset + count]) & here
        shares.append(same.sum() / here.sum().clamp(min=1))
    repeats = (ids[:, 1:] == ids[:, :-1]).float().mean()
    numbers: list[float] = torch.stack([*shares, repeats, counted.float().mean()]).tolist()
    return numbers


OBSERVER = Labels
