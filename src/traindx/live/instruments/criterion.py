"""Measures what goes into loss functions, and the loss that `backward` gets: its size, its sign, and which way
updates go."""

from __future__ import annotations

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps
from traindx.live.measures.handmade import written_out
from traindx.live.measures.losses import Losses
from traindx.live.measures.nodes import ending
from traindx.live.measures.outputs import Site, class_codes, loss_call, regression_targets
from traindx.live.measures.packing import Packing
from traindx.live.measures.rows import watchable
from traindx.live.measures.softmaxes import softmaxes_inside
from traindx.live.measures.tensors import tensors_in
from traindx.loss_functions import ABSOLUTE, REGRESSION, SQUARED
from traindx.measurements import LossOperation

FIRST_LOOKS = 6  # calls of each place that are looked at on deep steps, and after that
LATER = 16  # every so many
NEW_LOOKS = 3  # at a loss function that was not met before, on whatever step
MAX_SITES = 32
MAX_OPERATIONS = 16  # different ones in the graphs of losses: as many as are written at once
INNER_LOOKS = 3  # at what lies inside the model, which does not change


class OutputsAndLoss(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._sites: dict[tuple[str, str], Site] = {}
        self._open: set[tuple[str, str]] = set()  # sites whose class codes are still counted on every step
        self._looked: dict[str, int] = {}  # loss functions by name: a second phase may bring one that the first had not
        self._losses = Losses()
        self._operations: set[LossOperation] = set()
        self._output: torch.Tensor | None = None  # what the model gave back last
        self._packing = Packing(hub)
        self._inner_looks = 0

    def attach(self) -> None:
        self._packing.attach()

    def on_criterion(self, call: Criterion) -> None:
        new = self._looked.get(call.name, 0) < NEW_LOOKS
        if not self.hub.deep and not (new and call.input.is_cpu):
            if self._open:
                self._look_again(call)
            return
        if not call.output.requires_grad or not watchable(call.input) or not watchable(call.target):
            return
        if self.hub.deep:
            self._losses.criterion(call)
        if new:
            self._looked[call.name] = self._looked.get(call.name, 0) + 1
        self._look(call)

    def _look(self, call: Criterion) -> None:
        key = (call.name, call.where)
        site = self._sites.get(key)
        if site is None:
            if len(self._sites) >= MAX_SITES:
                return
            site = self._sites[key] = Site()
        site.looks += 1
        if site.looks > FIRST_LOOKS and site.looks % LATER:
            return
        end = ending(call.input)
        self.hub.measure(loss_call(call, end, site))
        if call.name in REGRESSION:
            self.hub.measure(regression_targets(call, end, site))
        again = site.open and call.target.is_cpu and call.name not in (SQUARED, ABSOLUTE)
        (self._open.add if again else self._open.discard)(key)

    def _look_again(self, call: Criterion) -> None:
        """Small batches show too few targets on deep steps alone."""
        key = (call.name, call.where)
        if key in self._open and call.output.requires_grad and watchable(call.target):
            site = self._sites[key]
            self.hub.measure(class_codes(call, ending(call.input), site))
            if not site.open:
                self._open.discard(key)

    def on_forward(
        self, model: torch.nn.Module, args: tuple[object, ...], kwargs: dict[str, object], output: object
    ) -> None:
        first = next((one for one in (*args, *kwargs.values()) if isinstance(one, torch.Tensor) and one.dim()), None)
        if first is not None:
            self._losses.batch = first.shape[0]
        self._output = next(tensors_in(output), None)

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        output, self._output = self._output, None
        if not self.hub.deep or not watchable(loss) or loss.numel() != 1:
            return
        by_hand, readable = not self._losses.made, not self._packing.seen
        if by_hand and readable:
            call = written_out(loss, output)
            if call is not None:
                self._look(call)
        self._losses.backward(loss, readable=readable)
        if self._inner_looks < INNER_LOOKS:
            self._inner_looks += 1
            for inside in softmaxes_inside(loss, self._losses.batch, self._losses.where):
                self._measure_operation(inside)
        if by_hand:
            for operation in self._losses.written_out(loss):
                self._measure_operation(operation)

    def _measure_operation(self, operation: LossOperation) -> None:
        if operation not in self._operations and len(self._operations) < MAX_OPERATIONS:
            self._operations.add(operation)
            self.hub.measure(operation)

    @on_deep_steps
    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        if self.hub.deep:
            reduction = self._losses.step(optimizer)
            if reduction is not None:
                self.hub.measure(reduction)
            self._losses.direction.before(optimizer)

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self.hub.deep:
            self.hub.measure(self._losses.updated(optimizer))


OBSERVER = OutputsAndLoss
