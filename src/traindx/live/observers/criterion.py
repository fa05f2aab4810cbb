"""Does what goes into the loss function fit it, and is the loss that `backward` gets the right way up and of the right size?"""

from __future__ import annotations

import torch

from traindx.live.findings import Findings
from traindx.live.handmade import ABSOLUTE, SQUARED, written_out
from traindx.live.hub import Hub
from traindx.live.losses import Losses
from traindx.live.observer import Criterion, Observer, on_deep_steps
from traindx.live.outputs import Site, check, codes_again
from traindx.live.packing import Packing
from traindx.live.rows import watchable
from traindx.live.softmaxes import over_samples
from traindx.live.tensors import tensors_in

FIRST_LOOKS = 6  # calls of each place that are looked at on deep steps, and after that
LATER = 16  # every so many
NEW_LOOKS = 3  # at a loss function that was not met before, on whatever step
MOST_SITES = 32
INNER_LOOKS = 3  # at what lies inside the model, which does not change


class OutputsAndLoss(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._findings = Findings(hub)
        self._sites: dict[tuple[str, str], Site] = {}
        self._open: set[tuple[str, str]] = set()  # sites that one more look may decide
        self._looked: dict[str, int] = {}  # loss functions by name: a second phase may bring one that the first had not
        self._losses = Losses()
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
            if len(self._sites) >= MOST_SITES:
                return
            site = self._sites[key] = Site()
        site.looks += 1
        if site.looks > FIRST_LOOKS and site.looks % LATER:
            return
        for finding in check(call, site):
            self._findings.add(finding, call.where)
        again = site.open and call.target.is_cpu and call.name not in (SQUARED, ABSOLUTE)
        (self._open.add if again else self._open.discard)(key)

    def _look_again(self, call: Criterion) -> None:
        """Small batches show too few targets on deep steps alone."""
        key = (call.name, call.where)
        if key in self._open and call.output.requires_grad and watchable(call.target):
            for finding in codes_again(call, self._sites[key]):
                self._findings.add(finding, call.where)
            if not self._sites[key].open:
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
        if self.hub.deep and watchable(loss) and loss.numel() == 1:
            if not self._losses.made and not self._packing.seen:
                call = written_out(loss, output)
                if call is not None:
                    self._look(call)
            if self._inner_looks < INNER_LOOKS:
                self._inner_looks += 1
                inner = over_samples(loss, self._losses.batch)
                if inner is not None:
                    self._findings.add(inner, self._losses.where)
            for finding in self._losses.backward(loss, readable=not self._packing.seen):
                self._findings.add(finding, self._losses.where)

    @on_deep_steps
    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        if self.hub.deep:
            for finding in self._losses.step(optimizer, self.hub.step):
                self._findings.add(finding, self._losses.where)
            self._losses.direction.before(optimizer)

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self.hub.deep:
            for finding in self._losses.updated(optimizer):
                self._findings.add(finding, self._losses.where)


OBSERVER = OutputsAndLoss
