"""Records a loss while the user's program computes it.

Watches at the outermost level only: what happens inside a model is that model's business. Tensors that no model and no
trained tensor had a part in are data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.modules import module as torch_module
from torch.overrides import TorchFunctionMode

from traindx.live.events.calls import hook_forwards, remove_hooks, returned_by
from traindx.live.events.places import user_line
from traindx.probes.nested import exchange, tensors
from traindx.probes.tape import Constant, Live, Node, Setting, Tape, Unreplayable, Value, refs

MOST_NODES = 20_000  # more calls than this between two updates are not a loss but a program
COPY_BYTES = 1 << 28  # larger data is kept by reference; the check of the replay would notice a change
_IN_PLACE = frozenset(
    f"__{name}__" for name in ("setitem", "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand",
                               "ior", "ixor", "imatmul")
)  # fmt: skip
_NEVER = frozenset({"backward", "__set__", "register_hook", "retain_grad", "requires_grad_", "share_memory_"})
_READS = frozenset({"item", "tolist", "numpy", "cpu", "__float__", "__int__", "__bool__", "__index__"})
_WRAPPERS = (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)


class Tracer(TorchFunctionMode):
    """Records while it is active. `cut(loss)` gives the tape of a loss computed since the last `reset`."""

    def __init__(self) -> None:
        super().__init__()
        self._nodes: list[Node] = []
        self._memory: list[set[int]] = []  # by node: where its results lie
        self._owners: dict[int, tuple[Value, torch.Tensor]] = {}
        self._constants: list[torch.Tensor] = []
        self._known: dict[tuple[int, int], tuple[int, torch.Tensor]] = {}
        self._depth = 0
        self._entered: Setting | None = None
        self._pushed = False
        self._unhook: list[Any] = []
        self._scaled: dict[int, torch.Tensor] = {}
        self._reads: Counter[str] = Counter()
        self._updates = 0
        self.trouble: str | None = None

    # --- on and off ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self.stop()
        self._unhook = [
            torch_module.register_module_forward_pre_hook(self._enter),
            hook_forwards(self._leave),
        ]
        self._push()

    def stop(self) -> None:
        remove_hooks(self._unhook)
        self._pop()
        self._clear()

    def reset(self) -> None:
        """Begin anew: an update was made."""
        self._updates += 1
        self._clear()

    def _clear(self) -> None:
        self._nodes, self._constants, self._memory = [], [], []
        self._owners.clear()
        self._known.clear()
        self._scaled.clear()
        self._depth = 0
        self.trouble = None

    def _push(self) -> None:
        if not self._pushed:
            self.__enter__()  # type: ignore[no-untyped-call]
            self._pushed = True

    def _pop(self) -> None:
        """Leave the stack of modes. Where the user's own mode lies on top of ours, ours stays below it and looks
        away."""
        height = torch._C._len_torch_function_stack()
        if self._pushed and height and torch._C._get_function_stack_at(height - 1) is self:
            self.__exit__(None, None, None)
            self._pushed = False

    @contextmanager
    def looking_away(self) -> Iterator[None]:
        """Nothing is recorded inside."""
        self._depth += 1
        self._pop()
        try:
            yield
        finally:
            self._depth -= 1
            if self._unhook and self._depth == 0:
                self._push()

    @property
    def reads_a_step(self) -> tuple[tuple[str, float], ...]:
        """Where the script reads numbers out of what was computed, outside of its models, and how often in a step."""
        return tuple((place, count / max(self._updates, 1)) for place, count in self._reads.most_common())

    # --- recording ----------------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if self._depth or self.trouble or name in _NEVER or torch.compiler.is_compiling():
            return func(*args, **kwargs)
        tracked = any(self._is_tracked(tensor) for tensor in tensors((args, kwargs)))
        if name in _READS and args and _is_computed(args[0]):
            self._reads[f"{user_line()} {name.strip('_')}()"] += 1
        if not tracked:
            return func(*args, **kwargs)
        in_place = name in _IN_PLACE or (name.endswith("_") and not name.endswith("__"))
        if in_place and (not args or not isinstance(args[0], torch.Tensor) or _is_trained(args[0])):
            return func(*args, **kwargs)  # an update of the weights is no part of a loss
        try:
            node = self._node(func, args, kwargs, _setting(), in_place, False)
        except Unreplayable:
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        self._add(node, result, args[0] if in_place else None)
        return result

    def _enter(self, module: torch.nn.Module, args: Any) -> None:
        if torch.compiler.is_compiling():
            return
        if self._depth == 0:
            self._entered = _setting(module)
            self._pop()
        self._depth += 1

    def _leave(self, module: torch.nn.Module, args: Any, *rest: Any) -> None:
        if torch.compiler.is_compiling() or self._depth == 0:
            return
        self._depth -= 1
        if self._depth:
            return
        self._push()
        setting, self._entered = self._entered, None
        returned = returned_by(rest)
        if returned is None:
            return
        kwargs, output = returned
        model = next(module.parameters(), None) is not None
        known = model or any(self._is_tracked(tensor) for tensor in tensors((args, kwargs)))
        if setting is None or not known or self.trouble:
            return
        with torch._C.DisableTorchFunction():
            try:
                self._add(self._node(unwrapped(module), args, kwargs, setting, False, model), output, None)
            except Unreplayable as error:
                self.trouble = str(error)

    def note_scaled(self, scaled: torch.Tensor, loss: torch.Tensor) -> None:
        """A gradient scaler multiplied the loss: the loss is meant."""
        self._scaled[id(scaled)] = loss
        self._owners.setdefault(id(scaled), (Value(-1, 0), scaled))  # keeps it alive, and so its id

    @property
    def scaled(self) -> bool:
        return bool(self._scaled)

    def _is_tracked(self, tensor: torch.Tensor) -> bool:
        return id(tensor) in self._owners or _is_trained(tensor)

    def _node(self, call: Any, args: Any, kwargs: Any, setting: Setting, in_place: bool, model: bool) -> Node:
        args, kwargs = exchange(args, self._ref), exchange(kwargs, self._ref)
        return Node(call, args, kwargs, setting, in_place, model)

    def _ref(self, tensor: torch.Tensor) -> Any:
        owner = self._owners.get(id(tensor))
        if owner is not None:
            return owner[0]
        if _is_trained(tensor):
            return Live(tensor)
        if tensor.requires_grad and not tensor.is_leaf:
            raise Unreplayable(
                f"a tensor of shape {tuple(tensor.shape)} comes from a computation that cannot be seen "
                f"({tensor.grad_fn})"
            )
        key = (id(tensor), tensor._version if not tensor.is_inference() else 0)
        if key not in self._known:
            small = tensor.numel() * tensor.element_size() <= COPY_BYTES
            self._constants.append(tensor.detach().clone() if small else tensor.detach())
            self._known[key] = (len(self._constants) - 1, tensor)
        return Constant(self._known[key][0])

    def _add(self, node: Node, result: Any, changed: torch.Tensor | None) -> None:
        found = list(tensors(result))
        if not found and changed is None:
            return
        index = len(self._nodes)
        if index >= MOST_NODES:
            self.trouble = f"more than {MOST_NODES} torch calls lie between two updates"
            return
        self._nodes.append(node)
        self._memory.append({_memory(tensor) for tensor in (found if changed is None else [changed])})
        for position, tensor in enumerate(found):
            if not _is_trained(tensor):
                self._owners[id(tensor)] = (Value(index, position), tensor)
        if changed is not None:
            self._owners[id(changed)] = (Value(index, -1), changed)

    def _need(self, wanted: list[int], needed: set[int]) -> None:
        """Add these nodes and all they rest on."""
        while wanted:
            index = wanted.pop()
            if index not in needed:
                needed.add(index)
                wanted += [ref.node for ref in refs(self._nodes[index]) if isinstance(ref, Value)]

    def _changes(self, before: int) -> list[int]:
        return [index for index in range(before) if self._nodes[index].in_place]

    def _touches(self, index: int, needed: set[int]) -> bool:
        """Whether an in-place change is one of memory that a needed node works on, be it through a view."""
        changed = self._memory[index]
        return any(self._memory[other] & changed for other in needed)

    # --- the result ---------------------------------------------------------------------------------------------------

    def cut(self, loss: torch.Tensor) -> Tape:
        """The nodes this loss needs."""
        if self.trouble:
            raise Unreplayable(self.trouble)
        loss = self._scaled.get(id(loss), loss)
        owner = self._owners.get(id(loss))
        if owner is None or owner[0].node < 0:
            raise Unreplayable(f"the loss comes from a computation that cannot be seen ({loss.grad_fn})")
        needed: set[int] = set()
        self._need([owner[0].node], needed)
        while late := [
            index for index in self._changes(owner[0].node) if index not in needed and self._touches(index, needed)
        ]:
            self._need(late, needed)
        nodes = {index: self._nodes[index] for index in sorted(needed)}
        return Tape(nodes, owner[0], self._constants, loss)


def unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    """The model inside torch.compile and data-parallel wrappers: replays neither compile nor communicate."""
    while True:
        inner = module.module if isinstance(module, _WRAPPERS) else getattr(module, "_orig_mod", None)
        if not isinstance(inner, torch.nn.Module):
            return module
        module = inner


def _memory(tensor: torch.Tensor) -> int:
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):  # sparse and other tensors without plain memory
        return id(tensor)


def _is_computed(tensor: Any) -> bool:
    """On its way from a model, or on a device that one must wait for."""
    return isinstance(tensor, torch.Tensor) and (tensor.requires_grad or tensor.device.type != "cpu")


def _is_trained(tensor: torch.Tensor) -> bool:
    """A parameter, or any other tensor the user asked the gradient of."""
    return tensor.requires_grad and tensor.is_leaf


def _setting(module: torch.nn.Module | None = None) -> Setting:
    autocast = tuple(
        (device, torch.get_autocast_dtype(device), torch.is_autocast_enabled(device)) for device in ("cpu", "cuda")
    )
    cuda = torch.cuda.is_available() and bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]
    buffers = [] if module is None else [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    return Setting(
        torch.is_grad_enabled(), autocast, torch.get_rng_state(), tuple(torch.cuda.get_rng_state_all()) if cuda else (),
        buffers
    )  # fmt: skip
