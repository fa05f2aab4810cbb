"""Which line of the user's code made each tensor of a step, and of what: a TorchFunctionMode that is there for the
first steps only.

It keeps no tensor alive and changes none. It steps aside for whatever would behave otherwise while a mode is there:
models in evaluation (fused kernels), compiled parts, and loss functions that warn with the line of their caller."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from traindx.live.events.places import own_frame, place, variables
from traindx.live.host.patches import hide
from traindx.live.measures.rows import watchable

MAX_OPERATIONS = 4000  # of a step; an unrolled loop is traced in part
MAX_SECONDS = 0.2  # of the processor that a trace may take
MAX_DEPTH = 40  # frames between an operation and the user's line
MAX_GIVEN = 32  # tensors that an operation is given: a recurrent layer takes its weights as a list
RANGE_ELEMENTS = 1 << 18
RANGE_SECONDS = 0.01  # that the ranges of one trace may take
_READS = frozenset({"item", "tolist", "numpy", "__float__", "__int__", "__array__"})
# what makes a tensor out of plain numbers
_MAKES = frozenset({"tensor", "as_tensor", "from_numpy", "scalar_tensor", "asarray", "FloatTensor"})
_IGNORED = frozenset({
    "__set__", "backward", "register_hook", "size", "dim", "__len__", "is_floating_point", "numel", "stride",
    "is_complex",
    "__repr__", "__format__", "is_nonzero", "__bool__", "retain_grad", "_is_view", "data_ptr", "element_size",
    "storage_offset",
})  # fmt: skip
_CONTAINERS = "torch.nn.modules.container"
_LOSSES = "torch.nn.modules.loss"


@dataclass(slots=True)
class Made:
    """One operation. `inputs` are the numbers of those that made what it was given; `leaves` parameters among it."""

    line: str
    operation: str
    shape: tuple[int, ...]
    grad: bool  # its result carries a gradient
    cut: bool  # what it was given did, and its result does not
    inputs: tuple[int, ...]
    leaves: tuple[int, ...]
    low: float | None = None
    high: float | None = None
    module: str = ""  # the class of torch's module that it stands in
    made_at: str = ""  # where that was constructed
    contained: bool = False  # it was called by a container of torch's, not by the user's line
    constant: float | None = None  # a number beside the tensor
    source: str = ""  # the variable of a tensor that was made before
    stretched: bool = False  # both of what it was given are smaller than its result


@dataclass
class Lines:
    """Where modules were constructed, by id, while they live."""

    known: dict[int, tuple[weakref.ref[torch.nn.Module], str]] = field(default_factory=dict)

    def of(self, module: Any) -> str:
        found = self.known.get(id(module))
        return found[1] if found is not None and found[0]() is module else ""


class Trace(TorchFunctionMode):
    def __init__(self, lines: Lines, is_ours: Callable[[], bool]) -> None:
        super().__init__()
        self._is_ours = is_ours
        self._thread = threading.get_ident()
        self.lines = lines
        self.made: list[Made] = []
        self.whole = True
        self.seconds = 0.0
        self.fault: Exception | None = None
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}
        self._reads: int | None = None  # the last number that was read out of something with a gradient
        self._shared: dict[int, int] = {}  # by place in memory: what was handed to numpy
        self._ranges = 0.0
        self._pushed = False
        self._aside = 0
        self.stale = False  # it is off, and still on the stack

    # --- on and off ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._aside = 0
        self._push()

    def stop(self) -> None:
        self._aside = 0
        self._pop()

    @property
    def active(self) -> bool:
        """It is on, or back as soon as what it has stepped aside for is over."""
        return self._pushed or self._aside > 0

    def step_aside(self) -> None:
        self._aside += 1
        self._pop()

    def come_back(self, *, wanted: bool) -> None:
        self._aside = max(0, self._aside - 1)
        if wanted and not self._aside:
            self._push()

    def _push(self) -> None:
        if not self._pushed and threading.get_ident() == self._thread:
            self.__enter__()  # type: ignore[no-untyped-call]
            self._pushed = True

    def _pop(self) -> None:
        """Leave the stack of modes, also where modes of the user lie on top."""
        if not self._pushed:
            return
        self._pushed = False
        self.sweep()

    def sweep(self) -> None:
        """Take it off the stack. Inside a call of its own it lies beside the stack, and is back when that is over: then
        it is `stale`, and to be swept again."""
        if threading.get_ident() != self._thread:
            return  # a stack is a thread's own: ours stays there and looks away
        above = []
        self.stale = True
        while self.stale and torch._C._len_torch_function_stack():
            mode = torch._C._pop_torch_function_stack()
            self.stale = mode is not self
            if self.stale:
                above.append(mode)
        for mode in reversed(above):
            torch._C._push_on_torch_function_stack(mode)

    # --- recording ----------------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **kwargs) if kwargs else func(*args)
        if self._pushed and self.whole and self.fault is None and not self._is_ours():
            began = time.thread_time()
            try:
                with torch._C.DisableTorchFunction():  # classes of tensors and modes below do not see what we look at
                    self.note(getattr(func, "__name__", ""), func, args, kwargs or {}, result)
            except Exception as error:  # ours: it ends the trace, not the training
                self.fault = error
            self.seconds += time.thread_time() - began
        return result

    def note(self, name: str, func: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        """One operation has run."""
        if name in _IGNORED:
            return
        name = _plain(name, func)
        given = list(_tensors((args, list(kwargs.values())), 3))[:MAX_GIVEN]
        # what is written into a tensor makes it anew
        results = given[:1] if name == "__setitem__" else list(_tensors(result))[:4]
        reads = name in _READS and bool(given) and given[0].requires_grad
        reads = reads or (name in _READS and self._of(given[0]) is not None if given else False)
        if not results and not reads:
            return
        if len(self.made) >= MAX_OPERATIONS or self.seconds > MAX_SECONDS:
            self.whole = False
            return
        known = [number for one in given if (number := self._of(one, name)) is not None]
        if name in _MAKES and not known and self._reads is not None:
            known = [self._reads]
        carries = any(one.requires_grad for one in given)
        carries = carries or (name in _READS and self.made[known[0]].grad if known else False)
        grad = any(one.requires_grad and not (name in _MAKES and one.is_leaf) for one in results)
        frame = own_frame()
        line, module, contained = _place(frame)
        shaped = results[0] if results else given[0]
        made = Made(
            line, name, tuple(shaped.shape) if _has_shape(shaped) else (), grad, carries and not grad,
            tuple(dict.fromkeys(known)), tuple(id(one) for one in given if one.is_leaf and one.requires_grad),
            module=type(module).__name__ if module is not None else "", made_at=self.lines.of(module),
            contained=contained, constant=_number_in(args),
            source=_variable(given[0], frame) if given and frame is not None and self._of(given[0]) is None else "",
        )  # fmt: skip
        if results:
            made.low, made.high = self._range(results[0])
            made.stretched = _stretches(made.shape, given)
        number = len(self.made)
        self.made.append(made)
        if reads:
            self._reads = number
            if name == "numpy" and watchable(given[0]):
                self._shared[given[0].data_ptr()] = number
        for one in results:
            if name in _MAKES or not (one.is_leaf and one.requires_grad):
                self._known[id(one)] = (weakref.ref(one), number)

    def number_of(self, tensor: torch.Tensor) -> int | None:
        return self._of(tensor)

    def _of(self, tensor: torch.Tensor, operation: str = "") -> int | None:
        found = self._known.get(id(tensor))
        if found is None or found[0]() is not tensor:
            # `from_numpy` cannot be seen: what it gives lies where the array does
            again = self._shared and operation != "numpy" and watchable(tensor) and not tensor.requires_grad
            return self._shared.get(tensor.data_ptr()) if again else None
        if (
            tensor.requires_grad and not tensor.is_leaf and not self.made[found[1]].grad
        ):  # a function of the user's own took it up
            self.made[found[1]].grad, self.made[found[1]].cut = True, False
        return found[1]

    def _range(self, tensor: torch.Tensor) -> tuple[float | None, float | None]:
        if self._ranges > RANGE_SECONDS or not _is_quiet() or not _has_shape(tensor):
            return None, None
        plain = watchable(tensor) and tensor.layout == torch.strided and not tensor.is_complex()
        if not plain or not 0 < tensor.numel() <= RANGE_ELEMENTS:
            return None, None
        began = time.perf_counter()
        low, high = (float(one) for one in torch.aminmax(tensor.detach()))
        self._ranges += time.perf_counter() - began
        return low, high


hide(Trace.__torch_function__)


def _is_quiet() -> bool:
    """Nobody would see an operation of ours: no mode of the user's below torch, no profiler, no function transform."""
    return not (
        torch._C._len_torch_dispatch_stack()
        or torch._C._autograd._profiler_enabled()
        or torch._C._functorch.peek_interpreter_stack() is not None
    )


def _stretches(shape: tuple[int, ...], given: list[torch.Tensor]) -> bool:
    """Two tensors are laid out to a shape that neither of them has: a column and a row, most often."""
    if len(given) != 2 or not all(map(_has_shape, given)):
        return False
    one, other = (tuple(tensor.shape) for tensor in given)
    if shape in (one, other) or not one or not other:
        return False
    sides = list(zip_longest(reversed(one), reversed(other), fillvalue=1))
    # torch.broadcast_shapes would load the symbolic shapes of its compiler first, half a second of work
    return all(a == b or 1 in (a, b) for a, b in sides) and shape == tuple(max(pair) for pair in reversed(sides))


def _has_shape(tensor: torch.Tensor) -> bool:
    return not getattr(tensor, "is_nested", False)


def _plain(name: str, func: Any) -> str:
    """'__get__' of a property by the name of the property: `data`, `T`, `grad`."""
    if name == "__get__":
        return str(getattr(getattr(func, "__self__", None), "__name__", name))
    return name


def _place(frame: FrameType | None) -> tuple[str, Any, bool]:
    """The user's line, torch's module that it calls, and whether a container of torch's called that."""
    if frame is None:
        return "", None, False
    module, contained = _module_below(frame)
    return place(frame.f_code.co_filename, frame.f_lineno), module, contained


def _variable(tensor: torch.Tensor, frame: FrameType) -> str:
    """The name under which a line can read this tensor."""
    if tensor.requires_grad:
        return ""
    own = variables(frame)
    names = frame.f_code.co_names + frame.f_code.co_varnames + frame.f_code.co_freevars
    return next((name for name in names if tensor is own.get(name, frame.f_globals.get(name))), "")


def _number_in(args: Any) -> float | None:
    for one in args[:2] if isinstance(args, tuple) else ():
        if isinstance(one, int | float) and not isinstance(one, bool):
            return float(one)
    return None


def _tensors(value: Any, depth: int = 2) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, list | tuple):
        for one in value[:64]:
            yield from _tensors(one, depth - 1)


def _module_below(users: FrameType) -> tuple[Any, bool]:
    """The innermost module of torch's between an operation and the user's line."""
    frame: FrameType | None = sys._getframe(1)
    found, contained = None, False
    for _ in range(MAX_DEPTH):
        if frame is None or frame is users:
            break
        if frame.f_code.co_name == "forward":
            module = variables(frame).get("self")
            if isinstance(module, torch.nn.Module) and not type(module).__module__.startswith(_LOSSES):
                if found is None:
                    found = module
                elif type(module).__module__ == _CONTAINERS:
                    contained = True
        frame = frame.f_back
    return found, contained


def ancestors(made: list[Made], start: int, most: int, *, through_cuts: bool = True) -> Iterable[int]:
    """Operations before one, nearest first; only along gradients where cuts are not passed."""
    waiting, seen = [start], {start}
    while waiting and most:
        number = waiting.pop(0)
        most -= 1
        yield number
        if not through_cuts and made[number].cut:
            continue
        # what carries the gradient first: the path from the loss to the parameters
        for parent in sorted(made[number].inputs, key=lambda one: (not made[one].grad, -one)):
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)
