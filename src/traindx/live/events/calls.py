"""The calls of layers and whole models, seen by global hooks: never on the user's modules, which may be copied or
pickled."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules import module as torch_module
from torch.nn.modules.loss import _Loss

from traindx.live.host.compiling import Compiling
from traindx.live.host.patches import shielded

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub

MANY_CALLS = 1000  # of layers in one step, after which only the
FIRST_CALLS = 16  # first ones of each are reported: a recurrent cell may be called thousands of times
SAMPLE_CALLS = 64  # calls of whole models in one sample at most: a long evaluation is not watched to its end
HOOK_SECONDS = (
    6e-6  # what the hooks around a layer cost beyond the observers' own time (measured, CPython 3.11, torch 2.13)
)


def remove_hooks(handles: list[Any]) -> None:
    """Remove global hooks, and the note of torch's that one wants keyword arguments, which their own removal leaves
    behind."""
    while handles:
        handle = handles.pop()
        handle.remove()
        getattr(torch_module, "_global_forward_hooks_with_kwargs", {}).pop(handle.id, None)


def hook_forwards(after: Callable[..., None]) -> Any:
    """Let `after` hear of every call of a layer, also one that ends in an exception. Before torch 2.5 hooks of all
    layers are not given the keyword arguments: they are empty there."""
    register = torch_module.register_module_forward_hook
    if "with_kwargs" in inspect.signature(register).parameters:
        return register(after, with_kwargs=True, always_call=True)
    return register(lambda module, args, output: after(module, args, {}, output), always_call=True)


def returned_by(rest: tuple[Any, ...]) -> tuple[Any, Any] | None:
    """Keyword arguments and result of a call, from what torch gives a forward hook after module and arguments. None
    where there was no result: a call that ended in an exception comes without its keyword arguments."""
    return rest if len(rest) == 2 and rest[1] is not None else None


class Calls:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._depth = 0
        self._in_loss = False
        self._reported = 0  # calls reported by this sample
        self._at = -1  # the step whose calls of layers are counted,
        self._count = 0  # all of them, and those of each
        self._of_each: dict[int, int] = {}
        self._hooks: list[Any] = []
        self._watching = False

    def attach(self) -> None:
        Compiling(self._hub, self).attach()

    def watch(self) -> None:
        self._depth = self._reported = 0
        self._watching = True
        self._install()

    @property
    def within(self) -> bool:
        """A model is running, and no mere loss."""
        return self._depth > 0 and not self._in_loss

    def _install(self) -> None:
        self._hooks = [
            torch_module.register_module_forward_pre_hook(shielded(self._enter, self._hub.fault)),
            hook_forwards(shielded(self._leave, self._hub.fault)),
        ]

    def forget(self) -> None:
        self._depth = 0
        self._watching = False
        remove_hooks(self._hooks)

    def step_aside(self) -> None:
        """For a while no global hook of ours is there."""
        remove_hooks(self._hooks)
        if self._hub.aside is not None:
            self._hub.aside.step_aside()

    def come_back(self) -> None:
        if self._hub.aside is not None:
            self._hub.aside.come_back()
        if self._watching and not self._hooks:
            self._install()

    def _enter(self, module: torch.nn.Module, args: Any) -> None:
        hub = self._hub
        if torch.compiler.is_compiling() or hub.inside or type(module).__hash__ is None:
            return  # torch itself cannot list the layers of a model without a hash: they are models of their own
        outermost = self._depth == 0 and not hub.sampling_calls and id(module) not in hub.models
        if outermost and not isinstance(module, _Loss):
            hub.register(module)
        self._depth += 1
        if self._depth == 1:
            self._in_loss = isinstance(module, _Loss)
        if self._depth == 1 and not hub.sampling_calls and not isinstance(module, _Loss):
            hub.observe("on_call", module)

    def _worth_telling(self, module: torch.nn.Module) -> bool:
        if self._depth == 0:  # a whole model, and a new pass
            return True
        step, key = self._hub.step, id(module)
        if step != self._at:
            self._at, self._count = step, 0
            self._of_each.clear()
        self._count += 1
        count = self._of_each[key] = self._of_each.get(key, 0) + 1
        return self._count <= MANY_CALLS or count <= FIRST_CALLS

    def _leave(self, module: torch.nn.Module, args: Any, *rest: Any) -> None:
        hub = self._hub
        if torch.compiler.is_compiling() or hub.inside or self._depth == 0 or type(module).__hash__ is None:
            return
        self._depth -= 1
        returned = returned_by(rest)
        if returned is None:
            return
        kwargs, output = returned
        hub.spend(HOOK_SECONDS)
        if hub.sampling_calls:
            # a sample may begin in the middle of a forward pass: only models known from a deep step are whole
            if self._depth == 0 and id(module) in hub.models:
                hub.observe("on_sampled_call", module, args, kwargs, output)
                self._reported += 1
                if self._reported >= SAMPLE_CALLS:
                    hub.look_closely(hub.deep)
            elif id(module) in hub.sampled_layers:
                hub.observe("on_sampled_module", module, args, output)
            return
        if (self._depth > 0 or not isinstance(module, _Loss)) and self._worth_telling(module):
            hub.observe("on_module", module, hub.name_of(module), args, output)
        if self._depth == 0 and not isinstance(module, _Loss):
            hub.observe("on_forward", module, args, kwargs, output)
