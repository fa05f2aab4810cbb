"""Measures where NaN begins when the graph does not tell: in a part that torch.compile has compiled, which is one
node there, or in arithmetic on data, which leaves no node. The model is run once more, eagerly, on a copy of it and
of what it was given, and the first operation that makes NaN or Inf of finite numbers is noted.

Only models in host memory that are called with one tensor are run again, only once in a training, and none of several
ranks. The copy takes the harm a second run does (running statistics), and torch's random numbers are put back."""

from __future__ import annotations

import copy
import io
import weakref
from contextlib import redirect_stdout
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from traindx.live.events.places import user_frame, user_line, variables
from traindx.live.measures.autopsy import MOST_NODES, nodes
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import tensors_in
from traindx.live.recording.keeping import users_tensors
from traindx.measurements import Operation

COMPILED = "CompiledFunction"  # the name of such a part's node begins with it
MOST_BYTES = 1 << 30  # of weights that are copied
ALLOCATIONS = ("empty", "new_empty", "resize")  # give out memory as it is, and old bytes may read as NaN


class Rerun:
    """Remembers how the model is fed, so that it can be run again."""

    def __init__(self) -> None:
        self._model: weakref.ref[torch.nn.Module] | None = None
        self._place: int | str = -1  # of its input in the batch, or the name it has in the user's function

    def note(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], batch: Any) -> None:
        """A training call, on a deep step."""
        if len(args) != 1 or kwargs or not isinstance(args[0], torch.Tensor) or not args[0].is_cpu:
            return
        given: torch.Tensor = args[0]
        members = enumerate(tensors_in(batch))
        place: int | str | None = next((index for index, one in members if _same(one, given)), None)
        if place is None and given.dim():
            mine = users_tensors(given.shape[0])
            place = next((name for name, one in mine.items() if _same(one, given)), None)
        if place is not None:
            self._model, self._place = weakref.ref(model), place

    def origin(self, batch: Any) -> Operation | None:
        """Where the model begins to make NaN; None where that cannot be known."""
        eager = self._eager
        given = self._given(batch)
        # ranks that talk to each other in the forward pass would wait for those that do not run it again
        alone = not (torch.distributed.is_available() and torch.distributed.is_initialized())
        if alone and eager is not None and given is not None and _bytes(eager) <= MOST_BYTES:
            return first_bad(eager, given)
        return None

    def compiled(self, loss: torch.Tensor) -> str:
        """The class of the model, where a part of the graph is compiled; '' where none is."""
        hidden = loss.grad_fn is not None and any(
            node.name().startswith(COMPILED) for node in nodes(loss.grad_fn, MOST_NODES)
        )
        return (type(self._eager).__name__ if self._eager is not None else "part") if hidden else ""

    @property
    def _eager(self) -> Any:
        model = self._model() if self._model is not None else None
        return getattr(model, "_orig_mod", model)

    def _given(self, batch: Any) -> torch.Tensor | None:
        if isinstance(self._place, str):
            frame = user_frame()
            value = variables(frame).get(self._place) if frame is not None else None
            return value if isinstance(value, torch.Tensor) and watchable(value) else None
        members = list(tensors_in(batch))
        return members[self._place] if 0 <= self._place < len(members) else None


def first_bad(model: torch.nn.Module, given: torch.Tensor) -> Operation | None:
    """Run a copy and name the first operation that leaves the numbers; None where none does, or where it cannot be
    run."""
    watch = _Watch()
    try:
        with torch.random.fork_rng(devices=[]), torch._dynamo.config.patch(disable=True), torch.no_grad():
            twin = copy.deepcopy(model)
            with watch, redirect_stdout(io.StringIO()):  # what the model prints was printed once already
                twin(given.detach().clone())
    except Exception:  # the user's code, in circumstances it was not made for
        return watch.found
    return watch.found


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: Operation | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self.found is None and not func.overloadpacket.__name__.startswith(ALLOCATIONS):
            # the result itself: what some operations hand on beside it may be left unwritten
            first = next(tensors_in((result,)), None)
            given = [one for one in tensors_in((args,)) if one.is_floating_point() and one.numel()]
            made = first is not None and first.is_floating_point() and first.numel() and _spoilt(first)
            if first is not None and made and not any(_spoilt(one) for one in given):
                self.found = _described(func, given, first)
        return result


def _described(func: Any, given: list[torch.Tensor], made: torch.Tensor) -> Operation:
    ranges = [torch.aminmax(one.float()) for one in given]
    return Operation(
        name=func.overloadpacket.__name__.strip("_"),
        elements=sum(one.numel() for one in given),
        low=float(min((low for low, _ in ranges), default=0.0)),
        high=float(max((high for _, high in ranges), default=0.0)),
        dtype=str(made.dtype).removeprefix("torch."),
        infinite=bool(made.isinf().any()),
        line=user_line(),
    )


def _spoilt(tensor: torch.Tensor) -> bool:
    return not bool(torch.isfinite(tensor).all())


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and one.data_ptr() == other.data_ptr()


def _bytes(model: torch.nn.Module) -> int:
    return sum(one.nbytes for one in (*model.parameters(), *model.buffers()))
