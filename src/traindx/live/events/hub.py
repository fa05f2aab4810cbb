"""The hub: turns what torch does into events for the observers, keeps the step count, the budget and the recording.

Always on, at about a microsecond each: `backward`, optimiser steps, loss functions, data loaders. Module hooks see
every layer but cost microseconds a layer, so they are installed (globally, never on the user's modules, which may be
copied or pickled) only for *deep* steps: the first ones, and later ones as often as the cost budget allows."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast, get_args

import torch
from torch.optim import optimizer as torch_optimizer
from torch.utils.data import DataLoader

from traindx.live.events.budget import REST_STEPS, Budget, until_next_loss
from traindx.live.events.by_hand import HandLoop
from traindx.live.events.calls import Calls
from traindx.live.events.closures import Arguments, observe_after_closure
from traindx.live.events.criteria import CRITERIA as CRITERIA
from traindx.live.events.criteria import Criteria
from traindx.live.events.instrument import Criterion, Depth, Handlers, Observer, StepsAside, all_buffered, handlers_of
from traindx.live.events.known_models import Known
from traindx.live.events.loading import timed
from traindx.live.events.places import user_line as user_line
from traindx.live.events.scaling import around_scale, unscaled
from traindx.live.events.step_buffer import StepBuffer
from traindx.live.host.bootstrap import after_import
from traindx.live.host.forks import leave_children_alone
from traindx.live.host.modes import fake_tensors_active, has_gradient, outside_modes, profiled
from traindx.live.host.patches import Patches, shielded
from traindx.live.host.release import release
from traindx.live.host.saying import say
from traindx.live.host.threads import single_threaded
from traindx.live.recording.records import Records
from traindx.live.recording.store import FLUSH_SECONDS, Store

PRIVATE = "TRAINDX_PRIVATE"  # variable that `traindx run --private` sets
WRITTEN_AT_ONCE = 8  # updates after each of which everything is on disk: a kill loses nothing of a short training
EVENT_SECONDS = 1e-6  # what an event costs beyond the observers' own time: the wrapper and the dispatch


class Hub(Records):
    """One per process. `step` counts optimiser updates; `deep` says that the current step is looked at closely."""

    def __init__(
        self, open_store: Callable[[], Store], observers: Sequence[type[Observer]], budget: float, steps: int | None
    ) -> None:
        super().__init__(open_store, self._give_up)
        self.deep = True
        self.resting = False  # this step is like those before, and too short to be looked at
        self.grad = True  # gradients were on when the event that is being reported happened
        self.budget = budget
        self.stop_after = steps
        self._deep_disabled = False
        self.keeps_batches = True  # not where the recording is thrown away
        self.private = os.environ.get(PRIVATE, "0") not in ("", "0")  # no text of the data is written
        self.cut_short = False  # by --steps, an exception or Ctrl-C: the length says nothing
        self.aside: StepsAside | None = None  # goes away together with the hooks
        self.known = Known(self._announce_models_freed)
        self.models = self.known.models  # whole models that are alive, by id
        self.patches = Patches(self.fault)
        self._faulty = False
        self._buffering = False  # steps are noted, and reported together
        self._step_buffer = StepBuffer()
        self._observers: list[Observer] = [kind(self) for kind in observers]
        self._know_handlers()
        self._clock = Budget(budget)
        self._calls = Calls(self)
        self.criteria = Criteria(self)
        self._next_write = self._clock.began + FLUSH_SECONDS
        self._inside = False  # an observer is running: what it does itself is not observed
        self.sampling_calls = False  # whole models are reported, and of their layers
        self.sampled_layers: set[int] = set()  # only those that an observer has put here by id
        self._losses_from: dict[int, int] = {}
        self._loss_due = 0  # the step from which training losses are reported while the hub rests
        self._evaluated = False  # a loss without a gradient was reported since the last `backward`
        self._on_gpu: bool | None = None  # that is where the last loss was; None: there was none yet
        self.between = False  # after an update and before the next `backward`
        self.closures_again = 0  # runs of closures after the first one of an update
        self._loader = 0  # that handed out a batch since the last `backward`
        self._training_loaders: set[int] = set()
        self._updated_by: dict[int, weakref.ref[torch.optim.Optimizer]] = {}  # optimisers that have made an update
        self.newest = 0  # the step at which the latest part of the training begins
        self.by_hand = HandLoop(self)
        self._reported_full = False  # that the disk has no room
        self.ended = False  # or this is a child that forked off the training
        leave_children_alone(self)

    # --- what observers use -------------------------------------------------------------------------------------------

    @property
    def inside(self) -> bool:
        """An observer is at work, or the recording has ended: what happens now is not the training's doing."""
        return self._inside or self.ended or bool(torch._C._get_tracing_state())

    @property
    def working(self) -> bool:
        """Recording, in this very process: a forked child has a hub that is not its own."""
        return not self.ended

    @property
    def evaluates_loader(self) -> bool:
        """A loader has handed out a batch since the last `backward`."""
        return self._loader != 0

    @property
    def evaluates_training_loader(self) -> bool:
        """That loader is trained on."""
        return self._loader in self._training_loaders

    @property
    def cost(self) -> float:
        """The share of wall time that recording has taken so far."""
        return self._clock.cost

    @property
    def spent(self) -> float:
        """The seconds that recording has taken so far."""
        return self._clock.spent

    @property
    def room(self) -> float:
        """The seconds that recording may take now without exceeding its budget."""
        return self._clock.room

    def disable_deep(self) -> None:
        """From now on no step is looked at closely."""
        self._deep_disabled = True
        self.look_closely(False)

    def look_again(self) -> None:
        """Another part of the training begins: its first steps are looked at closely, as those of the first were."""
        if self._clock.begin_again(self.step):
            self.newest = self.step

    def patch(self, owner: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self.patches.wrap(owner, name, around)

    def after_import(self, module: str, call: Callable[[], None]) -> None:
        """Call once the module has been imported, unless the recording has ended by then."""
        self.patches.add(after_import(module, call))

    def skip_losses(self, observer: Observer, until: int) -> None:
        """While the hub rests, this observer needs to be notified of no training loss before that step."""
        self._losses_from[id(observer)] = until

    def sample_calls(self, *, evaluation: bool) -> None:
        """Have the calls of whole models reported by `on_sampled_call` until the next `backward`, if the budget
        allows it. Deep steps tell them by `on_forward` anyway."""
        if (
            not self.deep
            and not self.sampling_calls
            and not self.ended
            and self._clock.allows_call_sample(evaluation, self.step)
        ):
            self.keep_sampling()

    @property
    def within_call(self) -> bool:
        """Whether a model is running whose calls are reported: what happens now happens in its forward pass."""
        return self._calls.within

    def keep_sampling(self) -> None:
        """Go on until the next `backward`: for who needs the calls of a few losses to understand one of them."""
        if not self.deep and not self.sampling_calls and not self.ended:
            self.wake()
            self.sampling_calls = True
            self._calls.watch()

    def calls_sampled(self) -> int:
        """An observer has met what it asked to see with `sample_calls(evaluation=True)`; how often that was so."""
        return self._clock.calls_sampled()

    def look_for_update(self, *, whole: bool = False) -> None:
        """Whether the script has changed its parameters by hand; `whole` where it may still be at it."""
        if self._inside:
            return
        with outside_modes():
            updated = self.by_hand.updates(whole=whole)
        if updated:
            self._updated_by_hand()

    def batch(self, batch: Any, loader: Any, seconds: float) -> None:
        """A loader has handed out a batch; a loader that is not trained on is news."""
        self._loader = id(loader)
        if self._loader not in self._training_loaders:
            self.wake()
        self.observe("on_batch", batch, loader, seconds)

    def warn(self, text: str) -> None:
        say(text)

    def name_of(self, module: torch.nn.Module) -> str:
        return self.known.name_of(module)

    def observe(self, handler: str, *arguments: Any) -> None:
        """Tell the observers that care; one that fails is dropped with one line, and the training goes on."""
        handlers = self._active.get(handler)
        if handlers and not self._inside and not self.ended:
            self._tell(handlers, arguments)

    def guard(self, observer: Observer, call: Callable[..., None], *arguments: Any) -> None:
        """Run a part of an observer that a patch of its own reached: guarded, timed and without gradients like an
        event."""
        if not self._inside and not self.ended:
            self._tell(((observer, call),), arguments)

    def _tell(self, handlers: Handlers, arguments: tuple[Any, ...]) -> None:
        if torch._C._get_tracing_state() or fake_tensors_active():
            return  # whatever an observer computes would become part of a graph, or have no numbers
        began = time.perf_counter()
        self._inside = True
        try:
            with outside_modes():
                self._without_gradients(handlers, arguments)
        finally:
            self._inside = False
            now = time.perf_counter()
            self.spend(now - began + EVENT_SECONDS)
            if now > self._next_write:
                self.write()

    def _without_gradients(self, handlers: Handlers, arguments: tuple[Any, ...]) -> None:
        self.grad = torch.is_grad_enabled()
        if self.grad:
            torch._C._set_grad_enabled(False)
        try:
            if self.deep and self._uses_gpu():
                with single_threaded():
                    self._hand(handlers, arguments)
            else:
                self._hand(handlers, arguments)
        finally:
            if self.grad:
                torch._C._set_grad_enabled(True)

    def _hand(self, handlers: Handlers, arguments: tuple[Any, ...]) -> None:
        for observer, handle in handlers:
            try:
                handle(*arguments)
            except Exception as error:
                self._drop(observer, error)

    def _uses_gpu(self) -> bool:
        """Whether the training runs on a GPU; before its first loss, whether anything does."""
        if self._on_gpu is None:
            return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]
        return self._on_gpu

    def spend(self, seconds: float) -> None:
        """Count time that recording has taken."""
        self._clock.spend(seconds, "deep" if self.deep else "sample_calls" if self.sampling_calls else "light")

    def spend_once(self, seconds: float) -> None:
        """Count time that the trace of the first steps has taken: it holds back no later look."""
        self._clock.spend(seconds, "trace")

    def _drop(self, observer: Observer, error: Exception) -> None:
        if observer not in self._observers:
            return
        self._observers.remove(observer)
        self._know_handlers()
        if os.environ.get("TRAINDX_DEBUG"):
            raise error
        self.warn(f"{type(observer).__name__} stopped watching ({type(error).__name__}: {error})")

    def fault(self, error: Exception) -> None:
        """A patch or a hook has failed and is left out from now on: one line, whatever else fails after it."""
        if os.environ.get("TRAINDX_DEBUG"):
            raise error
        if not self._faulty:
            self._faulty = True
            self.warn(f"a part of the recording failed and is left out ({type(error).__name__}: {error})")

    def _give_up(self, reason: str) -> None:
        """Nothing can be recorded any more: one line, and the training goes on alone."""
        self.warn(reason)
        self._observers = []
        self._know_handlers()

    def _know_handlers(self) -> None:
        self._handlers = {depth: handlers_of(self._observers, depth) for depth in get_args(Depth)}
        self._choose_handlers()

    def _choose_handlers(self) -> None:
        self._active = self._handlers["deep" if self.deep else "rest" if self.resting else "light"]
        self._buffering = self.resting and not self.deep and self.stop_after is None and all_buffered(self._active)

    def wake(self) -> None:
        """Something that is not like the steps before: tell everybody until the next update."""
        if self.resting:
            self._flush_buffer()
            self.resting = False
            self._choose_handlers()

    def _flush_buffer(self) -> None:
        """Tell of the steps that were only noted so far, before anything else is reported."""
        if self._step_buffer.steps or self._step_buffer.losses:
            buffered, self._step_buffer = self._step_buffer, StepBuffer(self._step_buffer.optimizer)
            self.observe("on_steps", buffered.steps, buffered.losses)

    # --- torch → events -----------------------------------------------------------------------------------------------

    def attach(self) -> None:
        self.patch(torch.autograd, "backward", self._around_backward)
        self.patch(torch.autograd, "grad", self._around_grad)
        self.patch(torch.amp.GradScaler, "scale", around_scale)
        self.criteria.attach()
        self.patch(DataLoader, "__iter__", self._around_loader)
        self._calls.attach()
        for handle in (
            torch_optimizer.register_optimizer_step_pre_hook(shielded(self._before_step, self.fault)),
            torch_optimizer.register_optimizer_step_post_hook(shielded(self._after_step, self.fault)),
        ):
            self.patches.add(handle.remove)
        for observer in self._observers:
            observer.attach()
        self.look_closely(True)

    def add(self, observer: Observer) -> None:
        """One more observer, once the usual ones are attached."""
        self._observers.append(observer)
        self._know_handlers()
        observer.attach()

    def detach(self) -> None:
        """The end: last words, everything written, every patch undone."""
        if self.ended:
            return
        self.stop_after = None  # it ends anyway
        self.look_for_update()
        self._flush_buffer()
        self.observe("on_end")
        self.by_hand.end()
        self.look_closely(False)
        self.write(wait=True)
        if self._store is not None:
            self._store.end()
        self.ended = True
        self.patches.undo()
        release(self._observers)
        self.known.clear()
        self._number = None

    def _around_backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or self._inside or self.ended:
                return original(tensors, *args, **kwargs)
            with outside_modes():
                losses = self._pass_begins(tensors)
            result = original(tensors, *args, **kwargs)
            with outside_modes():
                self._pass_ends(losses)
            return result

        return backward

    def _around_grad(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            loop = self.by_hand
            if not loop.alive or torch.compiler.is_compiling() or self._inside or self.ended:
                return original(outputs, inputs, *args, **kwargs)
            create_graph = args[2] if len(args) > 2 else kwargs.get("create_graph", False)
            inputs = inputs if isinstance(inputs, torch.Tensor) else tuple(inputs)  # it may be read only once
            if not loop.takes(inputs, create_graph):
                return original(outputs, inputs, *args, **kwargs)
            with outside_modes():
                losses = self._pass_begins(outputs, inputs)
            gradients = original(outputs, inputs, *args, **kwargs)
            with outside_modes():
                self._pass_ends(losses, gradients)
            return gradients

        return grad

    def _pass_begins(self, tensors: Any, inputs: Any = None) -> Sequence[torch.Tensor]:
        """`backward` is about to run; the losses to be notified of when it has. `inputs` are those of
        `torch.autograd.grad`."""
        if self.by_hand.alive and self.by_hand.begins(tensors, inputs):
            self._updated_by_hand()
        self.between = False
        if self._buffering and not self._evaluated and not self.sampling_calls and self._notes_loss(tensors):
            return ()
        self._flush_buffer()
        given = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        losses = [unscaled(tensor) for tensor in given if isinstance(tensor, torch.Tensor)]
        self._on_gpu = any(loss.is_cuda for loss in losses)
        if self._loader:
            self._training_loaders.add(self._loader)
            self._loader = 0
        event = "on_return" if self.sampling_calls or self._evaluated else "on_backward"
        self._evaluated = False
        if self.sampling_calls:
            self.look_closely(self.deep)
        for loss in losses:
            self.observe(event, loss)
        self._number = None
        return losses

    def _pass_ends(self, losses: Sequence[torch.Tensor], gradients: Any = None) -> None:
        for loss in losses:
            self.observe("on_gradients", loss)
        if self.by_hand.alive and self.by_hand.ends(gradients):
            self.observe("on_step", self.by_hand.optimizer)

    def _updated_by_hand(self) -> None:
        """An update that no optimiser of torch has made."""
        if not self.step:
            self.patch(torch.no_grad, "__enter__", self._around_no_grad)
        self._after_step(cast(torch.optim.Optimizer, self.by_hand.optimizer), (), {})
        self.by_hand.updated()

    def _around_no_grad(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(context: Any) -> Any:
            if self.by_hand.pending and not self._inside and not self.ended:
                self.look_for_update(whole=True)  # an evaluation may begin
            return original(context)

        return __enter__

    def _notes_loss(self, tensors: Any) -> bool:
        began = time.perf_counter()
        noted = self._step_buffer.takes(tensors, self.values)
        if noted and self._loader:
            self._training_loaders.add(self._loader)
            self._loader = 0
        self._clock.spend(time.perf_counter() - began + EVENT_SECONDS, "light")
        return noted

    def hears_loss(self, output: Any) -> bool:
        """Whether anybody is to be notified of this result of a loss function."""
        if self._inside or self.ended or not isinstance(output, torch.Tensor) or torch._C._get_tracing_state():
            return False
        if self.by_hand.pending:
            self.look_for_update()
        training = has_gradient(output)
        if not training:
            self._evaluated = True
            self.wake()
        elif self.resting and self.step < self._loss_due:
            return False
        return bool(self._active["on_criterion" if training else "on_evaluation"])

    def loss_made(self, call: Criterion) -> None:
        self._flush_buffer()
        training = has_gradient(call.output)
        self._tell(self._active["on_criterion" if training else "on_evaluation"], (call,))
        if training:
            with outside_modes():
                call.end()
        if self.resting:
            due = min(self._losses_from.values(), default=0)
            self._loss_due = max(due, self.step + until_next_loss(self.step))

    def _around_loader(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __iter__(loader: Any) -> Any:
            iterator = original(loader)
            return iterator if self._inside or self.ended else timed(self, loader, iterator)

        return __iter__

    @contextmanager
    def _unwatched(self) -> Iterator[None]:
        """Another run of a closure in the same update: nothing of it is looked at."""
        self.closures_again += 1
        inside, self._inside = self._inside, True
        try:
            self._calls.step_aside()
            yield
        finally:
            self._inside = inside
            self._calls.come_back()

    def _before_step(
        self, optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Arguments | None:
        """The gradients are final now, or, where a closure is yet to compute them, after its first run."""
        if self.by_hand.alive and self.working and not self._inside:
            self.look_for_update()
            self.by_hand.end()
        if len(args) + len(kwargs) > 1 and self.working and not self._inside:
            later = observe_after_closure(
                args, kwargs, partial(self.observe, "on_step", optimizer), self._unwatched, self.fault
            )
            if later is not None:
                return later
        self.observe("on_step", optimizer)
        return None

    def _after_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if self._inside or self.ended:
            return
        began = time.perf_counter()
        self.between = True
        known = self._updated_by.get(id(optimizer))
        if known is None or known() is not optimizer:
            self._updated_by[id(optimizer)] = weakref.ref(optimizer)
            self.wake()
            self.look_again()
        if self._buffering and self._step_buffer.updated(self.step, optimizer):
            if (self.step + 1) % REST_STEPS:
                self.step += 1
                self._clock.spend(time.perf_counter() - began + EVENT_SECONDS, "light")
                return
            self._flush_buffer()
        else:
            self._flush_buffer()
            self._step_buffer.optimizer = id(optimizer)
            self.observe("on_updated", optimizer)
        began = time.perf_counter()
        self.step += 1
        deep = not self._deep_disabled and not profiled() and self._clock.allows_deep(self.step, began)
        self.resting = self._clock.wants_rest(self.step, began, self.resting)
        if deep != self.deep:
            self.look_closely(deep)
        else:
            self._choose_handlers()
        with outside_modes():
            self.values.poll()
        if self.step <= WRITTEN_AT_ONCE:
            self.write()
        self.spend(time.perf_counter() - began)
        if self.stop_after is not None and self.step >= self.stop_after:
            self.cut_short = True
            raise SystemExit(0)

    def look_closely(self, deep: bool) -> None:
        """Install or remove the hooks that see every layer."""
        self._flush_buffer()
        before, self.deep = self.deep, deep and bool(self._observers)
        self._choose_handlers()
        self.sampling_calls = False
        self._calls.forget()
        if self.deep:
            self._calls.watch()
        if before != self.deep:
            self.observe("on_depth", self.deep)

    def register(self, model: torch.nn.Module) -> None:
        """Know a whole model and the names of its layers."""
        with outside_modes():
            if self.known.waiting:
                self.known.retry()
            self.known.register(model)

    def _announce_models_freed(self) -> bool:
        """The models trained so far are gone: last looks at their weights. False where that cannot be done just now."""
        capturing = torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()  # type: ignore[no-untyped-call]
        if self._inside or capturing or torch.compiler.is_compiling():
            return False
        self._number = None
        self.observe("on_models_freed")
        return True

    def write(self, *, wait: bool = False) -> None:
        """Put into the recording what has arrived; with `wait`, all of it."""
        began = time.perf_counter()
        self._next_write = began + FLUSH_SECONDS
        if not self._observers:
            return
        self._flush_buffer()
        try:
            with outside_modes():
                self._write_rows(wait, self.cost, self._clock.spent)
        except Exception as error:  # a fault of ours must not reach the training
            self._give_up(f"stopped recording ({type(error).__name__}: {error})")
        self.spend(time.perf_counter() - began)
        if self._store is None or not self._observers:
            return
        if self._store.broken:
            self._give_up(f"stopped recording: {self._store.broken}")
        elif self._store.full and not self._reported_full:
            self._reported_full = True
            self.warn(f"no room left for {self._store.path}: recording goes on as soon as there is")
