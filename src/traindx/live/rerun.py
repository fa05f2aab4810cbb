"""Where NaN began when the graph does not tell: in a part that torch.compile has compiled, which is one node there, or in arithmetic
on data, which leaves no node. The model is run once more, eagerly, on a copy of it and of what it was given, and the first
operation that makes NaN or Inf of finite numbers is noted.

Only models in host memory that are called with one tensor are run again, only once in a training, and none of several ranks.
The copy takes the harm a second run does (running statistics), and torch's random numbers are put back.
"""

from __future__ import annotations

import copy
import io
import weakref
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from traindx.live.autopsy import MOST_NODES, nodes
from traindx.live.keeping import users_tensors
from traindx.live.places import user_frame, user_line
from traindx.live.rows import watchable
from traindx.live.tensors import tensors_in

COMPILED = "CompiledFunction"  # the name of such a part's node begins with it
MOST_BYTES = 1 << 30  # of weights that are copied
LOGS = ("log", "log2", "log10", "log1p", "acos", "asin", "sqrt")  # not defined everywhere
ALLOCATIONS = ("empty", "new_empty", "resize")  # give out memory as it is, and old bytes may read as NaN
DIVISIONS = ("div", "reciprocal", "rsqrt", "pow", "norm", "linalg_vector_norm")


@dataclass(frozen=True, slots=True)
class Origin:
    symptom: str | None
    evidence: str
    where: str | None


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

    def origin(self, loss: torch.Tensor, batch: Any) -> Origin | None:
        """Where the model began to make NaN; None where that cannot be told."""
        model = self._model() if self._model is not None else None
        eager: Any = getattr(model, "_orig_mod", model)
        given = self._given(batch)
        found = None
        # ranks that talk to each other in the forward pass would wait for those that do not run it again
        alone = not (torch.distributed.is_available() and torch.distributed.is_initialized())
        if alone and eager is not None and given is not None and _bytes(eager) <= MOST_BYTES:
            found = first_bad(eager, given)
        if found is None and loss.grad_fn is not None:
            compiled = any(node.name().startswith(COMPILED) for node in nodes(loss.grad_fn, MOST_NODES))
            name = type(eager).__name__ if eager is not None else "part"
            text = f"it began inside the compiled {name}, whose operations cannot be seen"
            found = Origin(None, text, None) if compiled else None
        return found

    def _given(self, batch: Any) -> torch.Tensor | None:
        if isinstance(self._place, str):
            frame = user_frame()
            value = frame.f_locals.get(self._place) if frame is not None else None
            return value if isinstance(value, torch.Tensor) and watchable(value) else None
        members = list(tensors_in(batch))
        return members[self._place] if 0 <= self._place < len(members) else None


def first_bad(model: torch.nn.Module, given: torch.Tensor) -> Origin | None:
    """Run a copy and name the first operation that leaves the numbers; None where none does, or where it cannot be run."""
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
        self.found: Origin | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self.found is None and not func.overloadpacket.__name__.startswith(ALLOCATIONS):
            # the result itself: what some operations hand on beside it may be left unwritten
            first = next(tensors_in((result,)), None)
            made = [first] if first is not None and first.is_floating_point() and first.numel() else []
            given = [one for one in tensors_in((args,)) if one.is_floating_point() and one.numel()]
            if any(_spoilt(one) for one in made) and not any(_spoilt(one) for one in given):
                self.found = _described(func, given, made)
        return result


def _described(func: Any, given: list[torch.Tensor], made: list[torch.Tensor]) -> Origin:
    name = func.overloadpacket.__name__.strip("_")
    lows, highs = zip(*(torch.aminmax(one.float()) for one in given), strict=True) if given else ((), ())
    went_in = f" of values from {float(min(lows)):.3g} to {float(max(highs)):.3g}" if lows else ""
    half = any(one.dtype == torch.float16 and bool(torch.isinf(one).any()) for one in made)
    symptom = "nan-from-half-overflow" if half else None
    if name in LOGS:
        symptom = "nan-from-log"
    elif name in DIVISIONS:
        symptom = "nan-from-division"
    return Origin(symptom, f"{name}{went_in}, found by running the model again", user_line())


def _spoilt(tensor: torch.Tensor) -> bool:
    return not bool(torch.isfinite(tensor).all())


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and one.data_ptr() == other.data_ptr()


def _bytes(model: torch.nn.Module) -> int:
    return sum(one.nbytes for one in (*model.parameters(), *model.buffers()))
