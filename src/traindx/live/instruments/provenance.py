"""Measures which lines of the user's code made the tensors between a batch and its loss in the first steps, and the
structure of the files that those lines stand in."""

from __future__ import annotations

import functools
import os
import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch

from traindx.live.events.criteria import REGRESSION
from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps
from traindx.live.events.places import absolute, own_frame, place
from traindx.live.host.bootstrap import TRACE
from traindx.live.measures.statements import statements_of
from traindx.live.measures.tensors import tensors_in
from traindx.live.measures.tracing import Lines, Made, Trace, ancestors
from traindx.measurements import Provenance, SourceFile, Step

UPDATES = 2  # that are traced
LATEST = 4  # updates within which one is, where no module's call begins the first
MAX_PASSES = 8  # backward passes that are traced: of some loops no update is ever seen
MAX_STEPS = 40  # of the chain of one tensor,
MAX_LOOKED_AT = 400  # of so many operations that have led to it
MAX_MODULES = 20_000  # whose lines are noted
MAX_FILES = 6
MAX_CUTS = 4
SECONDS = 0.15  # that the traces may take together


def _or_stop(handler: Callable[..., None]) -> Callable[..., None]:
    """A fault of ours ends the trace before it ends this observer: no mode is left behind."""

    @functools.wraps(handler)
    def guarded(observer: Where, *arguments: Any) -> None:
        try:
            handler(observer, *arguments)
        except Exception:
            observer._end()
            raise

    return guarded


class Where(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._lines = Lines()
        self._trace: Trace | None = None
        self._stale: Trace | None = None  # ended inside a call of its own
        self._done = False
        self._passes = 0  # backward passes that are under way
        self._traced = 0  # that were
        self._later = False  # a trace is to begin when they are over
        self._looked = False  # the lines of a loss were measured
        self._seconds = 0.0
        self._named: dict[str, tuple[int, str]] = {}  # what a tensor of this step is for: its operation, its place
        self._files: dict[str, str] = {}  # by the path that places name
        self._written: set[str] = set()
        self._cuts: list[tuple[set[int], str, list[Made]]] = []  # of this step: what they hide, where they stand

    def attach(self) -> None:
        self.hub.patch(torch.nn.Module, "__init__", self._around_module)
        for owner, name in ((torch.Tensor, "backward"), (torch.autograd, "backward"), (torch.autograd, "grad")):
            self.hub.patch(owner, name, self._around_backward)
        for name in REGRESSION:  # they warn of shapes, with the line of their caller
            self.hub.patch(torch.nn.functional, name, self._around_warning)
        self.hub.aside = self

    # --- on and off ---------------------------------------------------------------------------------------------------

    def _around_module(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(module: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
            original(module, *args, **kwargs)
            if not self._done and len(self._lines.known) < MAX_MODULES and not torch.compiler.is_compiling():
                frame = own_frame()
                if frame is not None:
                    line = place(frame.f_code.co_filename, frame.f_lineno)
                    self._lines.known[id(module)] = (weakref.ref(module), line)

        return __init__

    def _around_backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A mode that is called is off the stack for so long, and back on it afterwards, and it calls what others have
        patched once more. So a trace neither begins nor ends inside a backward pass, and none is there meanwhile."""

        def backward(*args: Any, **kwargs: Any) -> Any:
            trace = self._trace
            self._sweep()
            if trace is not None:
                trace.step_aside()
            self._passes += 1
            try:
                return original(*args, **kwargs)
            finally:
                self._passes -= 1
                if trace is not None:
                    trace.come_back(wanted=self._trace is trace)
                if self._later and not self._passes:
                    self.hub.guard(self, self._start)

        return backward

    def _around_warning(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def criterion(*args: Any, **kwargs: Any) -> Any:
            trace = self._trace
            if trace is None or not trace.active:
                return original(*args, **kwargs)
            trace.step_aside()
            try:
                result = original(*args, **kwargs)
            finally:
                trace.come_back(wanted=self._trace is trace)
            self.hub.guard(self, trace.note, original.__name__, original, args, kwargs, result)
            return result

        return criterion

    def step_aside(self) -> None:
        """Something is compiled here, and what is compiled depends on the modes around it: no trace from now on."""
        self._done = True
        if self._trace is not None:
            self._trace.stop()

    def come_back(self) -> None:
        """It stays away."""

    def _is_ours(self) -> bool:
        return self.hub.inside or bool(torch.compiler.is_compiling())

    def _start(self) -> None:
        self._later = self._passes > 0
        if self._later:
            return
        if self._trace is None and not self._done and self.hub.working and os.environ.get(TRACE):
            self._trace = Trace(self._lines, self._is_ours)
            self._trace.start()

    def _sweep(self) -> None:
        """Take a trace off the stack that ended inside a call of its own."""
        if self._stale is not None:
            self._stale.sweep()
            self._stale = self._stale if self._stale.stale else None

    def _stop(self) -> None:
        self._sweep()
        trace, self._trace = self._trace, None
        if trace is not None:
            trace.stop()
            self._stale = trace if trace.stale else self._stale
            self.hub.spend_once(trace.seconds)
            self._seconds += trace.seconds
            self._named.clear()
            if trace.fault is not None:
                raise trace.fault

    def _end(self) -> None:
        self._done = True
        self._stop()
        self._lines.known.clear()

    # --- what happens -------------------------------------------------------------------------------------------------

    @_or_stop
    def on_call(self, model: torch.nn.Module) -> None:
        if self._done:
            return
        if not self.hub.grad or not model.training:
            if self._trace is not None:
                self._trace.step_aside()  # fused kernels are not used while a mode is there
            return
        self._start()

    @_or_stop
    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if self._done:
            return
        if not self.hub.grad or not model.training:
            if self._trace is not None:
                self._trace.come_back(wanted=True)
            return
        self._name("input", tensors_in((args, list(kwargs.values()))))
        self._name("output", tensors_in(output))

    @on_deep_steps
    @_or_stop
    def on_criterion(self, call: Criterion) -> None:
        if self._trace is not None and call.output.requires_grad:
            self._name("prediction", [call.input], again=True)
            self._name("target", [call.target], again=True)

    @on_deep_steps
    @_or_stop
    def on_backward(self, loss: torch.Tensor) -> None:
        trace = self._trace
        if trace is None or not trace.active:
            if trace is None and not self._done and not self._looked:  # a model without modules: the next step
                self._start()
            return
        self._looked = True
        self._traced += 1
        self._name("loss", [loss])
        for name, (number, at) in self._named.items():
            self._measure(name, at, _apart(trace.made[one] for one in ancestors(trace.made, number, MAX_LOOKED_AT)))
        if "loss" in self._named:
            self._measure_cuts(trace, self._named["loss"][0])
        self._named.clear()
        self._measure_files()
        if self._traced >= MAX_PASSES:
            self._end()

    def on_depth(self, deep: bool) -> None:
        if not deep:
            self._stop()

    @on_deep_steps
    @_or_stop
    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        if self._trace is not None and isinstance(optimizer, torch.optim.Optimizer):
            self._trace.step_aside()  # what the optimiser calculates is none of the user's lines

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if not self._written:
            self._measure_files()
        self._measure_held(optimizer)
        if self._passes and self._trace is not None and not self._looked:
            return  # by hand, and seen only now that the next pass begins: that one is to be measured yet
        if self._done:
            if self._trace is not None:
                self._end()
            return
        self._stop()
        enough = self.hub.step + 1 >= (UPDATES if self._looked else LATEST)
        if enough or self._seconds > SECONDS:
            self._end()
        elif self.hub.deep:
            self._start()

    def on_models_freed(self) -> None:
        self._stop()

    def on_end(self) -> None:
        self._end()

    # --- what is measured ---------------------------------------------------------------------------------------------

    def _name(self, name: str, tensors: Iterable[torch.Tensor], *, again: bool = False) -> None:
        trace = self._trace
        if trace is None or (name in self._named and not again):
            return
        for tensor in tensors:
            number = trace.number_of(tensor)
            if number is not None:
                self._named[name] = (number, _line())
                return

    def _measure(self, name: str, at: str, made: list[Made], hidden: int = 0, held: int = 0) -> None:
        steps = tuple(
            Step(one.line, one.operation, one.shape, one.low, one.high, one.grad, one.cut, one.module, one.made_at,
                 one.contained, one.constant, one.source, one.stretched)
            for one in made
        )  # fmt: skip
        self.hub.measure(Provenance(steps=steps, at=at, hidden=hidden, held=held, where=name))

    def _measure_cuts(self, trace: Trace, loss: int) -> None:
        """Operations at which the gradient stops, with parameters behind them that it does not reach otherwise."""
        made = trace.made
        everything = list(ancestors(made, loss, len(made)))
        joined = set(ancestors(made, loss, len(made), through_cuts=False))
        reached = {leaf for one in joined if made[one].grad for leaf in made[one].leaves}
        found: list[tuple[set[int], int]] = []
        for one in everything:
            if made[one].cut:
                behind = {leaf for before in ancestors(made, one, len(made)) for leaf in made[before].leaves}
                if behind - reached:
                    found.append((behind - reached, one))
        self._cuts = []
        for hidden, one in sorted(found, key=lambda pair: (-len(pair[0]), pair[1]))[:MAX_CUTS]:
            near = [made[n] for n in ancestors(made, one, 4)]
            self._cuts.append((hidden, made[one].line, near))
            self._measure("cut", made[one].line, near, len(hidden))

    def _measure_held(self, optimizer: torch.optim.Optimizer) -> None:
        """Cuts that hide what this optimiser is to update: elsewhere they may be on purpose."""
        cuts, self._cuts = self._cuts, []
        if cuts:
            own = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
            for hidden, line, near in cuts:
                if hidden & own:
                    self._measure("cut", line, near, len(hidden), len(hidden & own))

    def _measure_files(self) -> None:
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        paths = [main] if isinstance(main, str) else []
        made = self._trace.made if self._trace is not None else []
        named = (
            [one.line for one in made]
            + [one.made_at for one in made]
            + [line for _, line in self._lines.known.values()]
        )
        paths += dict.fromkeys(line.rpartition(":")[0] for line in named if line)
        paths += _project_files(paths[0]) if paths else []
        for path in dict.fromkeys(map(absolute, paths)):
            if path in self._written or len(self._written) >= MAX_FILES:
                continue
            self._written.add(path)
            statements = statements_of(path)
            if statements:
                self.hub.measure(SourceFile(statements=statements, where=place(path, 0).rpartition(":")[0]))


def _apart(made: Iterable[Made]) -> list[Made]:
    """Operations that differ in what they are or where they stand: a collate function takes every row by itself."""
    found: dict[tuple[object, ...], Made] = {}
    for one in made:
        found.setdefault((one.line, one.operation, one.shape, one.grad, one.cut, one.made_at), one)
        if len(found) >= MAX_STEPS:
            break
    return list(found.values())


def _project_files(script: str) -> list[str]:
    """The modules that are imported from the script's directory: what prepares the data and freezes layers runs before
    the first step."""
    folder = os.path.join(os.path.dirname(absolute(script)), "")
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return [
        file for file in files
        if isinstance(file, str) and file.startswith(folder) and "site-packages" not in file and file.endswith(".py")
    ]  # fmt: skip


def _line() -> str:
    frame = own_frame()
    return place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else ""


OBSERVER = Where
