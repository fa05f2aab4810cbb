"""Measures the optimisers: their settings, how often one is built anew, and how schedulers and the loss scaler act on
them."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any, TypeGuard

import torch
from torch.optim import Optimizer, lr_scheduler

from traindx.live.events.by_hand import ByHand
from traindx.live.events.hub import Hub, user_line
from traindx.live.events.instrument import Observer
from traindx.live.measures.rows import watchable
from traindx.measurements import (
    RATE_SHARES,
    FirstScheduleStep,
    OptimizerSettings,
    RebuiltOptimizers,
    ScheduleSteps,
)

STATELESS = ("SGD",)  # without momentum there is nothing to lose
MAX_DESCRIBED = 4  # optimisers whose settings are written
MAX_SCHEDULES = 16
MAX_SAMPLED, SAMPLE = 16, 64  # weights, and elements of each, that are compared when a state is loaded

# Every optimiser constructed since the recording began, and the line that did.
built: weakref.WeakKeyDictionary[Optimizer, str] = weakref.WeakKeyDictionary()


class _Schedule:
    """What a scheduler is, without keeping it: it would keep its optimiser, and that the weights."""

    def __init__(self, scheduler: Any, first: int) -> None:
        self.scheduler = weakref.ref(scheduler)
        self.name = type(scheduler).__name__
        self.steps = 0
        self.first = first  # updates when it was first stepped
        key = next((key for key in ("T_max", "step_size", "gamma") if hasattr(scheduler, key)), None)
        self.settings = f"{key}={getattr(scheduler, key)}" if key else self.name


class Optimizers(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._steps: dict[int, int] = {}  # updates by optimiser
        # parameters, settings, and the step of the last one built
        self._history: list[tuple[frozenset[int], str, int]] = []
        self._rebuilt = 0
        self._noted: set[str] = set()  # what is written once
        self._schedules: list[_Schedule] = []
        self._peak = self._last_rate = 0.0
        # the step at which the rate was last between this share of its peak and the one before
        self._last_above = [0] * len(RATE_SHARES)
        self._skipped = 0

    def attach(self) -> None:
        self.hub.patch(Optimizer, "__init__", self._around_init)
        self.hub.patch(torch.nn.Module, "load_state_dict", self._around_load)
        self.hub.patch(lr_scheduler.LRScheduler, "step", self._around_schedule)
        for kind in list(vars(lr_scheduler).values()):
            own = isinstance(kind, type) and issubclass(kind, lr_scheduler.LRScheduler) and "step" in vars(kind)
            if own and kind is not lr_scheduler.LRScheduler:
                self.hub.patch(kind, "step", self._around_schedule)
        self.hub.patch(torch.amp.grad_scaler.GradScaler, "step", self._around_scaled_step)
        self.hub.patch(torch.amp.grad_scaler.GradScaler, "update", self._around_update)

    # --- what torch does ----------------------------------------------------------------------------------------------

    def _around_init(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            if not self.hub.inside:
                built[optimizer] = ""
                self._guarded(self._was_built, optimizer)

        return __init__

    def _around_load(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def load_state_dict(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            before = _sample(module)
            result = original(module, *args, **kwargs)
            # weights that come back as they were left go on with the same training, others begin a new one
            if not _same(before, _sample(module)):
                self._history.clear()
            return result

        return load_state_dict

    def _around_schedule(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.hub.inside and getattr(scheduler, "_step_count", 0) == 1:
                self._guarded(self._first_schedule, scheduler)
            if not self.hub.inside and self.hub.step:
                known = next((one for one in self._schedules if one.scheduler() is scheduler), None)
                if known is None and len(self._schedules) < MAX_SCHEDULES:
                    known = _Schedule(scheduler, self.hub.step)
                    self._schedules.append(known)
                if known is not None:
                    known.steps += 1
                    self._guarded(self._follow, getattr(scheduler, "optimizer", None))
                if known is not None and isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
                    self._guarded(self._note_metric, scheduler, args, kwargs)
            return original(scheduler, *args, **kwargs)

        return step

    def _note_metric(self, scheduler: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep what a scheduler waits on, and the way it is to go."""
        value = args[0] if args else kwargs.get("metrics")
        if isinstance(value, int | float | torch.Tensor) and not isinstance(value, bool):
            self.hub.record("plateau_metric", value.detach() if isinstance(value, torch.Tensor) else float(value))
            if "plateau" not in self._noted:
                self._noted.add("plateau")
                self.hub.config(plateau_mode=str(scheduler.mode))

    def _around_scaled_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scaler: Any, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
            before = self.hub.step
            result = original(scaler, optimizer, *args, **kwargs)
            self._skipped += self.hub.step == before
            return result

        return step

    def _around_update(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def update(scaler: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(scaler, *args, **kwargs)
            scale = getattr(scaler, "_scale", None)
            if isinstance(scale, torch.Tensor) and not self.hub.inside:
                self.hub.record("loss_scale", scale.clone())
                self.hub.record("skipped", self._skipped)
            return result

        return update

    def _guarded(self, call: Callable[..., None], *arguments: Any) -> None:
        """Patches run outside `observe`: what goes wrong here must not reach the training."""
        try:
            with torch.no_grad():
                call(*arguments)
        except Exception as error:
            if "guard" not in self._noted:
                self._noted.add("guard")
                self.hub.warn(f"Optimizers missed something ({type(error).__name__}: {error})")

    # --- what is measured ---------------------------------------------------------------------------------------------

    def _was_built(self, optimizer: Optimizer) -> None:
        built[optimizer] = user_line()
        held = frozenset(id(p) for group in optimizer.param_groups for p in group["params"])
        settings = _settings(optimizer)
        before = next((entry for entry in self._history if 2 * len(entry[0] & held) > len(held)), None)
        self._history = [entry for entry in self._history if entry is not before]
        self._history.append((held, settings, self.hub.step))
        if before is None or before[2] == self.hub.step or before[1] != settings or not _keeps_state(optimizer):
            return
        self._rebuilt += 1
        self.hub.measure(RebuiltOptimizers(rebuilt=self._rebuilt, where=built[optimizer]))

    def _first_schedule(self, scheduler: Any) -> None:
        """The first step of a scheduler beside the one it makes by itself when it is built."""
        optimizer = getattr(scheduler, "optimizer", None)
        if optimizer is None or getattr(scheduler, "_is_initial", False):
            return
        after = id(optimizer) in self._steps or bool(getattr(optimizer, "_opt_called", False))
        self.hub.measure(
            FirstScheduleStep(
                scheduler=type(scheduler).__name__, after_optimizer=after, skipped=self._skipped, where=user_line()
            )
        )

    def on_updated(self, optimizer: Optimizer) -> None:
        steps = self._steps[id(optimizer)] = self._steps.get(id(optimizer), 0) + 1
        if steps == 1 and len(self._steps) <= MAX_DESCRIBED:
            self._describe(optimizer, len(self._steps) - 1)
        if self._schedules:
            self._follow(optimizer)

    def _follow(self, optimizer: Optimizer | None) -> None:
        """The rate of the update that was just made. Asked where a scheduler goes on too: other updates are skipped."""
        rate = optimizer.param_groups[0].get("lr") if optimizer is not None else None
        if not isinstance(rate, float):
            return
        self._last_rate = rate
        self._peak = max(self._peak, rate)
        for place, share in enumerate(RATE_SHARES):
            if rate > share * self._peak:
                self._last_above[place] = self.hub.step
                break

    def _describe(self, optimizer: Optimizer, number: int) -> None:
        group = optimizer.param_groups[0]
        settings: dict[str, Any] = {"optimizer": type(optimizer).__name__}
        if isinstance(optimizer, ByHand):
            guessed = "SGD" if optimizer.plain else "written by hand"
            settings = {"optimizer": optimizer.name or guessed}
            settings |= {} if optimizer.name else {"update_by_hand": True}
        for key in ("lr", "weight_decay", "momentum", "eps", "nesterov"):
            value = group.get(key)
            if isinstance(value, int | float):
                settings[key] = value
        if isinstance(group.get("betas"), tuple):
            settings["betas"] = str(group["betas"])
        if number:
            settings = {f"optimizer{number}": {"name": settings.pop("optimizer"), **settings}}
        self.hub.config(**settings)
        self._measure_settings(optimizer)

    def _measure_settings(self, optimizer: Optimizer) -> None:
        group = optimizer.param_groups[0]
        momentum, dampening, betas = group.get("momentum"), group.get("dampening"), group.get("betas")
        self.hub.measure(
            OptimizerSettings(
                optimizer=type(optimizer).__name__,
                momentum=momentum if isinstance(momentum, float) else None,
                dampening=float(dampening) if isinstance(dampening, int | float) else 0.0,
                nesterov=bool(group.get("nesterov")),
                betas=betas if _are_floats(betas) else (),
            )
        )

    def on_models_freed(self) -> None:
        self._steps.clear()
        self._history.clear()

    def on_end(self) -> None:
        if self.hub.step:
            self.hub.measure(RebuiltOptimizers(rebuilt=self._rebuilt))
        last_above = tuple(itertools.accumulate(self._last_above, max))
        for schedule in self._schedules:
            self.hub.measure(
                ScheduleSteps(
                    scheduler=schedule.name,
                    steps=schedule.steps,
                    updates=self.hub.step - schedule.first + 1,
                    all_updates=self.hub.step,
                    peak=self._peak,
                    last=self._last_rate,
                    last_above=last_above,
                    where=schedule.settings,
                )
            )


def _sample(module: torch.nn.Module) -> list[torch.Tensor]:
    """A few numbers of each weight in host memory; of others nothing, for reading them would wait for the device."""
    held = itertools.islice(module.parameters(), MAX_SAMPLED)
    return [p.detach().reshape(-1)[:SAMPLE].clone() for p in held if p.is_cpu and watchable(p)]


def _same(before: list[torch.Tensor], after: list[torch.Tensor]) -> bool:
    return bool(before) and len(before) == len(after) and all(map(torch.equal, before, after))


def _are_floats(values: Any) -> TypeGuard[tuple[float, ...]]:
    return isinstance(values, tuple) and all(isinstance(value, float) for value in values)


def _settings(optimizer: Optimizer) -> str:
    group = {key: value for key, value in optimizer.param_groups[0].items() if key not in ("params", "initial_lr")}
    return f"{type(optimizer).__name__} {sorted((key, str(value)) for key, value in group.items())}"


def _keeps_state(optimizer: Optimizer) -> bool:
    return type(optimizer).__name__ not in STATELESS or bool(optimizer.param_groups[0].get("momentum"))


OBSERVER = Optimizers
