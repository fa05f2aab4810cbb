"""The hub: turns what torch does into events for the observers, keeps the step count, the budget and the recording.

Always on, at about a microsecond each: `backward`, optimiser steps, loss functions, data loaders. Module hooks see every
layer but cost microseconds a layer, so they are installed (globally, never on the user's modules, which may be copied or
pickled) only for *deep* steps: the first ones, and later ones as often as the cost budget allows.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from types import CodeType, FrameType
from typing import Any

import torch
from torch.nn.modules import module as torch_module
from torch.optim import optimizer as torch_optimizer
from torch.utils.data import DataLoader

from traindx.live.observer import Criterion, Observer
from traindx.live.patches import Patches
from traindx.live.store import Store
from traindx.live.values import Values

FIRST_GLANCES = 6  # the first evaluations are looked at whatever the budget says
GLANCE_CALLS = 64  # calls of whole models told by one glance at most: a long evaluation is not watched to its end
HOOK_SECONDS = 2e-6  # what a module hook costs beyond the observers' own time (measured, CPython 3.11, torch 2.13)
FIRST_DEEP = 3  # the first steps are looked at closely whatever they cost: wiring shows there
CRITERIA = (
    "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss", "gaussian_nll_loss", "multi_margin_loss",
    "multilabel_soft_margin_loss", "soft_margin_loss", "hinge_embedding_loss", "margin_ranking_loss", "ctc_loss",
    "cosine_embedding_loss",
)  # fmt: skip
_users_code: dict[CodeType, bool] = {}  # whether a function is the user's, by its code
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TORCH = os.path.dirname(os.path.abspath(torch.__file__))


class Hub:
    """One per process. `step` counts optimiser updates; `deep` says that the current step is looked at closely."""

    def __init__(
        self, open_store: Callable[[], Store], observers: Sequence[type[Observer]], budget: float, steps: int | None
    ) -> None:
        self.step = 0
        self.deep = True
        self.grad = True  # gradients were on when the event that is being told happened
        self.budget = budget
        self.stop_after = steps
        self.cut_short = False  # by --steps, an exception or Ctrl-C: the length says nothing
        self.models: dict[int, torch.nn.Module] = {}  # whole models seen, by id
        self.names: dict[int, str] = {}  # qualified names of their layers, by id
        self.patches = Patches()
        self.values = Values()
        self._open_store = open_store
        self._store: Store | None = None
        self._observers: list[Observer] = [kind(self) for kind in observers]
        self._handlers = _handlers_of(self._observers)
        self._pid = os.getpid()
        self._began = time.perf_counter()
        self._spent = 0.0
        self._deep_spent = 0.0
        self._depth = 0
        self._inside = False  # an observer is running: what it does itself is not observed
        self._glancing = False  # whole models are reported, their layers are not
        self._glances = 0
        self._glanced = 0  # calls told by this glance
        self._unhook: list[Any] = []
        self._ended = False

    # --- what observers use -------------------------------------------------------------------------------------------

    @property
    def store(self) -> Store:
        """The recording, opened when there is something to record: processes that never train leave no file."""
        if self._store is None:
            self._store = self._open_store()
            if self._store.broken:
                self.warn(f"not recording: {self._store.broken}")
        return self._store

    @property
    def inside(self) -> bool:
        """An observer is at work, or the recording has ended: what happens now is not the training's doing."""
        return self._inside or self._ended

    @property
    def cost(self) -> float:
        """The share of wall time that recording has taken so far."""
        return self._spent / max(time.perf_counter() - self._began, 1e-9)

    def patch(self, owner: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self.patches.wrap(owner, name, around)

    def record(self, name: str, value: torch.Tensor | float) -> None:
        """A value of the current step. A tensor on a device is copied later, without waiting for it."""
        self.values.add(self.step, name, value)

    def fact(
        self, identifier: str, present: bool, evidence: str, *, where: str | None = None, clarity: float = 1.0
    ) -> None:
        """Something seen directly. The last word on an id counts."""
        self.store.line(
            "fact", id=identifier, present=present, evidence=evidence, where=where, step=self.step, clarity=clarity
        )

    def config(self, **settings: Any) -> None:
        self.store.line("config", **settings)

    def glance(self) -> None:
        """Have the calls of whole models told by `on_glance` until the next `backward`, if the budget allows it. Deep steps
        tell them by `on_forward` anyway."""
        if not self.deep and not self._glancing and (self._glances < FIRST_GLANCES or self.cost < self.budget):
            self._glancing = True
            self._glances += 1
            self._glanced = 0
            self._install_hooks()

    def event(self, kind: str, text: str) -> None:
        self.store.line("event", event=kind, text=text, step=self.step)

    def warn(self, text: str) -> None:
        print(f"traindx: {text}", file=sys.stderr)

    def name_of(self, module: torch.nn.Module) -> str:
        return self.names.get(id(module), type(module).__name__)

    def observe(self, handler: str, *arguments: Any) -> None:
        """Tell the observers that care; one that fails is dropped with one line, and the training goes on."""
        handlers = self._handlers.get(handler)
        if not handlers or self._inside or self._ended or os.getpid() != self._pid:
            return
        began = time.perf_counter()
        self._inside = True
        self.grad = torch.is_grad_enabled()
        if self.grad:
            torch.set_grad_enabled(False)
        try:
            for observer, handle in tuple(handlers):
                try:
                    handle(*arguments)
                except Exception as error:
                    self._drop(observer, error)
        finally:
            if self.grad:
                torch.set_grad_enabled(True)
            self._inside = False
            took = time.perf_counter() - began
            self._spent += took
            if self.deep:
                self._deep_spent += took

    def _drop(self, observer: Observer, error: Exception) -> None:
        self._observers.remove(observer)
        self._handlers = _handlers_of(self._observers)
        if os.environ.get("TRAINDX_DEBUG"):
            raise error
        self.warn(f"{type(observer).__name__} stopped watching ({type(error).__name__}: {error})")

    # --- torch → events -----------------------------------------------------------------------------------------------

    def attach(self) -> None:
        self.patch(torch.autograd, "backward", self._around_backward)
        for name in CRITERIA:
            self.patch(torch.nn.functional, name, partial(self._around_criterion, name))
        self.patch(DataLoader, "__iter__", self._around_loader)
        for hook, install in (
            (self._before_step, torch_optimizer.register_optimizer_step_pre_hook),
            (self._after_step, torch_optimizer.register_optimizer_step_post_hook),
        ):
            self.patches.add(install(hook).remove)
        for observer in self._observers:
            observer.attach()
        self._look_closely(True)

    def detach(self) -> None:
        """The end: last words, everything written, every patch undone."""
        if self._ended or os.getpid() != self._pid:
            return
        self.observe("on_end")
        self._look_closely(False)
        self.write(wait=True)
        if self._store is not None:
            self._store.line("cost", share=self.cost, seconds=self._spent, steps=self.step)
            self._store.close()
        self._ended = True
        self.patches.undo()

    def _around_backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if self._inside or torch.compiler.is_compiling():
                return original(tensors, *args, **kwargs)
            losses = (
                [tensors] if isinstance(tensors, torch.Tensor) else [t for t in tensors if isinstance(t, torch.Tensor)]
            )
            if self._glancing:
                self._look_closely(self.deep)
            for loss in losses:
                self.observe("on_backward", loss)
            result = original(tensors, *args, **kwargs)
            for loss in losses:
                self.observe("on_gradients", loss)
            return result

        return backward

    def _around_criterion(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def criterion(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            output = original(input, target, *args, **kwargs)
            if self._inside or torch.compiler.is_compiling():
                return output
            if (
                isinstance(input, torch.Tensor)
                and isinstance(target, torch.Tensor)
                and isinstance(output, torch.Tensor)
            ):
                self.observe("on_criterion", Criterion(name, input, target, kwargs, output, user_line()))
            return output

        return criterion

    def _around_loader(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __iter__(loader: Any) -> Any:
            iterator = original(loader)
            return iterator if self._inside or self._ended else _Timed(self, loader, iterator)

        return __iter__

    def _before_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self.observe("on_step", optimizer)

    def _after_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if self._inside or self._ended or os.getpid() != self._pid:
            return
        self.observe("on_updated", optimizer)
        self.step += 1
        began = time.perf_counter()
        elapsed = began - self._began
        deep = self.step < FIRST_DEEP or self._deep_spent < 0.6 * self.budget * elapsed
        if deep != self.deep:
            self._look_closely(deep)
        if self.store.due():
            self.write()
        self._spent += time.perf_counter() - began
        if self.stop_after is not None and self.step >= self.stop_after:
            self.cut_short = True
            raise SystemExit(0)

    def _look_closely(self, deep: bool) -> None:
        """Install or remove the hooks that see every layer."""
        self.deep = deep
        self._glancing = False
        self._depth = 0
        while self._unhook:
            self._unhook.pop().remove()
        if deep:
            self._install_hooks()

    def _install_hooks(self) -> None:
        self._depth = 0
        self._unhook = [
            torch_module.register_module_forward_pre_hook(self._enter),
            torch_module.register_module_forward_hook(self._leave, with_kwargs=True, always_call=True),
        ]

    def _enter(self, module: torch.nn.Module, args: Any) -> None:
        if self._inside or torch.compiler.is_compiling():
            return
        outermost = self._depth == 0 and not self._glancing and id(module) not in self.models
        if outermost and not isinstance(module, torch.nn.modules.loss._Loss):
            self.meet(module)
        self._depth += 1

    def _leave(self, module: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        if self._inside or torch.compiler.is_compiling() or self._depth == 0:
            return
        self._depth -= 1
        if output is None:  # the call ended in an exception
            return
        if self._glancing:
            self._spent += HOOK_SECONDS
            # a glance may begin in the middle of a forward pass: only models known from a deep step are whole
            if self._depth == 0 and id(module) in self.models:
                self.observe("on_glance", module, args, kwargs, output)
                self._glanced += 1
                if self._glanced >= GLANCE_CALLS:
                    self._look_closely(self.deep)
            return
        if self._depth > 0 or not isinstance(module, torch.nn.modules.loss._Loss):
            self.observe("on_module", module, self.name_of(module), args, output)
        if self._depth == 0 and not isinstance(module, torch.nn.modules.loss._Loss):
            self.observe("on_forward", module, args, kwargs, output)

    def meet(self, model: torch.nn.Module) -> None:
        """Know a whole model and the names of its layers."""
        self.models[id(model)] = model
        prefix = "" if len(self.models) == 1 else f"{type(model).__name__}."
        for name, layer in model.named_modules():
            self.names.setdefault(id(layer), f"{prefix}{name}" if name else type(model).__name__)

    def write(self, *, wait: bool = False) -> None:
        """Put into the recording what has arrived; with `wait`, all of it."""
        for step, row in self.values.ready(wait=wait):
            self.store.row(step, row)
        if self._store is not None:
            self._store.flush()


def _handlers_of(observers: Sequence[Observer]) -> dict[str, list[tuple[Observer, Callable[..., None]]]]:
    """Who wants to hear of what: an event that an observer does not override is never sent to it."""
    wanted: dict[str, list[tuple[Observer, Callable[..., None]]]] = {}
    for name in (name for name in vars(Observer) if name.startswith("on_")):
        wanted[name] = [
            (one, getattr(one, name)) for one in observers if getattr(type(one), name) is not getattr(Observer, name)
        ]
    return wanted


class _Timed:
    """A loader's iterator that notes how long each batch was waited for."""

    def __init__(self, hub: Hub, loader: Any, iterator: Any) -> None:
        self._hub, self._loader, self._iterator = hub, loader, iterator

    def __iter__(self) -> _Timed:
        return self

    def __next__(self) -> Any:
        began = time.perf_counter()
        batch = next(self._iterator)
        self._hub.observe("on_batch", batch, self._loader, time.perf_counter() - began)
        return batch

    def __len__(self) -> int:
        return len(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


def user_line() -> str:
    """file:line of the innermost frame that is neither ours nor torch's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        users = _users_code.get(code)
        if users is None:
            users = _users_code[code] = not code.co_filename.startswith((_OWN, _TORCH, "<"))
        if users:
            return _place(code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return ""


@lru_cache(maxsize=1024)
def _place(path: str, line: int) -> str:
    return f"{os.path.relpath(path) if path.startswith(os.getcwd()) else path}:{line}"
