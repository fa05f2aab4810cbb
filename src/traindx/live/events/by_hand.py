"""Trainings without an optimiser of torch: parameters that the script itself changes between two backward passes.

Looked for only while no optimiser of torch was ever built in the process. After each pass a few numbers of the
parameters and of their gradients are kept. When the next pass begins and the parameters have moved along their
gradients, or have changed several times, the loop is a training: from then on every change is reported as an update,
with an object that stands for the optimiser."""

from __future__ import annotations

import math
import time
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.optim import Optimizer

from traindx.live.measures.direction import ALONG, SAMPLE, WEIGHTS
from traindx.live.measures.graph import graph_of
from traindx.live.measures.rows import watchable

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub

CHANGES = 3  # in place and not along the gradient, that make a training: weights are reset or loaded once or twice
MOST_PASSES = 256  # that are looked at without an update: more samples of one batch seldom have a pass of their own
STALLED = 8  # times the passes that an update usually takes: other parameters are trained now
MOSTLY = 0.5  # of a model's numbers are held by tensors outside of it that are taken for its weights
PROPORTIONAL = 0.01  # of an update: by how much one of plain SGD may differ from a multiple of the gradient
NOTICEABLE = 10.0  # times the rounding of a weight: a smaller change does not tell the rate
MIN_WEIGHTS = 2  # weights that do: a straight line through data has no more
Marks = list[tuple[int, int]]
Gradients = Sequence[torch.Tensor | None]


class ByHand:
    """Stands for the optimiser of a loop that has none: the parameters, and the learning rate where it could be
    measured.

    The parameters are not kept alive. Where the script makes new ones in every update, or is handed their gradients by
    `torch.autograd.grad`, `aliases` share their memory and carry their gradients: nothing is written into the script's
    own tensors."""

    def __init__(self, leaves: Sequence[torch.Tensor], aliased: bool, settings: Mapping[str, Any]) -> None:
        self._settings = settings  # of the library's optimiser that does it, where that is known
        self.rate: float | None = None  # of the latest update
        self.plain = False  # the first update was a multiple of the gradient
        self.aliases = [leaf.detach().requires_grad_() for leaf in leaves] if aliased else []
        self._leaves = [] if aliased else [weakref.ref(leaf) for leaf in leaves]

    @property
    def leaves(self) -> list[torch.Tensor]:
        return self.aliases or [leaf for held in self._leaves if (leaf := held()) is not None]

    @property
    def gone(self) -> bool:
        """The script has let go of a parameter."""
        return any(held() is None for held in self._leaves)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        measured = {} if self.rate is None else {"lr": self.rate}
        return [{"params": self.leaves, **measured, **self._settings}]

    @property
    def name(self) -> str | None:
        """Of the optimiser of another library that does the updates."""
        return self._settings.get("name")

    def keep(self, kept: Sequence[bool]) -> None:
        """Let go of parameters that are not updated."""
        if not self.aliases:
            self._leaves = [leaf for leaf, one in zip(self._leaves, kept, strict=True) if one]

    def follow(self, leaves: Sequence[torch.Tensor]) -> None:
        """The parameters are these tensors now."""
        for alias, leaf in zip(self.aliases, leaves, strict=True):
            alias.data = leaf.detach()

    def carry(self, gradients: Gradients) -> None:
        for alias, gradient in zip(self.aliases, gradients, strict=True):
            alias.grad = gradient.detach() if gradient is not None else None


@dataclass(frozen=True, slots=True)
class _Look:
    """The parameters just after a pass: what marks them, and a few numbers of some and of their gradients."""

    leaves: list[weakref.ref[torch.Tensor]]
    identities: list[int]
    shapes: list[torch.Size]
    marks: Marks
    shown: list[int]  # the places of those whose numbers were taken
    weights: list[torch.Tensor]
    gradients: list[torch.Tensor]

    def alive(self) -> list[torch.Tensor]:
        """The same parameters now; none where one of them is gone."""
        leaves = [leaf for held in self.leaves if (leaf := held()) is not None]
        return leaves if len(leaves) == len(self.leaves) else []

    def moved(self, leaves: Sequence[torch.Tensor]) -> list[bool]:
        return [mark != before for mark, before in zip(_marks(leaves), self.marks, strict=True)]

    def untouched(self, place: int) -> bool:
        """No gradient that could have moved this parameter was seen."""
        return place not in self.shown or not bool(self.gradients[self.shown.index(place)].any())

    def change(self, leaves: Sequence[torch.Tensor]) -> torch.Tensor:
        pairs = zip(self.shown, self.weights, strict=True)
        return torch.cat([_few(leaves[place]) - before for place, before in pairs])

    def cosine(self, change: torch.Tensor) -> float:
        """Between an update and the gradient; 0 where one of them is nothing or not finite."""
        gradient = torch.cat(self.gradients)
        sizes = float(gradient.norm() * change.norm())
        return float(gradient @ change) / sizes if 0 < sizes < math.inf else 0.0

    def rate(self, change: torch.Tensor) -> float | None:
        """The learning rate, where the update is the same multiple of every gradient, as far as rounding does not hide
        it."""
        rounding = torch.finfo(torch.float32).eps * torch.cat(self.weights).abs()
        sure = change.isfinite() & (change.abs() > NOTICEABLE * rounding)
        if int(sure.sum()) < MIN_WEIGHTS:
            return None
        gradient, change = torch.cat(self.gradients)[sure], change[sure]
        square, size = float(gradient @ gradient), float(change.norm())
        if not (0 < square < math.inf and size < math.inf):
            return None
        rate = float(gradient @ change) / square
        apart = float((change - rate * gradient).norm())
        return float(f"{abs(rate):.3g}") if apart <= PROPORTIONAL * size + float(rounding[sure].norm()) else None


class HandLoop:
    """Watches the passes of a process. `alive` until an optimiser of torch takes over; `optimizer` stands for the one
    that is missing."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.alive = True
        self.found = False  # the loop is a training
        self.pending = False  # it is, and a pass was made since its last update
        self.optimizer: ByHand | None = None
        self.settings: dict[str, Any] = {}  # of an optimiser that is not torch's, written by who knows it
        self.originals: set[int] = set()  # ids of parameters that aliases stand for, those replaced since among them
        self._announced = False  # observers know that an update is to come
        self._by_backward = False  # `backward` was called: `torch.autograd.grad` is a part of the loss then
        self._given = False  # the script is handed the gradients of this pass
        self._replaced = False  # by new tensors, in every update
        self._silent = False  # changes leave no mark: an update is expected after as many passes as before
        self._leaves: list[torch.Tensor] = []  # of the pass that is under way
        self._look: _Look | None = None
        self._marks: Marks = []
        self._passes = 0  # since the last update,
        self._usual = 1  # and before it
        self._looked = self._changes = 0

    # --- what the hub asks --------------------------------------------------------------------------------------------

    def takes(self, inputs: Any, create_graph: bool) -> bool:
        """Whether gradients that the script asks for are those of a step."""
        if not self.alive or self._by_backward or create_graph:
            return False
        return all(isinstance(one, torch.Tensor) and one.is_leaf and watchable(one) for one in _listed(inputs))

    def begins(self, tensors: Any, inputs: Any = None) -> bool:
        """A pass is about to run; whether an update was made since the one before. `inputs` are those of
        `torch.autograd.grad`."""
        self._given = inputs is not None
        self._by_backward = self._by_backward or not self._given
        if not self.found and optimizer_built():
            self.end()
            return False
        return self._guarded(self._begin, _listed(tensors), _listed(inputs) if self._given else None)

    def ends(self, gradients: Gradients | None = None) -> bool:
        """A pass has run; whether the gradients are taken to be final."""
        return self.alive and self._guarded(self._end, gradients)

    def updates(self, *, whole: bool = False) -> bool:
        """Whether an update was made since the last pass; `whole` where it may still be under way."""
        return self.pending and not self._replaced and self._guarded(self._changed, whole)

    def updated(self) -> None:
        """The update was reported."""
        self._usual, self._passes = self._passes, 0
        self.pending = self._announced = False
        self._look = None
        if self.optimizer is not None:
            self.optimizer.carry([None] * len(self.optimizer.aliases))

    def end(self) -> None:
        """An optimiser of torch trains, or the recording is over."""
        if self.alive and self._announced and not self.found:
            self._hub.observe("on_models_freed")  # what was made ready for an update that never came
        self.alive = self.pending = False
        self.optimizer = self._look = None
        self._leaves = []

    # --- before a pass ------------------------------------------------------------------------------------------------

    def _begin(self, losses: list[Any], inputs: list[torch.Tensor] | None) -> bool:
        if self.found:
            if self._goes_on(losses, inputs):
                return self.pending and self._changed(False)
            self._forget()
        self._looked += 1
        if self._looked > MOST_PASSES:
            self.alive = False
            return False
        self._leaves = self._parameters(losses, inputs)
        return self._recognised()

    def _goes_on(self, losses: list[Any], inputs: list[torch.Tensor] | None) -> bool:
        """Whether the same parameters are trained; where they may be new tensors, these are taken over."""
        optimizer = self.optimizer
        if optimizer is None or optimizer.gone or (self._passes > STALLED * self._usual and not self._silent):
            return False
        if optimizer.aliases and (inputs is not None or not self._hub.resting):
            self._leaves = self._parameters(losses, inputs)
            if [leaf.shape for leaf in self._leaves] != [alias.shape for alias in optimizer.aliases]:
                return False
            optimizer.follow(self._leaves)
        return True

    def _forget(self) -> None:
        """Begin anew: other parameters are trained."""
        self.found = self.pending = self._announced = self._replaced = self._silent = False
        self.optimizer = self._look = None
        self._passes = self._looked = self._changes = 0
        self._usual = 1

    def _parameters(self, losses: list[Any], inputs: list[torch.Tensor] | None) -> list[torch.Tensor]:
        """The tensors that a pass finds gradients for and that can be weights: parameters of modules; tensors of the
        same shapes; all of them where no model was called. Others are inputs, as of an attack or of a picture that is
        painted."""
        tensors = [one for one in losses if isinstance(one, torch.Tensor)]
        leaves = inputs if inputs is not None else [leaf for loss in tensors for leaf in graph_of(loss).leaves]
        leaves = [leaf for leaf in {id(leaf): leaf for leaf in leaves}.values() if _trainable(leaf)]
        if inputs is None and any(isinstance(leaf, torch.nn.Parameter) for leaf in leaves):
            return [leaf for leaf in leaves if isinstance(leaf, torch.nn.Parameter)]
        known = {id(p): p for model in self._hub.models.values() for p in model.parameters()}
        if not known or all(id(leaf) in known for leaf in leaves):
            return leaves
        fit = Counter(leaf.shape for leaf in leaves) <= Counter(p.shape for p in known.values())
        most = sum(leaf.numel() for leaf in leaves) >= MOSTLY * sum(p.numel() for p in known.values())
        return leaves if fit and most else []

    def _recognised(self) -> bool:
        """Whether the parameters of the pass before were changed since then in a way that only a training does."""
        look = self._look
        if look is None:
            return False
        leaves = look.alive()
        moved = look.moved(leaves) if leaves else []
        change = look.change(leaves) if leaves else None
        replaced = change is None or not (any(moved) or bool((change != 0).any()))
        if replaced:
            leaves, moved = self._leaves, []
            if [leaf.shape for leaf in leaves] != look.shapes or {id(leaf) for leaf in leaves} & {*look.identities}:
                return False
        change = look.change(leaves) if change is None or replaced else change
        self._changes += not replaced
        several = self._changes >= CHANGES and sum(moved) >= MOSTLY * len(leaves)
        if abs(look.cosine(change)) <= ALONG and (replaced or not several):
            return False
        self._replaced, self._silent = replaced, not any(moved)
        if self.optimizer is None or (replaced and not self.optimizer.aliases):
            self.optimizer = ByHand(leaves, replaced or self._given, self.settings)
        elif replaced:
            self.optimizer.follow(leaves)
        if not self._silent:
            self.optimizer.keep([one or look.untouched(place) for place, one in enumerate(moved)])
        if self.optimizer.aliases:
            self.originals.update(look.identities, map(id, leaves))
        self.optimizer.rate = look.rate(change)
        self.optimizer.plain = self.optimizer.rate is not None
        self.found = self.pending = True
        return True

    # --- after a pass, and until the next -----------------------------------------------------------------------------

    def _end(self, gradients: Gradients | None) -> bool:
        self._passes += 1
        if gradients is not None and len(gradients) != len(self._leaves):
            return False
        optimizer = self.optimizer
        if optimizer is not None and optimizer.aliases:
            optimizer.carry([leaf.grad for leaf in self._leaves] if gradients is None else gradients)
        if self.found and optimizer is not None:
            final, self.pending, held = self._passes == self._usual, True, optimizer.leaves
            self._marks = [] if self._silent else _marks(held)
            self._look = _look_at(held, [leaf.grad for leaf in held]) if final and self._hub.deep else None
            return final
        self._look = _look_at(self._leaves, [leaf.grad for leaf in self._leaves] if gradients is None else gradients)
        if self._look is None or self._announced:
            return False
        self._announced = True
        self.optimizer = ByHand(self._leaves, self._given, self.settings)
        if gradients is not None:
            self.optimizer.carry(gradients)
        self._leaves = []
        return True

    def _changed(self, whole: bool) -> bool:
        optimizer = self.optimizer
        if optimizer is None:
            return False
        leaves = optimizer.leaves
        if self._silent:
            done = not whole and self._passes >= self._usual
        elif len(leaves) != len(self._marks):
            return False
        else:
            moved = [mark != before for mark, before in zip(_marks(leaves), self._marks, strict=True)]
            done = all(moved) if whole else any(moved)
        if done:
            optimizer.rate = self._look.rate(self._look.change(leaves)) if self._look is not None else None
        return done

    def _guarded(self, call: Callable[..., bool], *arguments: Any) -> bool:
        """Timed and without gradients; what goes wrong here ends the search and nothing else."""
        began, grad = time.perf_counter(), torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        try:
            return call(*arguments)
        except Exception as error:
            self.alive = self.pending = False
            self._hub.warn(f"stopped looking for updates by hand ({type(error).__name__}: {error})")
            return False
        finally:
            torch._C._set_grad_enabled(grad)
            self._hub.spend(time.perf_counter() - began)


def optimizer_built() -> bool:
    """Whether an optimiser of torch was ever built in this process: its class then has a `step` that runs hooks."""
    kinds = [Optimizer]
    while kinds:
        kind = kinds.pop()
        if getattr(getattr(kind, "step", None), "hooked", False):
            return True
        kinds += kind.__subclasses__()
    return False


def _look_at(leaves: Sequence[torch.Tensor], gradients: Gradients) -> _Look | None:
    """None where there is no gradient whose numbers can be read."""
    read = [(i, one) for i, one in enumerate(gradients) if one is not None and watchable(one) and not one.is_sparse]
    read = read[:WEIGHTS]
    if not read:
        return None
    return _Look(
        [weakref.ref(leaf) for leaf in leaves], [id(leaf) for leaf in leaves], [leaf.shape for leaf in leaves],
        _marks(leaves),
        [place for place, _ in read], [_few(leaves[place]) for place, _ in read], [_few(one) for _, one in read],
    )  # fmt: skip


def _trainable(leaf: torch.Tensor) -> bool:
    return leaf.requires_grad and watchable(leaf) and leaf.is_floating_point() and not leaf.is_sparse


def _marks(leaves: Sequence[torch.Tensor]) -> Marks:
    """What a change in place and new memory leave their mark on; a change through `.data` leaves none."""
    return [(leaf._version, leaf.data_ptr()) for leaf in leaves]


def _few(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of some numbers, in host memory: taken on deep steps only, since that waits for the device."""
    return tensor.detach().reshape(-1)[:SAMPLE].to("cpu", torch.float32, copy=True)


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, torch.Tensor) else list(given)
