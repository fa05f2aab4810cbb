"""Our own operations outside of what the user has put around his: modes of `__torch_function__` and of the dispatcher
(FLOP counters, tracers, default devices), tensors of his own kinds and profilers do not get to see them."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode_stack

_functions = torch._C._len_torch_function_stack
_dispatch = torch._C._len_torch_dispatch_stack
_profiled = torch._C._autograd._profiler_enabled


def profiled() -> bool:
    """Whether the user's profiler is at work: whatever we compute now would stand in his table."""
    return bool(_profiled())


def fake_tensors_active() -> bool:
    """Whether the script works on tensors without numbers (`FakeTensorMode`), to trace or to count."""
    return bool(_dispatch()) and any(isinstance(one, FakeTensorMode) for one in _get_current_dispatch_mode_stack())


def outside_modes() -> AbstractContextManager[Any]:
    """What is computed inside is seen by no mode and by no `__torch_function__` of a kind of tensor. Costs less than a
    microsecond where there is no mode."""
    if not _functions() and not _dispatch():
        return torch._C.DisableTorchFunctionSubclass()
    stack = ExitStack()
    stack.enter_context(torch._C.DisableTorchFunction())
    if _dispatch():
        stack.enter_context(_disable_current_modes())
    return stack
