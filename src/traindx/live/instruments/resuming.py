"""Measures what a training that goes on from a checkpoint has restored: weights, the optimiser's state, the scheduler,
random numbers and the place in the data."""

from __future__ import annotations

import os
import re
import sys
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.optim import Optimizer, lr_scheduler
from torch.utils.data import DataLoader, SequentialSampler

from traindx.live.events.hub import Hub, user_line
from traindx.live.events.instrument import Observer, on_every_step
from traindx.live.events.places import absolute
from traindx.live.recording.values import Number
from traindx.measurements import ResumedTraining

STEPS = (
    "global_step",
    "step",
    "steps",
    "iteration",
    "iterations",
    "iter",
    "iter_num",
    "num_updates",
    "it",
    "i",
    "batch_idx",
)
EPOCHS = ("epoch", "epochs", "start_epoch")
KINDS = {
    "optimizer": ("optim", "opt"),
    "scheduler": ("sched",),
    "rng": ("rng", "random"),
}  # what a checkpoint holds beside weights, by words in its keys
NAMED = re.compile(r"(step|checkpoint|iter|epoch)\D{0,12}(\d{1,12})$")  # a directory that is named by how far it is
MAX_LOSSES = 60
MAX_PLACES = 32
READ_AHEAD = 1  # batches that a loader may have fetched beside the first one, as that of Accelerate does
MAX_COUNT = 10**12


class Resuming(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._progress: tuple[int, str] = (0, "step")  # how far the checkpoint was, by its own count
        self._trainer = False
        self._offered: set[str] = set()
        self._from = ""  # the directory that was loaded from
        self._saved: dict[str, int] = {}  # directories the script saves to, with the updates made when it last did
        self._restoring = False  # a library restores all parts of a checkpoint: its files say nothing by themselves
        self._where = ""
        self._weights = self._optimizer = self._scheduler = self._random = self._seeded = False
        self._batches = 0
        self._loader: dict[str, Any] = {}
        self._found: dict[str, Any] = {}  # what was measured at the first update
        self._losses: list[Number] = []
        self._schedulers: dict[int, int] = {}  # their counts, by optimiser
        self._again = False  # loaded what was saved before, with no update since
        self._kind: tuple[object, ...] = ()  # of the optimiser that was first

    def attach(self) -> None:
        hub = self.hub
        hub.patch(torch, "load", self._around_read)
        hub.patch(torch, "save", self._around_save)
        hub.patch(torch.nn.Module, "load_state_dict", self._noting("_weights", line=True))
        hub.patch(Optimizer, "load_state_dict", self._around_state)
        hub.patch(lr_scheduler.LRScheduler, "load_state_dict", self._noting("_scheduler"))
        for kind in (lr_scheduler.LambdaLR, lr_scheduler.SequentialLR, lr_scheduler.ChainedScheduler):
            hub.patch(kind, "load_state_dict", self._noting("_scheduler"))
        hub.patch(torch, "set_rng_state", self._noting("_random"))
        hub.patch(torch, "manual_seed", self._around_seed)
        hub.patch(lr_scheduler.LRScheduler, "__init__", self._around_scheduler)
        self.hub.after_import("transformers.trainer_callback", self._watch_trainer)
        self.hub.after_import("accelerate.accelerator", self._watch_accelerator)

    def _watch_trainer(self) -> None:
        import transformers.trainer_callback as trainer

        self.hub.patch(trainer.CallbackHandler, "on_train_begin", self._around_begin)

    def _around_begin(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def on_train_begin(handler: Any, args: Any, state: Any, *rest: Any, **kwargs: Any) -> Any:
            made = getattr(state, "global_step", 0)
            if isinstance(made, int) and made > 0 and not self.hub.step:
                self._progress, self._trainer, self._weights = (made, "step"), True, True
            return original(handler, args, state, *rest, **kwargs)

        return on_train_begin

    def _watch_accelerator(self) -> None:
        accelerator = sys.modules["accelerate.accelerator"].Accelerator
        self.hub.patch(accelerator, "save_state", self._around_save_state)
        self.hub.patch(accelerator, "load_state", self._around_load_state)

    def _around_save_state(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def save_state(*args: Any, **kwargs: Any) -> Any:
            place = original(*args, **kwargs)
            if isinstance(place, str | os.PathLike):
                self._note_saved(absolute(os.fspath(place)))
            return place

        return save_state

    def _around_load_state(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def load_state(accelerator: Any, input_dir: Any = None, *args: Any, **kwargs: Any) -> Any:
            folder = absolute(os.fspath(input_dir)) if isinstance(input_dir, str | os.PathLike) else ""
            self.hub.guard(self, self._take_folder, folder)
            self._restoring = True
            try:
                return original(accelerator, input_dir, *args, **kwargs)
            finally:
                self._restoring = False
                if self._progress[0] and self._begins:
                    self._weights, self._where = True, self._where or user_line()

        return load_state

    def _take_folder(self, folder: str) -> None:
        """How far a checkpoint of Accelerate was, by its name or by when it was saved."""
        named = NAMED.search(os.path.basename(folder).lower())
        if self.hub.step:
            if folder not in self._saved:
                return
            self._begin_again()
        counts = "epoch" if named is not None and named[1] == "epoch" else "step"
        self._progress = (int(named[2]) if named is not None else self._saved.get(folder, 0), counts)
        self._from = folder

    def _note_saved(self, folder: str) -> None:
        if folder in self._saved or len(self._saved) < MAX_PLACES:
            self._saved[folder] = self.hub.step

    def _around_seed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def manual_seed(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if not self.hub.inside and self._begins:
                self._seeded, self._random = True, False  # what was restored before is gone
            return result

        return manual_seed

    def _noting(self, flag: str, *, line: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def around(original: Callable[..., Any]) -> Callable[..., Any]:
            def noted(*args: Any, **kwargs: Any) -> Any:
                result = original(*args, **kwargs)
                if not self.hub.inside and self._begins:
                    setattr(self, flag, True)
                    if line and self._progress[0] and not self._where:
                        self._where = user_line()
                return result

            return noted

        return around

    def _around_state(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def load_state_dict(optimizer: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(optimizer, state_dict, *args, **kwargs)
            # libraries hand an optimiser its own empty state to move it to a device
            if not self.hub.inside and self._begins and isinstance(state_dict, Mapping) and state_dict.get("state"):
                self._optimizer = True
            return result

        return load_state_dict

    def _around_scheduler(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(scheduler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(scheduler, optimizer, *args, **kwargs)
            if not self.hub.inside:
                self._schedulers[id(optimizer)] = 0
                self._counting = weakref.ref(scheduler)

        return __init__

    _counting: weakref.ref[Any] | None = None  # the scheduler built last, which is not kept alive

    def _around_read(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def load(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if not self.hub.inside and not self._restoring:
                self.hub.guard(self, self._take, args[0] if args else kwargs.get("f"), result)
            return result

        return load

    def _around_save(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def save(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            place = _folder(args[1] if len(args) > 1 else kwargs.get("f"))
            if place and not self.hub.inside:
                self._note_saved(place)
            return result

        return save

    def _take(self, file: Any, loaded: Any) -> None:
        """What a file holds, by its keys alone. One of weights alone says nothing of how far it was."""
        if not isinstance(loaded, Mapping):
            return
        keys = {str(key).lower(): value for key, value in list(loaded.items())[:MAX_PLACES]}
        if not any(isinstance(value, Mapping) for value in keys.values()):
            return
        if self.hub.step:
            # what this script has saved itself, with how far it was: it may go on from there
            if _folder(file) not in self._saved or not any(_is_count(keys.get(name)) for name in (*STEPS, *EPOCHS)):
                return
            self._begin_again()
        for kind, words in KINDS.items():
            if any(word in key for word in words for key in keys):
                self._offered.add(kind)
        for names, counts in ((STEPS, "step"), (EPOCHS, "epoch")):
            made = next((value for name in names if _is_count(value := keys.get(name))), 0)
            if made:
                self._progress, self._from = (int(made), counts), _folder(file)
                return

    @property
    def _begins(self) -> bool:
        """No update was made yet, or none since the script loaded what it had saved."""
        return not self.hub.step or self._again

    def _begin_again(self) -> None:
        self._measure()
        self._again, self._progress, self._offered, self._where = True, (0, "step"), set(), ""
        self._weights = self._optimizer = self._scheduler = self._random = self._seeded = False
        self._batches, self._loader, self._losses = 0, {}, []

    # --- until the first update ---------------------------------------------------------------------------------------

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        if not self._begins or not self._progress[0]:
            return
        self._batches += 1
        if not self._loader:
            self._loader = _order_of(loader, self._seeded)

    @property
    def buffered(self) -> bool:
        """Losses are needed one by one only after a checkpoint was loaded, and only the first ones."""
        return not (self._progress[0] and self._weights and len(self._losses) < MAX_LOSSES)

    @on_every_step
    def on_backward(self, loss: torch.Tensor) -> None:
        if self._progress[0] and self._weights and len(self._losses) < MAX_LOSSES and loss.numel() == 1:
            number = self.hub.number_of(loss)
            if number is not None:
                self._losses.append(number)
        if self._begins and not self._found.get("passes"):
            self._found["passes"] = self._batches  # those before the first loss were passed over

    def on_step(self, optimizer: Optimizer) -> None:
        if not self._begins:
            return
        again, self._again = self._again, False
        kind = _kind(optimizer)
        if not again:
            self._kind = self._kind or kind
        elif kind != self._kind:
            return  # another training, that begins with what this one has learnt
        if self._progress[0] and self._weights and "stateful" not in self._found:
            self._look(optimizer)

    def _look(self, optimizer: Optimizer) -> None:
        state = [one for one in list(optimizer.state.values())[:8] if isinstance(one, Mapping)]
        scheduler = self._counting() if self._counting is not None else None
        steps = getattr(scheduler, "last_epoch", 0)
        self._found |= {
            "stateful": bool(optimizer.param_groups[0].get("betas") or optimizer.param_groups[0].get("momentum")),
            "optimizer_loaded": self._optimizer or any(len(one) for one in state),
            "scheduled": scheduler is not None,
            "scheduler_steps": steps if isinstance(steps, int) else 0,
        }

    def on_end(self) -> None:
        self._measure()

    def _measure(self) -> None:
        passed = max(self._found.pop("passes", 0) - 1 - READ_AHEAD, 0)
        if "stateful" not in self._found:
            return
        found, self._found = self._found, {}
        loader = dict(self._loader)
        losses = [one.value for one in self._losses if one.value is not None]
        self.hub.measure(
            ResumedTraining(
                steps_before=self._progress[0],
                counts=self._progress[1],
                own=bool(self._from) and self._from in self._saved,
                trainer=self._trainer,
                offered=tuple(sorted(self._offered)),
                scheduler_loaded=self._scheduler or found["scheduler_steps"] > 1,
                rng_loaded=self._random,
                loader=bool(loader),
                epoch_batches=loader.get("batches", 0),
                skipped=passed + loader.get("skipped", 0),
                repeats_order=loader.get("repeats", False),
                losses=tuple(losses),
                where=self._where,
                **found,
            )
        )


def _kind(optimizer: Optimizer) -> tuple[object, ...]:
    """What two optimisers of one training have in common."""
    groups = optimizer.param_groups
    # a rate that a loop sets by itself says how far it was; what the optimiser was made with says what it is; an update
    # by hand has none before it was measured
    made_with = getattr(optimizer, "defaults", {}).get("lr")
    known = [group.get("initial_lr", group.get("lr") if made_with is None else made_with) for group in groups]
    rates = tuple(float(rate) for rate in known if rate is not None)
    return type(optimizer), rates, tuple(sum(p.numel() for p in group["params"]) for group in groups)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_COUNT


def _folder(file: Any) -> str:
    return os.path.dirname(absolute(os.fspath(file))) if isinstance(file, str | os.PathLike) else ""


def _order_of(loader: Any, seeded: bool) -> dict[str, Any]:
    """How a loader orders its samples, and how many batches it leaves out at first."""
    left_out = [getattr(one, "skip_batches", 0) for one in (loader, getattr(loader, "batch_sampler", None))]
    try:
        batches = len(loader)
    except Exception:  # a stream has no length
        batches = 0
    inner = getattr(loader, "base_dataloader", loader)
    sampler = getattr(inner, "sampler", None)
    ordered = isinstance(sampler, SequentialSampler) and isinstance(inner, DataLoader)
    return {
        "batches": batches + sum(one for one in left_out if isinstance(one, int)),
        "skipped": max((one for one in left_out if isinstance(one, int)), default=0),
        "repeats": (ordered or seeded) and not hasattr(inner, "load_state_dict"),
    }


OBSERVER = Resuming
