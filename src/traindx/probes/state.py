"""Everything that probing may change, held and put back bit for bit: parameters, buffers, gradients, the optimisers'
state, the attributes and modes of modules, and all random number generators."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from typing import Any

import torch


class Noise:
    """The random states of torch (host and devices), numpy and Python."""

    def __init__(self) -> None:
        self._host = torch.get_rng_state()
        self._cuda = torch.cuda.get_rng_state_all() if _cuda() else []
        self._python = random.getstate()
        numpy = sys.modules.get("numpy")
        self._numpy = numpy.random.get_state() if numpy is not None else None

    def restore(self) -> None:
        torch.set_rng_state(self._host)
        if self._cuda:
            torch.cuda.set_rng_state_all(self._cuda)
        random.setstate(self._python)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)


class State:
    """A picture of models, optimisers and further trained tensors at one moment."""

    def __init__(
        self,
        models: Iterable[torch.nn.Module],
        optimizers: Iterable[torch.optim.Optimizer] = (),
        tensors: Iterable[torch.Tensor] = (),
        *,
        parameters: bool = True,
    ) -> None:
        """Without `parameters`, for work that calls the models but does not train them."""
        modules = {id(module): module for model in models for module in model.modules()}
        self._modules = [(module, _attributes(module)) for module in modules.values()]
        held: dict[int, torch.Tensor] = {id(tensor): tensor for tensor in tensors}
        for module in modules.values():
            for tensor in (*(module._parameters.values() if parameters else ()), *module._buffers.values()):
                if tensor is not None:
                    held[id(tensor)] = tensor
        self._optimizers = [(optimizer, _optimizer_state(optimizer)) for optimizer in optimizers]
        for _, kept in self._optimizers:
            for group in kept["param_groups"]:
                held.update({id(tensor): tensor for tensor in group[1]["params"]})
        self._tensors = [_Held(tensor) for tensor in held.values()]
        self.noise = Noise()

    def restore(self) -> None:
        for module, attributes in self._modules:
            _put_back(module, attributes)
        with torch.no_grad():
            for tensor in self._tensors:
                tensor.restore()
            for optimizer, kept in self._optimizers:
                _restore_optimizer(optimizer, kept)
        self.noise.restore()


class _Held:
    """One tensor: its values, whether it is trained, and its gradient."""

    __slots__ = ("grad", "grad_values", "tensor", "trained", "values", "version")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.values = tensor.detach().clone()
        self.version = None if tensor.is_inference() else tensor._version
        self.trained = tensor.requires_grad
        self.grad = tensor.grad if tensor.is_leaf else None
        self.grad_values = None if self.grad is None else self.grad.detach().clone()

    def restore(self) -> None:
        self.tensor.data.copy_(self.values)
        if self.version is not None:
            # a graph of the user's that still waits for its backward must not see a change where none remains
            torch._C._autograd._unsafe_set_version_counter((self.tensor,), (self.version,))
        if self.tensor.is_leaf:
            if self.tensor.requires_grad != self.trained:
                self.tensor.requires_grad_(self.trained)
            if self.grad is not None and self.grad_values is not None:
                self.grad.data.copy_(self.grad_values)
            self.tensor.grad = self.grad


def _attributes(module: torch.nn.Module) -> dict[str, Any]:
    """The module's attributes; the dictionaries of its hooks, parameters, buffers and children by content."""
    return {key: value.copy() if isinstance(value, dict) else value for key, value in module.__dict__.items()}


def _put_back(module: torch.nn.Module, attributes: dict[str, Any]) -> None:
    now = module.__dict__
    for key in [key for key in now if key not in attributes]:
        del now[key]
    for key, value in attributes.items():
        if isinstance(value, dict) and isinstance(now.get(key), dict):
            now[key].clear()
            now[key].update(value)
        else:
            now[key] = value


def _optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    return {
        "attributes": dict(optimizer.__dict__),
        "state": {
            key: (values, _pictures(values)) if isinstance(values, dict) else (values, None)
            for key, values in optimizer.state.items()
        },
        "param_groups": [(group, {**group, "params": list(group["params"])}) for group in optimizer.param_groups],
    }


def _pictures(values: dict[Any, Any]) -> dict[Any, Any]:
    """Each entry with a copy of its content, where it has content that may be changed in place."""
    return {key: (value, _copy(value)) for key, value in values.items()}


def _copy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return [_copy(member) for member in value] if isinstance(value, list) else value


def _restore_optimizer(optimizer: torch.optim.Optimizer, kept: dict[str, Any]) -> None:
    optimizer.__dict__.clear()
    optimizer.__dict__.update(kept["attributes"])
    optimizer.state.clear()
    for key, (values, pictures) in kept["state"].items():
        if pictures is not None:
            values.clear()
            for name, (value, content) in pictures.items():
                values[name] = _refill(value, content)
        optimizer.state[key] = values
    optimizer.param_groups[:] = [group for group, _ in kept["param_groups"]]
    for group, content in kept["param_groups"]:
        params = group["params"]
        params[:] = content["params"]
        group.clear()
        group.update({**content, "params": params})


def _refill(value: Any, content: Any) -> Any:
    if isinstance(value, torch.Tensor):
        value.data.copy_(content)
    elif isinstance(value, list):
        value[:] = [
            _refill(old, new) if isinstance(old, torch.Tensor) else new
            for old, new in zip(value, content, strict=False)
        ] or content
    return value


def _cuda() -> bool:
    return torch.cuda.is_available() and bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]
