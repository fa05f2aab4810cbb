"""The optimisers: their settings, whether one is built anew in the middle of the training, how schedulers and the loss
scaler act on them."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer, lr_scheduler

from traindx.live.by_hand import ByHand
from traindx.live.hub import Hub, user_line
from traindx.live.observer import Observer
from traindx.live.rows import watchable

REBUILT = 3  # times with unchanged settings: stages of a training are fewer
LONG_MEAN = 0.98  # of Adam and its kin, whose usual first beta is 0.9; Lion has 0.9 and 0.99, some have two of 0.95
EXTREME_MOMENTUM = 0.995  # 0.99 is in use with Nesterov's correction
STATELESS = ("SGD",)  # without momentum there is nothing to lose
GONE = 0.01  # of its peak: what is left of the rate
EARLY = 0.35  # of the run,
HALF_WAY = 0.55  # and what is still too early for a decay that was meant to last
HALF_WAY_CLEAR = 0.75
PER_BATCH = 0.9  # scheduler steps for each update
MOST_SCHEDULES = 16
GLIMPSED, GLIMPSE = 16, 64  # weights, and numbers of each, that are compared when a state is loaded

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
        self._history: list[
            tuple[frozenset[int], str, int]
        ] = []  # parameters, settings, and the step of the last one built
        self._rebuilt = 0
        self._loaded = 0  # weights were loaded or reset: what follows is a new training
        self._told: set[str] = set()
        self._schedules: list[_Schedule] = []
        self._peak = self._last_lr = 0.0
        self._alive_until = 0
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
            before = _glimpse(module)
            result = original(module, *args, **kwargs)
            if not _same(
                before, _glimpse(module)
            ):  # weights that come back as they were left go on with the same training
                self._loaded = self.hub.step
                self._history.clear()
            return result

        return load_state_dict

    def _around_schedule(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.hub.inside and getattr(scheduler, "_step_count", 0) == 1:
                self._guarded(self._first_schedule, scheduler)
            if not self.hub.inside and self.hub.step:
                known = next((one for one in self._schedules if one.scheduler() is scheduler), None)
                if known is None and len(self._schedules) < MOST_SCHEDULES:
                    known = _Schedule(scheduler, self.hub.step)
                    self._schedules.append(known)
                if known is not None:
                    known.steps += 1
                if known is not None and isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
                    self._guarded(self._was_told, scheduler, args, kwargs)
            return original(scheduler, *args, **kwargs)

        return step

    def _was_told(self, scheduler: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep what a scheduler waits on, and the way it is to go."""
        value = args[0] if args else kwargs.get("metrics")
        if isinstance(value, int | float | torch.Tensor) and not isinstance(value, bool):
            self.hub.record("plateau_metric", value.detach() if isinstance(value, torch.Tensor) else float(value))
            if "plateau" not in self._told:
                self._told.add("plateau")
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
            if "guard" not in self._told:
                self._told.add("guard")
                self.hub.warn(f"Optimizers missed something ({type(error).__name__}: {error})")

    # --- what it means ------------------------------------------------------------------------------------------------

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
        if self._rebuilt >= REBUILT:
            self._tell(
                "optimizer-rebuilt", True,
                f"The optimiser was built anew over the same parameters with the same settings {self._rebuilt} times by step "
                f"{self.hub.step}; each time its momentum and moments start from nothing.", user_line(),
            )  # fmt: skip

    def _first_schedule(self, scheduler: Any) -> None:
        """The first step of a scheduler beside the one it makes by itself when it is built."""
        optimizer = getattr(scheduler, "optimizer", None)
        if optimizer is None or getattr(scheduler, "_is_initial", False) or self._skipped:
            return
        name = type(scheduler).__name__
        if id(optimizer) in self._steps or getattr(optimizer, "_opt_called", False):
            self._tell("schedule-before-optimizer", False, f"{name} was stepped after its optimiser.", None)
        else:
            text = f"{name} was stepped before its optimiser: the first learning rate of the schedule is never used."
            self._tell("schedule-before-optimizer", True, text, user_line())

    def on_updated(self, optimizer: Optimizer) -> None:
        steps = self._steps[id(optimizer)] = self._steps.get(id(optimizer), 0) + 1
        if steps == 1 and len(self._steps) <= 4:
            self._describe(optimizer, len(self._steps) - 1)
        if self._schedules:
            rate = optimizer.param_groups[0].get("lr")
            if isinstance(rate, float):
                self._last_lr = rate
                self._peak = max(self._peak, rate)
                if rate > GONE * self._peak:
                    self._alive_until = self.hub.step

    def _describe(self, optimizer: Optimizer, number: int) -> None:
        group = optimizer.param_groups[0]
        settings: dict[str, Any] = {"optimizer": type(optimizer).__name__}
        if isinstance(optimizer, ByHand):
            settings = {"optimizer": "SGD" if optimizer.plain else "written by hand", "update_by_hand": True}
        for key in ("lr", "weight_decay", "momentum", "eps", "nesterov"):
            value = group.get(key)
            if isinstance(value, int | float):
                settings[key] = value
        if isinstance(group.get("betas"), tuple):
            settings["betas"] = str(group["betas"])
        if number:
            settings = {f"optimizer{number}": {"name": settings.pop("optimizer"), **settings}}
        self.hub.config(**settings)
        self._judge_momentum(optimizer)

    def _judge_momentum(self, optimizer: Optimizer) -> None:
        group = optimizer.param_groups[0]
        momentum = group.get("momentum")
        if type(optimizer).__name__ == "SGD" and isinstance(momentum, float) and not group.get("dampening"):
            extreme = EXTREME_MOMENTUM <= momentum < 1
            sums = f": each update adds up the gradients of about {1 / (1 - momentum):.0f} steps" if extreme else ""
            self.hub.fact("momentum-extreme", extreme, f"SGD has a momentum of {momentum:g}{sums}.")
        betas = group.get("betas")
        if (
            isinstance(betas, tuple)
            and len(betas) == 2
            and all(isinstance(beta, float) for beta in betas)
            and 0 < betas[1] < 1
        ):
            extreme = betas[0] > betas[1] and betas[0] >= LONG_MEAN
            longer = (
                ": gradients are remembered for longer than their squares, as if the two were swapped"
                if extreme
                else ""
            )
            self.hub.fact(
                "momentum-extreme",
                extreme,
                f"{type(optimizer).__name__} has betas of {betas[0]:g} and {betas[1]:g}{longer}.",
            )

    def on_farewell(self) -> None:
        self._steps.clear()
        self._history.clear()

    def on_end(self) -> None:
        for schedule in self._schedules:
            self._judge_schedule(schedule)
        if self.hub.step >= 50 and "optimizer-rebuilt" not in self._told:
            self._tell("optimizer-rebuilt", False, f"No optimiser was built anew in {self.hub.step} updates.", None)

    def _judge_schedule(self, schedule: _Schedule) -> None:
        """Stepped with every batch, with numbers that are meant for epochs."""
        updates = self.hub.step - schedule.first + 1
        if updates < 50 or schedule.steps < PER_BATCH * updates:
            return
        name, where = schedule.name, schedule.settings
        share = self._alive_until / max(self.hub.step, 1)
        if self._last_lr > GONE * self._peak or share >= HALF_WAY or name in ("OneCycleLR", "ReduceLROnPlateau"):
            self._tell(
                "schedule-per-batch", False, f"{name} was stepped with every batch, and its numbers fit that.", where
            )
            return
        evidence = (
            f"{name} ({where}) was stepped with every batch: the rate fell below {GONE * 100:g} % of its peak after "
            f"{share * 100:.0f} % of the run."
        )
        self._tell("schedule-per-batch", True, evidence, where, 1.0 if share < EARLY else HALF_WAY_CLEAR)

    def _tell(self, identifier: str, present: bool, evidence: str, where: str | None, clarity: float = 1.0) -> None:
        state = f"{identifier} {present}"
        if state not in self._told and (present or f"{identifier} True" not in self._told):
            self._told |= {state, identifier}
            self.hub.fact(identifier, present, evidence, where=where, clarity=clarity)


def _glimpse(module: torch.nn.Module) -> list[torch.Tensor]:
    """A few numbers of each weight in host memory; of others nothing, for reading them would wait for the device."""
    held = itertools.islice(module.parameters(), GLIMPSED)
    return [p.detach().reshape(-1)[:GLIMPSE].clone() for p in held if p.is_cpu and watchable(p)]


def _same(before: list[torch.Tensor], after: list[torch.Tensor]) -> bool:
    return bool(before) and len(before) == len(after) and all(map(torch.equal, before, after))


def _settings(optimizer: Optimizer) -> str:
    group = {key: value for key, value in optimizer.param_groups[0].items() if key not in ("params", "initial_lr")}
    return f"{type(optimizer).__name__} {sorted((key, str(value)) for key, value in group.items())}"


def _keeps_state(optimizer: Optimizer) -> bool:
    return type(optimizer).__name__ not in STATELESS or bool(optimizer.param_groups[0].get("momentum"))


OBSERVER = Optimizers
