"""Measures how many predictions are right, in training and in validation, and how much they differ from sample to
sample."""

from __future__ import annotations

import math
import weakref
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from traindx.live.events.criteria import REGRESSION
from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps_and_evaluation, on_every_step
from traindx.live.measures.graph import of_pairs
from traindx.live.measures.nodes import ending
from traindx.live.measures.rows import class_rows, watchable
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import ClassPredictions, OutputSpread, RegressionData

CLASSIFICATION = ("cross_entropy", "nll_loss")
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
CONTRASTED = 16  # samples at least, all with different targets
MAX_CLASSES = 100_000  # beyond this it is no number of classes
MAX_COUNTED_CLASSES = 1000  # of which each is counted
MAX_COUNTS = 1 << 20  # comparisons of one look
MAX_SITES = 16  # places of the code
EVERY = 10  # steps between two looks at least, beside deep steps
GROWTH = 0.1  # of the steps so far: some hundred looks in a run of any length
MEASURED_EVERY = 8  # looks at one place
LAST = 5  # looks that are summed up, at batches with more than one class
KEPT = 25  # looks among which they are looked for: most batches hold no sample of a rare class
LATE = 0.5  # of the steps: what a regression reaches
FIRST_TARGETS = 256  # targets of a regression that are looked at once, whether they are numbers or codes of classes


@dataclass
class _Site:
    """What one place of the code that calls a loss has shown."""

    name: str
    where: str
    classes: int
    weighted: bool
    dense: bool = False  # yes or no for every point of a picture: how many are right says little
    # step, predicted, true
    last: deque[tuple[int, list[float], list[float]]] = field(default_factory=lambda: deque(maxlen=KEPT))
    true: list[float] = field(default_factory=list)
    looks: int = 0
    next_look: int = 0


class Predictions(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._sites: dict[tuple[str, str], _Site] = {}
        self._pairs: set[tuple[str, str]] = set()  # places whose scores compare samples with one another
        self._spreads: dict[tuple[str, str], deque[tuple[int, float, float]]] = {}  # step, of outputs, of targets
        # right and counted predictions since the last training step, and whether they are of training data
        self._right: list[tuple[tuple[torch.Tensor, torch.Tensor], bool]] = []
        self._variances: list[float] = []  # of the targets of a regression, by look
        self._errors: deque[tuple[int, float, float]] = deque(maxlen=KEPT)  # step, mean square, variance of the targets
        self._losses: set[str] = set()  # that are trained on,
        self._last_loss: weakref.ref[torch.Tensor] | None = None
        self._last_value: torch.Tensor | None = None  # of that loss, of a classification
        self._by_one_term: list[float] = []  # the loss that is trained on, by what one loss function gave for it
        self._nothing_else = True  # and are all that is
        self._regressions: set[tuple[str, str]] = set()  # whose targets were looked at
        self._fractional: list[float] = []  # share of their targets that are distinct broken numbers
        self._optimizers: set[int] = set()
        self._classes = 0
        self._next_look = self._next_spread = 0

    @on_every_step  # what the model predicts in the end is not known from its first steps
    def on_criterion(self, call: Criterion) -> None:
        training = call.output.requires_grad
        if training and not self.hub.deep and self.hub.step < self._next_look:
            return
        if training and self.hub.deep:
            self._losses.add(call.name)
            self._last_loss = weakref.ref(call.output)
            scalar = call.name in (*CLASSIFICATION, *BINARY) and call.output.numel() == 1
            self._last_value = call.output.detach().reshape(()).float().clone() if scalar else None
        if call.name in REGRESSION:
            if training and (self.hub.deep or self.hub.step >= self._next_spread) and watchable(call.input):
                self._next_spread = self.hub.step + max(EVERY, int(GROWTH * self.hub.step))
                self.hub.skip_losses(self, self._next_spread)
                self._spread(call)
            return
        site = self._sites.get((call.name, call.where))
        if training and not self.hub.deep and (site is None or self.hub.step < site.next_look):
            return
        classes = _classes(call) if watchable(call.input) and watchable(call.target) else 0
        if classes and not training:
            self._count_right(call)
        elif classes:
            self._look_at(call, site or self._new_site(call, classes))

    def _look_at(self, call: Criterion, site: _Site | None) -> None:
        if site is not None:
            site.next_look = self.hub.step + max(EVERY, int(GROWTH * self.hub.step))
            self._next_look = min(one.next_look for one in self._sites.values())
            self.hub.skip_losses(self, self._next_look)
            self._look(call, site)

    def _count_right(self, call: Criterion) -> None:
        """Of an evaluation."""
        if self.hub.step and self._sites and not _dense(call):
            reading, given = _asked(call, 4096)
            predicted, true, counted = reading.answers(*given)
            right = ((predicted == true) & counted).sum()
            self._right.append(((right, counted.sum()), self.hub.criteria.splits.of_training(call)))

    def _new_site(self, call: Criterion, classes: int) -> _Site | None:
        if len(self._sites) >= MAX_SITES or (call.name, call.where) in self._pairs:
            return None
        if classes >= len(call.input) - 1 and of_pairs(call.input):
            self._pairs.add((call.name, call.where))
            return None
        weighted = call.options.get("weight") is not None or call.options.get("pos_weight") is not None
        site = self._sites[call.name, call.where] = _Site(call.name, call.where, classes, weighted, _dense(call))
        return site

    @on_deep_steps_and_evaluation
    def on_backward(self, loss: torch.Tensor) -> None:
        self._flush()
        if self.hub.deep:
            alone = _is_or_scales(loss, self._last_loss)
            self._nothing_else = self._nothing_else and alone
            if not alone and self._last_value is not None and loss.numel() == 1:
                both = torch.stack([loss.detach().reshape(()).float(), self._last_value.to(loss.device)])
                self._copies.ask(both, self._compare_terms)
            self._last_loss = self._last_value = None

    def _compare_terms(self, found: list[float]) -> None:
        """How much larger a loss is than the last of its terms that a loss function gave."""
        whole, term = found
        if math.isfinite(whole) and math.isfinite(term) and term > 0 and len(self._by_one_term) < KEPT:
            self._by_one_term.append(whole / term)
            self.hub.config(loss_by_one_term=sorted(self._by_one_term)[len(self._by_one_term) // 2])

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizers.add(id(optimizer))
        self._copies.poll()

    def on_end(self) -> None:
        self._copies.poll(wait=True)
        self._flush()
        self._measure()
        self._measure_regression()
        if self._variances and len(self._spreads) == 1:
            self.hub.config(mse_target_variance=sum(self._variances) / len(self._variances))
            late = [(error, one) for step, error, one in self._errors if step >= LATE * self.hub.step]
            if len(late) >= LAST and sum(one for _, one in late) > 0:
                self.hub.config(mse_by_variance=sum(error for error, _ in late) / sum(one for _, one in late))

    def _look(self, call: Criterion, site: _Site) -> None:
        limit = 4096 if site.classes > MAX_COUNTED_CLASSES else max(16, MAX_COUNTS // site.classes)
        reading, given = _asked(call, limit)
        self._copies.bring_all(given, partial(self._answered, site, self.hub.step, call.input.shape[0], reading))

    def _answered(
        self, site: _Site, step: int, rows: int, reading: _Reading, scores: torch.Tensor, target: torch.Tensor
    ) -> None:
        predicted, true, counted = reading.answers(scores, target)
        right = ((predicted == true) & counted).sum().reshape(1)
        if site.classes > MAX_COUNTED_CLASSES:
            self.hub.values.add(step, "train_accuracy", float(right / counted.sum().clamp(min=1)))
            self._say_classes(site.classes)
            return
        numbers = torch.cat([right, *(_histogram(codes[counted], site.classes) for codes in (predicted, true))])
        if site.dense:  # shades of grey that are rebuilt are no labels
            numbers = numbers * ((target == 0) | (target == 1)).all()
        self._counted(site, step, rows, numbers.tolist())

    def _counted(self, site: _Site, step: int, rows: int, numbers: list[float]) -> None:
        answers, true = numbers[1 : 1 + site.classes], numbers[1 + site.classes :]
        if rows >= CONTRASTED and site.classes in (rows, rows - 1) and max(true) <= 1:
            return  # each sample is to be told from the others of its batch: these are no classes
        if site.dense and not sum(true):
            return
        site.looks += 1
        site.true = [old + new for old, new in zip(site.true or [0.0] * site.classes, true, strict=True)]
        site.last.append((step, answers, true))
        total = sum(true)
        several = not site.dense and sum(count > 0 for count in site.true) > 1
        if total and several and (site.name in CLASSIFICATION or sum(count > 0 for count in true) > 1):
            self.hub.values.add(step, "train_accuracy", numbers[0] / total)
            self._say_classes(site.classes)
        if site.looks % MEASURED_EVERY == 0:
            self._measure()

    def _say_classes(self, classes: int) -> None:
        if not self._classes and classes <= MAX_CLASSES:
            self._classes = classes
            self.hub.config(num_classes=classes)

    def _flush(self) -> None:
        """The validation accuracy since the last training step."""
        if self._right:
            held = self.hub.criteria.splits.held_out(self._right)
            right = torch.stack([one.double() for one, _ in held]).sum()
            total = torch.stack([one.double() for _, one in held]).sum()
            self._right.clear()
            if self._classes:
                self.hub.record("val_accuracy", right / total.clamp(min=1))

    # --- how much they differ -----------------------------------------------------------------------------------------

    def _spread(self, call: Criterion) -> None:
        """Of a regression: how far outputs differ between samples, beside the targets."""
        output, target = call.input.detach(), call.target.detach()
        if not watchable(target) or output.dim() == 0 or target.dim() == 0:
            return
        if (call.name, call.where) not in self._regressions:
            self._regressions.add((call.name, call.where))
            self._copies.to_host(_first_numbers(target), self._count_fractional)
        if output.shape[0] < 8 or output.shape[0] != target.shape[0]:
            return
        few = max(8, MAX_COUNTS // max(1, output.numel() // output.shape[0]))
        spreads = [
            one[:few].float().flatten(1).std(0).mean() if one.dim() > 1 else one[:few].float().std()
            for one in (output, target)
        ]
        past = self._spreads.setdefault((call.name, call.where), deque(maxlen=LAST))
        step = self.hub.step
        self._copies.ask(torch.stack(spreads), partial(self._spread_found, past, step))
        if call.name == "mse_loss":
            variance = target[:few].float().var(0).mean()
            self._copies.ask(variance, self._variances.append)
            plain = call.options.get("reduction", "mean") == "mean" and call.options.get("weight") is None
            if plain and call.output.numel() == 1 and output.shape == target.shape and few >= len(target):
                both = torch.stack([call.output.detach().reshape(()).float(), variance])
                self._copies.ask(both, lambda found: self._errors.append((step, found[0], found[1])))

    def _count_fractional(self, targets: torch.Tensor) -> None:
        """Numbers are broken and differ; codes of classes are whole, or a few."""
        broken = sum(value != round(value) for value in set(targets.tolist()) if math.isfinite(value))
        self._fractional.append(broken / len(targets))

    def _spread_found(self, past: deque[tuple[int, float, float]], step: int, found: list[float]) -> None:
        past.append((step, found[0], found[1]))
        if not step and found[1] > 0 and math.isfinite(found[0]):
            self.hub.config(first_output_std=found[0], first_target_std=found[1])

    def _measure(self) -> None:
        for site in self._sites.values():
            if site.last:
                self._measure_site(site)
        for (name, where), past in self._spreads.items():
            if past and all(target > 0 for *_, target in past):
                spread = OutputSpread(
                    criterion=name,
                    looks=len(past),
                    since=past[0][0],
                    largest=max(output / target for _, output, target in past),
                    optimizers=len(self._optimizers),
                    step=self.hub.step,
                    where=where,
                )
                self.hub.measure(spread)

    def _measure_site(self, site: _Site) -> None:
        looks = _last_looks(site)
        answers = [sum(column) for column in zip(*(predicted for _, predicted, _ in looks), strict=True)]
        top = answers.index(max(answers))
        found = ClassPredictions(
            criterion=site.name,
            classes=site.classes,
            weighted=site.weighted,
            looks=site.looks,
            targets=int(sum(site.true)),
            occurring=_occurring(site.true),
            most=int(max(site.true)),
            fewest=int(min((count for count in site.true if count), default=0)),
            last_looks=len(looks),
            mixed_looks=sum(_occurring(true) > 1 for *_, true in looks),
            since=looks[0][0],
            predictions=int(sum(answers)),
            predicted=_occurring(answers),
            top=top,
            top_targets=int(site.true[top]),
            sites=len(self._sites),
            optimizers=len(self._optimizers),
            step=self.hub.step,  # part of it: the same counts at a later step are another measurement
            where=site.where,
        )
        self.hub.measure(found)

    def _measure_regression(self) -> None:
        regressions = self._losses & set(REGRESSION)
        if regressions:
            self.hub.measure(
                RegressionData(
                    losses=tuple(sorted(regressions)),
                    other_losses=len(self._losses - regressions),
                    alone=self._nothing_else,
                    fractional=tuple(self._fractional[:MAX_SITES]),
                )
            )


def _last_looks(site: _Site) -> list[tuple[int, list[float], list[float]]]:
    """The last looks back to the fifth at a batch with more than one class, or all that are kept."""
    mixed = 0
    for back, (_, _, true) in enumerate(reversed(site.last), start=1):
        mixed += _occurring(true) > 1
        if mixed == LAST:
            return list(site.last)[-back:]
    return list(site.last)


def _occurring(counts: list[float]) -> int:
    return sum(count > 0 for count in counts)


def _is_or_scales(loss: torch.Tensor, made: weakref.ref[torch.Tensor] | None) -> bool:
    """Whether a loss is what the loss function gave, or that times or by a number."""
    output = made() if made is not None else None
    if output is None or loss is output or loss.grad_fn is None:
        return output is not None and loss is output
    scaled = loss.grad_fn.name() in ("DivBackward0", "MulBackward0")
    return scaled and [node for node, _ in loss.grad_fn.next_functions if node is not None] == [output.grad_fn]


def _first_numbers(target: torch.Tensor) -> torch.Tensor:
    """One of each of the first samples."""
    target = target[:FIRST_TARGETS]
    while target.dim() > 1:
        target = target[:, 0]
    return target


def _classes(call: Criterion) -> int:
    """How many classes this loss tells apart; 0 where targets are not class labels."""
    target = call.target
    if call.name in CLASSIFICATION:
        plain = not target.is_floating_point() and call.input.dim() >= 1
        width = call.input.shape[1 if call.input.dim() > 1 else 0] if plain else 0
        return width if 1 < width <= MAX_CLASSES else 0
    single = call.name in BINARY and target.dim() >= 1 and target.numel() == target.shape[0] == call.input.numel()
    return 2 if single or _dense(call) else 0


def _dense(call: Criterion) -> bool:
    """One channel of yes or no over a picture."""
    return (
        call.name in BINARY
        and call.target.dim() == 4
        and call.target.shape[1] == 1
        and call.target.shape == call.input.shape
    )


def _asked(call: Criterion, limit: int) -> tuple[_Reading, tuple[torch.Tensor, torch.Tensor]]:
    """The first samples of what a loss is given, and how to read them. They are views: whoever waits for their copy
    must not keep them, since each keeps all scores of its batch in the memory of the device."""
    ignored: Any = call.options.get("ignore_index", -100)
    if call.name in BINARY:
        squeezed = call.name == "binary_cross_entropy" or ending(call.input).kind == "Sigmoid"
        given = call.input.detach().reshape(-1)[:limit], call.target.detach().reshape(-1)[:limit]
        return _Reading(0.5 if squeezed else 0.0, ignored), given
    scores = class_rows(call.input)[:limit]
    return _Reading(None, ignored), (scores, call.target.detach().reshape(-1)[: scores.shape[0]])


@dataclass(frozen=True)
class _Reading:
    """How to read predicted classes, true ones and whether they count off scores and targets."""

    threshold: float | None  # of yes or no; None: one score a class
    ignored: Any

    def answers(self, scores: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        if self.threshold is not None:
            every = torch.ones_like(target, dtype=torch.bool)
            return (scores > self.threshold).long(), (target > 0.5).long(), every
        return scores.float().argmax(1), target, target != self.ignored


def _histogram(codes: torch.Tensor, classes: int) -> torch.Tensor:
    return codes[(codes >= 0) & (codes < classes)].long().bincount(minlength=classes)


OBSERVER = Predictions
