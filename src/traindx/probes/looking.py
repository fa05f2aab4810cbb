"""Looking into a replay: what each layer puts out, in the order of execution, and what activation functions do to
it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.modules import module as torch_module
from torch.overrides import TorchFunctionMode

from traindx.probes.nested import tensors
from traindx.probes.subject import Subject

# functions with an end that is flat
FUNCTIONS = frozenset(
    {"relu", "relu_", "tanh", "tanh_", "sigmoid", "sigmoid_", "gelu", "silu", "hardtanh", "relu6", "hardsigmoid"}
)
_ALIASES = {"relu_": "relu", "tanh_": "tanh", "sigmoid_": "sigmoid"}


@dataclass(frozen=True)
class Seen:
    """One output of a layer or of an activation function. `unit` is the dimension of its units."""

    name: str
    kind: str  # 'layer', or the function's name
    input: torch.Tensor | None
    output: torch.Tensor
    unit: int


def weighted(module: torch.nn.Module) -> bool:
    """A layer that multiplies by a matrix: not a norm, not an embedding, no container."""
    if isinstance(module, torch.nn.Embedding | torch.nn.EmbeddingBag | torch.nn.RNNBase):
        return False
    return any(p is not None and p.dim() >= 2 for p in module._parameters.values())


def unit_dimension(output: torch.Tensor, module: torch.nn.Module | None) -> int:
    """Channels come second after a convolution or batch norm and in anything image-like, last otherwise."""
    spatial = isinstance(module, torch.nn.modules.conv._ConvNd | torch.nn.modules.batchnorm._BatchNorm)
    return 1 if output.dim() >= 4 or (spatial and output.dim() >= 3) else -1


class _Functions(TorchFunctionMode):
    def __init__(self, tell: Callable[[str, torch.Tensor, torch.Tensor], None]) -> None:
        super().__init__()
        self._tell = tell

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name not in FUNCTIONS or not args or not isinstance(args[0], torch.Tensor):
            return func(*args, **(kwargs or {}))
        given = args[0].detach().clone() if name.endswith("_") else args[0]
        output = func(*args, **(kwargs or {}))
        self._tell(_ALIASES.get(name, name), given, output)
        return output


def _enabled() -> AbstractContextManager[Any]:
    """Modes at work again: within an event of a script they are off, so that no mode of the user sees what is ours."""
    enable = getattr(torch._C, "_EnableTorchFunction", None)
    return nullcontext() if enable is None else enable()


@contextmanager
def looking(subject: Subject, tell: Callable[[Seen], None], *, functions: bool = True) -> Iterator[None]:
    """Tells of every weighted layer's output, and of every activation function's, while the subject is replayed."""
    names = {id(module): name for name, module in subject.layers().items()}
    last: list[tuple[str, torch.nn.Module | None]] = [("input", None)]
    inside: list[torch.nn.Module] = []

    def enter(module: torch.nn.Module, args: Any) -> None:
        inside.append(module)

    def leave(module: torch.nn.Module, args: Any, output: Any) -> None:
        while inside and inside.pop() is not module:
            pass
        name = names.get(id(module))
        if name is None:
            return
        if next(iter(module._parameters), None) is not None:
            last[0] = (name, module)
        found = next((t for t in tensors(output) if t.is_floating_point() and t.numel()), None)
        if found is not None and weighted(module):
            given = next((t for t in tensors(args) if t.is_floating_point()), None)
            tell(Seen(name, "layer", given, found, unit_dimension(found, module)))

    def function(kind: str, given: torch.Tensor, output: torch.Tensor) -> None:
        own = names.get(id(inside[-1])) if inside and not inside[-1]._parameters and not inside[-1]._modules else None
        before, module = last[0]
        tell(Seen(own or f"{before}.{kind}", kind, given, output, unit_dimension(output, module)))

    handles = [torch_module.register_module_forward_pre_hook(enter), torch_module.register_module_forward_hook(leave)]
    try:
        if functions:
            with _enabled(), _Functions(function):
                yield
        else:
            yield
    finally:
        for handle in handles:
            handle.remove()
