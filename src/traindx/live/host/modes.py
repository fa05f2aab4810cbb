"""Our own operations outside of what the user has put around his: modes of `__torch_function__` and of the dispatcher
(FLOP counters, tracers, default devices), tensors of his own kinds and profilers do not get to see them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode_stack

_functions = torch._C._len_torch_function_stack
_dispatch = torch._C._len_torch_dispatch_stack
_profiled = torch._C._autograd._profiler_enabled
_record: Callable[[bool], None] | None = getattr(torch._C._autograd, "_enable_record_function", None)
_thread = threading.local()  # `unrecorded`: our operations are being kept out of the profiler in this thread


def profiled() -> bool:
    """Whether the user's profiler is at work: whatever we compute now would stand in his table."""
    return bool(_profiled())


def fake_tensors_active() -> bool:
    """Whether the script works on tensors without numbers (`FakeTensorMode`), to trace or to count."""
    return bool(_dispatch()) and any(isinstance(one, FakeTensorMode) for one in _get_current_dispatch_mode_stack())


def outside_modes() -> AbstractContextManager[Any]:
    """What is computed inside is seen by no mode, by no `__torch_function__` of a kind of tensor and by no profiler.
    Costs less than a microsecond where there is none."""
    profiler = _profiled()
    if not _functions() and not _dispatch() and not profiler:
        return torch._C.DisableTorchFunctionSubclass()
    stack = ExitStack()
    if profiler:
        stack.enter_context(_unrecorded())
    stack.enter_context(torch._C.DisableTorchFunction())
    if _dispatch():
        stack.enter_context(_disable_current_modes())
    return stack


def has_gradient(output: torch.Tensor) -> bool:
    """Whether a gradient flows through it. A plain tensor tells without anybody to see it: that costs a third."""
    if type(output) is torch.Tensor and not _functions():
        return output.requires_grad
    with outside_modes():
        return output.requires_grad


@contextmanager
def _unrecorded() -> Iterator[None]:
    """Operations of this thread stand in no table of a profiler."""
    if _record is None or getattr(_thread, "unrecorded", False):
        yield
        return
    _thread.unrecorded = True
    _record(False)
    try:
        yield
    finally:
        _record(True)
        _thread.unrecorded = False
