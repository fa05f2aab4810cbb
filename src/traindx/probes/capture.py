"""Captures what a script trains: models, optimisers and the first steps as tapes, each checked by computing it again.

A tape counts only if its loss, computed anew with the same random numbers, equals the loss the script saw, and if the
gradient of the first one is the gradient the script got. What cannot be captured is said, never guessed."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_every_step
from traindx.probes.held_out import fresh_steps, other_loaders, steps_from
from traindx.probes.lingering import Lingering
from traindx.probes.sharding import needs_other_ranks
from traindx.probes.state import State
from traindx.probes.subject import Clip, Part, Step, Subject
from traindx.probes.tape import Tape, Unreplayable
from traindx.probes.tracer import Tracer, unwrapped

STEPS = 8  # captured of each optimiser
MOST_UPDATES = 64  # with many optimisers not each gets its full number
# how closely a replay must meet the original, relative to the loss: kernels of a GPU do not add in the same order twice
CLOSE = {torch.float16: 1e-2, torch.bfloat16: 2e-2, torch.float64: 1e-9}
CLOSE_SINGLE, CLOSE_CUDA = 1e-5, 1e-3
CLOSE_GRADIENT = 1e-3


@dataclass
class Side:
    """One optimiser with the steps it made. `state` is the picture before its first one."""

    optimizer: torch.optim.Optimizer
    state: State
    models: list[torch.nn.Module]
    steps: list[Step] = field(default_factory=list)


class Capture(Observer):
    """Watches from update `at_step` on; hands the subjects to `then` when it has seen enough, or at the script's
    end."""

    def __init__(
        self, hub: Hub, at_step: int, then: Callable[[list[Subject], Hub], None], *, pace: bool = False,
        evaluation: bool = False
    ) -> None:  # fmt: skip
        """`pace` and `evaluation`: whether the script may go on for a moment to show how fast it is and how it
        evaluates."""
        super().__init__(hub)
        self.tracer = Tracer()
        self.lingering = Lingering(hub, self.tracer, pace, evaluation)
        self._at, self._then = at_step, then
        self._sides: dict[int, Side] = {}
        self._parts: list[Part] = []
        self._problems: list[str] = []
        self._updates = 0
        self._stepping = self._active = self._done = False
        self._loader: Any = None
        self._batch: Any = None  # the last one that a loader gave to the training
        self._first: Any = None  # the one that the first step was made of
        self._others: tuple[Any, ...] = ()
        self._clip: Clip | None = None
        self._criterion: tuple[str, int | None] | None = None
        self._expected: dict[int, tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]] = {}

    def attach(self) -> None:
        self.hub.patch(torch.amp.GradScaler, "scale", self._around_scale)
        for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
            self.hub.patch(owner, "clip_grad_norm_", partial(self._around_clip, "norm"))
            self.hub.patch(owner, "clip_grad_value_", partial(self._around_clip, "value"))
        if self._at == 0:
            self._begin()

    def _begin(self) -> None:
        self._active = True
        self.tracer.start()

    def _around_scale(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scale(scaler: Any, outputs: Any) -> Any:
            result = original(scaler, outputs)
            if self._active and isinstance(outputs, torch.Tensor):
                self.tracer.note_scaled(result, outputs)
            return result

        return scale

    def _around_clip(self, by: Literal["norm", "value"], original: Callable[..., Any]) -> Callable[..., Any]:
        def clip(parameters: Any, limit: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.hub.inside and isinstance(limit, int | float):
                norm_type = args[0] if args else kwargs.get("norm_type", 2.0)
                self._clip = Clip(float(limit), by, float(norm_type) if by == "norm" else 2.0)
            return original(parameters, limit, *args, **kwargs)

        return clip

    # --- events -------------------------------------------------------------------------------------------------------

    @on_every_step
    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        if self.hub.grad and self._first is None:
            self._loader = self._loader or loader
            self._batch = batch if loader is self._loader else None

    @on_every_step
    def on_criterion(self, call: Criterion) -> None:
        if self.hub.grad and self._criterion is None and self._active:
            classified = call.name in ("cross_entropy", "nll_loss") and call.input.dim() > 1
            self._criterion = (call.name, call.input.shape[1] if classified else None)

    @on_every_step
    def on_backward(self, loss: torch.Tensor) -> None:
        if not self._active or self._done or (self._stepping and self._parts):
            return
        try:
            tape = self.tracer.cut(loss)
            for model in tape.models:
                if (reason := needs_other_ranks(model)) is not None:
                    raise Unreplayable(reason)
            with self._private(), _put_back(tape.models):
                self._check(tape)
            tape.forget_buffers()
            self._parts.append(tape)
        except Unreplayable as error:
            self._problem(str(error))
        except Exception as error:  # a user's model that cannot be called twice
            self._problem(f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}")

    @on_every_step
    def on_gradients(self, loss: torch.Tensor) -> None:
        """The gradient that arrived must be the one the replay gave."""
        expected, self._expected = self._expected, {}
        for parameter, before, gradient in expected.values():
            got = parameter.grad
            if got is None:
                continue
            added = got.detach() - before if before is not None else got.detach()
            off = float((added.float() - gradient.float()).norm())
            size = float(gradient.float().norm())
            if not off <= CLOSE_GRADIENT * size + 1e-12 and math.isfinite(size):
                self._parts = []
                self._problem(f"the replayed gradient differs from the script's by {off / max(size, 1e-30):.1%}")
                return

    @on_every_step
    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        self._stepping = True
        if self._active and not self._done and id(optimizer) not in self._sides:
            self._know(optimizer)

    @on_every_step
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._stepping = False
        if self._done:
            return
        if not self._active:
            if self.hub.step + 1 >= self._at:
                self._begin()
            return
        side = self._sides[id(optimizer)]
        if self._parts:
            side.models = _distinct([*side.models, *(model for part in self._parts for model in _models(part))])
            side.steps.append(Step(tuple(self._parts), self.hub.step))
            self._first = self._first or (self._batch,)
        self._parts = []
        self.tracer.reset()
        self._updates += 1
        if self._updates >= min(STEPS * len(self._sides), MOST_UPDATES):
            self._done, self._active = True, False
            self._others = other_loaders(self._loader)
            self.lingering.begin(self._finish, wait=not self._others)

    def on_end(self) -> None:
        if self._active and not self._done:
            self._done, self._active = True, False
            self._finish()

    # --- the parts ----------------------------------------------------------------------------------------------------

    def _know(self, optimizer: torch.optim.Optimizer) -> None:
        """A new optimiser, before its first update in sight: how everything was then."""
        models = _distinct(
            [*(unwrapped(m) for m in self.hub.models.values()), *(m for p in self._parts for m in _models(p))]
        )
        with self._private():
            tensors = [p for group in optimizer.param_groups for p in group["params"]]
            self._sides[id(optimizer)] = Side(optimizer, State(models, [optimizer], tensors), models)

    def _check(self, tape: Tape) -> None:
        """Raise unless the tape gives the loss it was cut from."""
        first = not self._parts and not any(side.steps for side in self._sides.values())
        with torch.set_grad_enabled(self.hub.grad):
            again = tape.run(buffers=True).loss
            if first and again.requires_grad:
                self._expect(again)
        observed, got = tape.observed.double().cpu(), again.detach().double().cpu()
        if observed.shape != got.shape or observed.numel() != 1:
            raise Unreplayable("backward was called on a tensor that is no single number")
        close = CLOSE.get(tape.observed.dtype, CLOSE_CUDA if tape.observed.is_cuda else CLOSE_SINGLE)
        same = torch.allclose(observed, got, rtol=close, atol=1e-12, equal_nan=True)
        if not same:
            raise Unreplayable(f"computed again, the loss is {float(got):.6g} and not {float(observed):.6g}")

    def _expect(self, loss: torch.Tensor) -> None:
        parameters = _distinct([p for model in self.hub.models.values() for p in model.parameters() if p.requires_grad])
        averaged = any(unwrapped(model) is not model for model in self.hub.models.values())
        if not parameters or averaged or self.tracer.scaled:
            return  # gradients that are averaged over ranks or scaled are not those of the loss alone
        found = torch.autograd.grad(loss, parameters, allow_unused=True)
        for parameter, gradient in zip(parameters, found, strict=True):
            if gradient is not None and not gradient.is_sparse:
                before = None if parameter.grad is None else parameter.grad.detach().clone()
                self._expected[id(parameter)] = (parameter, before, gradient)

    def _finish(self) -> None:
        self.tracer.stop()
        self._expected = {}
        sides = list(self._sides.values())
        for side in reversed(sides):
            side.state.restore()
        self._then([self._subject(side, sides) for side in sides], self.hub)

    def _subject(self, side: Side, sides: list[Side]) -> Subject:
        name, classes = self._criterion or (None, None)
        trained = {id(p) for group in side.optimizer.param_groups for p in group["params"]}
        named = {id(p) for model in side.models for p in model.parameters()}
        loose = [p for group in side.optimizer.param_groups for p in group["params"] if id(p) not in named]
        # the models whose weights this optimiser moves come first: they give the layers their names
        models = sorted(
            _outer(_containers(_outer(side.models))),
            key=lambda model: not any(id(p) in trained for p in model.parameters()),
        )
        return Subject(
            models=tuple(models), steps=tuple(side.steps), optimizer=side.optimizer, step=self._at, source="script",
            loader=self._loader, loss_name=name, classes=classes, partial=len(sides) > 1,
            held_out=self._held_out(side), held_out_loaders=self._others,
            pace=self.lingering.pace if len(sides) == 1 else None,
            notes=tuple(dict.fromkeys(self._problems)), extra=tuple(loose),
            optimizers=tuple(one.optimizer for one in sides), clip=self._clip,
        )  # fmt: skip

    def _held_out(self, side: Side) -> tuple[Step, ...]:
        """Steps of the evaluation that was seen, or else of the data that loaders hold for one."""
        trained = {id(p) for group in side.optimizer.param_groups for p in group["params"]}
        seen = [
            step
            for step in self.lingering.evaluated
            if any(id(p) in trained for part in step.parts for model in _models(part) for p in model.parameters())
        ]
        if seen or not side.steps or self._first is None:
            return fresh_steps(seen, side.steps)
        with _put_back(side.models):
            return steps_from(self._others, side.steps[0], self._first[0])

    def _problem(self, text: str) -> None:
        self._problems.append(text)

    @contextmanager
    def _private(self) -> Iterator[None]:
        with self.tracer.looking_away():
            yield


@contextmanager
def _put_back(models: list[torch.nn.Module]) -> Iterator[None]:
    """The models as they were, once their tape has been tried."""
    state = State(models, parameters=False)
    try:
        yield
    finally:
        state.restore()


def _models(part: Part) -> list[torch.nn.Module]:
    return part.models if isinstance(part, Tape) else []


def _distinct(items: list[Any]) -> list[Any]:
    return list({id(item): item for item in items}.values())


def _containers(models: list[torch.nn.Module]) -> list[torch.nn.Module]:
    """The smallest module that holds all of these, where they are called one by one from outside (a Lightning module, a
    pair of encoder and decoder): it knows their names."""
    if not models:
        return models
    wanted = {id(model) for model in models}
    holders = [
        candidate
        for candidate in gc.get_objects()
        if issubclass(type(candidate), torch.nn.Module)
        and "_modules" in candidate.__dict__
        and wanted <= {id(module) for module in candidate.modules()}
    ]
    return [unwrapped(min(holders, key=lambda one: len(list(one.modules()))))] if holders else models


def _outer(models: list[torch.nn.Module]) -> list[torch.nn.Module]:
    """Without modules that are part of another one in the list, and without those that hold nothing."""
    inner = {id(part) for model in models for part in list(model.modules())[1:]}
    return [model for model in models if id(model) not in inner and next(model.parameters(), None) is not None]
