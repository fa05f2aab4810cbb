"""What the model is fed: scale of inputs and targets, wild batches, their size and order, and the wait for them.

Inputs are judged where they meet the first weights, so that whatever the model does to them before counts. That is seen on
deep steps; targets and the loader are seen on all.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from statistics import mean, stdev
from typing import Any

import torch
from torch.utils.data import RandomSampler, SequentialSampler

from traindx.live.brief import BriefStep
from traindx.live.criteria import REGRESSION
from traindx.live.findings import Finding, Findings
from traindx.live.hub import Hub
from traindx.live.later import Later
from traindx.live.observer import Criterion, Observer
from traindx.live.rows import few, watchable
from traindx.live.tensors import columns, first_input, tensors_in
from traindx.live.values import Number

LARGE = 20.0  # |mean| or standard deviation of a feature; normalised data has 0 and 1, images in 0..1 stay below 1
PLAIN = 300.0
ORDINARY = 2.0  # up to here nobody would call them unscaled; a gradient grows with the square of what is beyond
DOUBTFUL = 0.3  # how much it counts that inputs just below what is called large are not
UNEVEN = 1e3  # largest feature scale over the smallest: pressure in Pa beside a humidity in 0..1
SAMPLES = 12  # deep steps whose inputs are summed up
NORMALISING = (
    torch.nn.modules.batchnorm._NormBase, torch.nn.LayerNorm, torch.nn.GroupNorm, torch.nn.RMSNorm, torch.nn.LocalResponseNorm,
)  # fmt: skip
TARGET_LARGE = 20.0
TARGET_PLAIN = 200.0
SMALL_OUTPUT = 0.2  # of the targets' size, at the start
TINY_BATCH = 2
FIRST_STEPS = 3  # that tell how many samples an update sees
TINY_STEPS = 60
NOISY = 0.8  # standard deviation of the loss over its mean
STUCK = 0.2  # of the first losses: below, a noisy training has learnt all the same
DEAD = 0.9  # and above, nothing was learnt at all
TINY_AGAIN = 500  # updates between looks at it
USUAL_BATCH = 64  # what usual rates are made for
STEEP_ADAM, STEEP_SGD = 0.03, 2.5  # rates for that batch which no training bears: several times the largest usual ones
WILD = 50.0  # times the usual largest value of an input batch
LEAST_ROWS = 8  # of a batch that has a usual sample
LABELS = 4096  # of a batch that are looked at for their order
RUN_BATCHES = 40  # batches whose labels are looked at for their order
ONE_CLASS = 0.9  # of a batch belongs to one class
SORTED = 0.6  # of the batches do
LONG_RUN = (
    5  # batches of one class, one behind the other, before the other of two comes: steps that take turns are shorter
)


class Batches(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._waited = 0.0
        self._loaders: set[int] = set()
        self._entries = 0
        self._scales: list[
            list[float]
        ] = []  # for each sample: largest |mean| or std, smallest scale, column of the largest
        self._targets: list[tuple[float, float, float]] = []
        self._rows: int | None = None  # in a training batch
        self._samples = 0  # rows, or positions of sequences
        self._tabular = False
        self._backwards = 0  # since the last update
        self._judged_size = False  # the batches are not small, or what they do is known
        self._losses: deque[Number] = deque(maxlen=TINY_STEPS)
        self._first_losses: list[Number] = []
        self._size_due = TINY_STEPS  # the update at which small batches are judged next
        self._rate = ""  # that is too high for such batches,
        self._bearable = False  # and would not be for others
        self._tops: list[tuple[int, float]] = []  # update, largest input value
        self._majorities: list[float] = []
        self._classes: set[int] = set()
        self._turns: list[int] = []  # the classes of nearly pure batches, in order
        self._ordering = True  # labels are still looked at
        self._sequential: bool | None = None
        self._findings = Findings(hub)

    # --- the loader ---------------------------------------------------------------------------------------------------

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        self._waited += seconds
        if id(loader) not in self._loaders and len(self._loaders) < 16:
            first = not self._loaders
            self._loaders.add(id(loader))
            if first:
                self._sequential = _order(loader)
                self.hub.config(
                    batch_size=getattr(loader, "batch_size", None), num_workers=getattr(loader, "num_workers", None),
                    pin_memory=getattr(loader, "pin_memory", None), shuffle=None if self._sequential is None else not self._sequential,
                )  # fmt: skip

    # --- inputs -------------------------------------------------------------------------------------------------------

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        """How many samples an update sees: the most rows any model is given in the first steps."""
        data = first_input(args, kwargs)
        if self.hub.step >= FIRST_STEPS or not self.hub.grad or data is None or data.dim() < 2:
            return
        sequence = data.dim() == 3 or not data.is_floating_point()
        self._rows = max(self._rows or 0, data.shape[0])
        self._samples = max(
            self._samples, data.shape[0] * (data.shape[1] if sequence and _by_position(data, output) else 1)
        )
        self._tabular = data.dim() == 2

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        """Data meets weights: a layer with parameters of its own whose input no parameter has touched."""
        if not self.hub.grad or self._entries >= SAMPLES or not args or not isinstance(args[0], torch.Tensor):
            return
        data = args[0]
        if (
            data.requires_grad
            or not data.is_floating_point()
            or not watchable(data)
            or next(module.children(), None) is not None
        ):
            return
        if next(module.parameters(), None) is None or not any(t.requires_grad for t in tensors_in(output)):
            return
        self._entries += 1
        if isinstance(module, NORMALISING):
            self._tell(
                "inputs-unscaled", False, f"The data goes through {name} first, which normalises it.", where=name
            )
            return
        self._later.bring(few(data), partial(self._sum_up, name, self.hub.step))

    def _sum_up(self, name: str, step: int, data: torch.Tensor) -> None:
        table = columns(_without_wild(data)).float()
        means = table.mean(0)
        stds = table.std(0) if table.shape[0] > 1 else torch.zeros_like(means)
        scales = torch.maximum(means.abs(), stds)
        moving = torch.where(stds > 0, scales, torch.full_like(scales, math.inf))  # a constant feature has no scale
        top, column = scales.max(0)
        values: list[float] = torch.stack(
            [top, moving.min(), column.float(), means[column], stds[column], data.abs().amax().float()]
        ).tolist()
        if not all(math.isfinite(value) for value in (values[0], *values[3:])):
            return
        self._scales.append(values)
        top, least, column, mean, std, _ = (
            sorted(each)[len(self._scales) // 2] for each in zip(*self._scales, strict=True)
        )
        spread = top / least if 0 < least < math.inf else 1.0
        if len(self._scales) < 3:
            return
        if top > LARGE:
            size = math.log10(top / LARGE) / math.log10(PLAIN / LARGE)
            uneven = f"; the features differ {spread:.2g}-fold in scale" if spread > UNEVEN else ""
            self._tell(
                "inputs-unscaled", True,
                f"Data reaches layer {name} with mean {mean:.4g} and standard deviation {std:.4g} in feature {int(column)}{uneven} "
                "(normalised: 0 and 1).", where=name, clarity=min(1.0, 0.3 + 0.7 * size),
            )  # fmt: skip
        else:
            far = max(0.0, math.log(max(top, 1e-12) / ORDINARY) / math.log(LARGE / ORDINARY))
            self._tell(
                "inputs-unscaled", False, f"Data reaches layer {name} with means and deviations of at most {top:.3g}.", where=name,
                clarity=1.0 - (1.0 - DOUBTFUL) * far,
            )  # fmt: skip
        self._wild(values[5], name, step)

    def _wild(self, top: float, name: str, step: int) -> None:
        """One batch far out of the range of the others."""
        usual = sorted(value for _, value in self._tops)[len(self._tops) // 2] if len(self._tops) >= 5 else 0.0
        self._tops.append((step, top))
        if usual and top > WILD * usual:
            self._tell(
                "outlier-batch", True,
                f"The batch of update {step + 1} holds a value of {top:.3g}; the usual largest is {usual:.3g}.", where=name,
            )  # fmt: skip

    # --- targets, size and order ----------------------------------------------------------------------------------------

    def on_criterion(self, call: Criterion) -> None:
        early = self.hub.step < 3 and len(self._targets) < 3
        if (
            not self.hub.grad
            or not (early or self._ordering)
            or not call.output.requires_grad
            or not watchable(call.target)
        ):
            return
        if early and call.name in REGRESSION and call.target.is_floating_point():
            numbers = torch.stack(
                [
                    call.target.float().mean(),
                    call.target.float().std(correction=0),
                    call.input.float().square().mean().sqrt(),
                ]
            )
            self._later.ask(numbers, partial(self._target, call.where))
        if call.target.is_floating_point() or call.target.dim() != 1:
            self._ordering = False
        elif self._ordering:
            self._later.bring(call.target.detach()[:LABELS], self._labels)

    def _target(self, where: str, values: list[float]) -> None:
        if not all(map(math.isfinite, values)):
            return
        self._targets.append((values[0], values[1], values[2]))
        mean, std, output = self._targets[0]
        size = max(abs(mean), std)
        if size > TARGET_LARGE and output < SMALL_OUTPUT * size:
            clearness = 0.3 + 0.7 * math.log10(size / TARGET_LARGE) / math.log10(TARGET_PLAIN / TARGET_LARGE)
            self._tell(
                "targets-unscaled", True,
                f"The targets have mean {mean:.4g} and standard deviation {std:.4g}; the untrained model gives values around "
                f"{output:.2g}.", where=where, clarity=min(1.0, clearness),
            )  # fmt: skip
        else:
            self._tell(
                "targets-unscaled",
                False,
                f"The targets have mean {mean:.3g} and standard deviation {std:.3g}.",
                where=where,
            )

    def _labels(self, labels: torch.Tensor) -> None:
        """How much of each batch is of one class: in shuffled data about the share of the largest class."""
        if len(labels) < LEAST_ROWS or not self._ordering:
            return
        # the largest class of a batch that is nearly pure is one of these three
        some = labels[[0, len(labels) // 2, -1]]
        share, place = (labels.reshape(-1, 1) == some).double().mean(0).max(0)
        self._majorities.append(float(share))
        self._classes.add(int(some[place]))
        if share >= ONE_CLASS:
            self._turns.append(int(some[place]))
        if len(self._majorities) != RUN_BATCHES:
            return
        self._ordering = False
        pure = len(self._turns) / RUN_BATCHES
        runs = 1 + sum(before != after for before, after in pairwise(self._turns))
        in_runs = len(set(self._turns)) == 2 and len(self._turns) >= LONG_RUN * runs
        if pure > SORTED and len(self._classes) >= (2 if self._sequential or in_runs else 3):
            how = "; the loader does not shuffle" if self._sequential else ""
            self._tell(
                "data-in-order", True,
                f"{pure * 100:.0f} % of the first {RUN_BATCHES} training batches hold one class almost only, while {len(self._classes)} classes take "
                f"turns{how}.",
            )  # fmt: skip
        else:
            self._tell(
                "data-in-order",
                False,
                f"Of the first {RUN_BATCHES} training batches {pure * 100:.0f} % hold one class only.",
            )

    # --- by the update ------------------------------------------------------------------------------------------------

    def on_backward(self, loss: torch.Tensor) -> None:
        self._backwards += 1
        number = self.hub.number_of(loss) if self._small and loss.numel() == 1 else None
        if number is not None:
            self._losses.append(number)
            if len(self._first_losses) < FIRST_STEPS:  # later ones may have blown up already
                self._first_losses.append(number)

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self._waited:
            self.hub.record("data_time", self._waited)
            self._waited = 0.0
        self._later.poll()
        if self.hub.step == 0 and self._rows is not None and not self._loaders:
            self.hub.config(batch_size=self._rows)
        self._judged_size = self._judged_size or self._backwards > 1  # small batches that are accumulated are not small
        self._backwards = 0
        if self._small:
            self._rate = self._rate or _steep(optimizer, self._samples)
            self._bearable = self._bearable or not _steep(optimizer, USUAL_BATCH // 4)
            self._look_at_noise()

    def on_brief(self, steps: Sequence[BriefStep], losses: Sequence[Number]) -> None:
        if self._small:
            self._judged_size = any(len(step.losses) > 1 for step in steps)
            self._losses.extend(number for step in steps for number in step.losses)
            self._look_at_noise()

    @property
    def _small(self) -> bool:
        """Updates see a sample or two, and it is not known yet what that does."""
        return not self._judged_size and 0 < self._samples <= TINY_BATCH

    def _look_at_noise(self, *, last: bool = False) -> None:
        due = last or self.hub.step >= self._size_due
        if not due or len(self._losses) < TINY_STEPS or self._judged_size:
            return
        self._size_due = self.hub.step + TINY_AGAIN
        losses = [number.value for number in self._losses if number.value is not None]
        firsts = [number.value for number in self._first_losses if number.value is not None]
        if len(losses) >= TINY_STEPS // 2 and firsts:
            self._noise(losses, mean(firsts))

    def _noise(self, losses: list[float], first: float) -> None:
        if not all(map(math.isfinite, losses)):
            self._blown_up()
            return
        middle, std = mean(losses), stdev(losses)
        scatter = std / max(abs(middle), 1e-12)
        failing = middle > DEAD * first or (scatter > NOISY and middle > STUCK * first)
        if self._rate and failing and self.hub.step >= TINY_AGAIN:
            self._judged_size = True
            self._tell(
                "tiny-batches", True,
                f"Each update sees {self._rows} sample{'s' if self._rows != 1 else ''} at {self._rate}; the loss of {TINY_STEPS} "
                f"updates up to {self.hub.step} scatters by {scatter * 100:.0f} % of its mean, which is {middle / first * 100:.0f} % of what it "
                "was at first.", clarity=0.9 if self._tabular else 0.7,
            )  # fmt: skip

    def _blown_up(self) -> None:
        """The weights grew without bound, at a rate that batches of the usual size bear."""
        self._judged_size = True
        if self._rate and self._bearable and "nan-from-growth" in self.hub.found:
            self._tell(
                "tiny-batches", True,
                f"Each update sees {self._rows} sample{'s' if self._rows != 1 else ''} at {self._rate}, which is usual for batches of "
                f"{USUAL_BATCH}; the weights grew without bound.", clarity=0.9 if self._tabular else 0.7,
            )  # fmt: skip

    def on_end(self) -> None:
        self._later.poll(wait=True)
        self.hub.values.poll(wait=True)
        self._look_at_noise(last=True)
        self._rule_out_size()

    def _rule_out_size(self) -> None:
        """Updates of many samples, or of few at a rate that is low enough for them."""
        if self._samples >= USUAL_BATCH // 4:
            self._tell("tiny-batches", False, f"Each update sees {self._samples} samples or more.")
        elif len(self._losses) >= TINY_STEPS // 2 and not self._judged_size and not self._rate:
            self._tell(
                "tiny-batches",
                False,
                f"Each update sees {self._samples} of the samples, at a rate that is low enough for it.",
            )

    def _tell(
        self, identifier: str, present: bool, evidence: str, *, where: str | None = None, clarity: float = 1.0
    ) -> None:
        self._findings.add(Finding(identifier, present, evidence, clarity), where)


def _without_wild(data: torch.Tensor) -> torch.Tensor:
    """The batch with one of its usual samples in place of those far out of their range: a few spoilt ones do not make the scale of
    the data."""
    if data.dim() < 2 or data.shape[0] < LEAST_ROWS:
        return data
    reach = data.abs().flatten(1).amax(1).float()
    middle, usual = reach.median(0)
    return data[torch.where(reach > WILD * middle, usual, torch.arange(len(reach)))]


def _by_position(data: torch.Tensor, output: Any) -> bool:
    """Whether a sequence has an answer for each of its positions, or it cannot be seen that it has one in all."""
    tables = [one for one in tensors_in(output) if one.dim() >= 2]
    flat = data.shape[0] * data.shape[1]
    return not tables or any(
        one.shape[0] == flat or (one.dim() >= 3 and one.shape[:2] == data.shape[:2]) for one in tables
    )


def _steep(optimizer: torch.optim.Optimizer, samples: int) -> str:
    """The rate, where it is made for far larger batches: noise grows with its square root for Adam, in proportion for SGD."""
    group = optimizer.param_groups[0]
    lr, name = group.get("lr"), type(optimizer).__name__
    if not isinstance(lr, float):
        return ""
    more = USUAL_BATCH / samples
    momentum = float(group.get("momentum") or 0.0)
    if name == "SGD":
        steep = lr / max(1 - momentum, 1e-3) * more > STEEP_SGD
        return f"a rate of {lr:g}" + (f" with momentum {momentum:g}" if momentum else "") if steep else ""
    return f"a rate of {lr:g}" if "Adam" in name and lr * math.sqrt(more) > STEEP_ADAM else ""


def _order(loader: Any) -> bool | None:
    """Whether the loader goes through the data in order; None where it cannot be known."""
    sampler = getattr(loader, "sampler", None)
    return True if isinstance(sampler, SequentialSampler) else False if isinstance(sampler, RandomSampler) else None


OBSERVER = Batches
