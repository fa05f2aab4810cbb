"""What a pickle describes, without unpickling it: a machine that follows the opcodes and builds plain containers and
descriptions. It imports nothing and calls nothing. Names outside of the allow-list are collected; a file that uses one
is refused with the list of what unpickling it would have run."""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from traindx.checkpoints.allowed import ALLOWED, DTYPES, STORAGES, Damaged, Global, Object, Storage
from traindx.errors import TraindxError

MOST_OPCODES = 10_000_000  # some forty for each tensor: a quarter of a million tensors
MOST_BYTES = 1 << 27
NAMED = 12
DEEPEST_KEY = 8
LARGEST_KEY = 1 << 53  # as a number; keys are names and counts
_MARK = object()
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_IGNORED = frozenset({"PROTO", "FRAME", "STOP"})


class UnsafeFile(TraindxError):
    """A pickle that runs code when it is loaded; `runs` are the names it would call or import."""

    def __init__(self, source: str, runs: list[str]) -> None:
        shown = ", ".join(runs[:NAMED]) + (f" and {len(runs) - NAMED} more" if len(runs) > NAMED else "")
        super().__init__(
            f"{source} was not opened: it is a pickle that would execute {shown}.",
            "Nothing was run. Where you trust its author, save the weights alone (torch.save(model.state_dict()) or "
            "safetensors).",
        )
        self.runs = runs


class Bounded:
    """A stream that never reads beyond its limit, however large the length that a pickle claims."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self.file = file
        self.left = limit

    def read(self, count: int = -1) -> bytes:
        data = self.file.read(self.left if count < 0 else min(count, self.left))
        self.left -= len(data)
        return data

    def readline(self, count: int = -1) -> bytes:
        data = self.file.readline(self.left if count < 0 else min(count, self.left))
        self.left -= len(data)
        return data


def describe(file: BinaryIO, source: str, limit: int = MOST_BYTES) -> Any:
    """What the pickle at this place of the file holds. The file is left just behind it."""
    machine = _Machine()
    try:
        return machine.run(Bounded(file, limit))
    except (
        Damaged,
        ValueError,
        TypeError,
        IndexError,
        KeyError,
        OverflowError,
        AttributeError,
        MemoryError,
        Warning,
    ) as error:  # odd escapes are a warning, and an error where the user has asked for that
        if machine.unsafe:
            raise UnsafeFile(source, list(machine.unsafe)) from error
        raise TraindxError(
            f"{source} holds a pickle that cannot be followed ({str(error)[:120]}).",
            "It is damaged or cut off; copy or download it again.",
        ) from error


class _Machine:
    """The stack machine of the pickle format over descriptions instead of objects."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.unsafe: dict[str, None] = {}

    def run(self, stream: Bounded) -> Any:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(cast(BinaryIO, stream))):
            if count >= MOST_OPCODES:
                raise Damaged(f"more than {MOST_OPCODES} instructions")
            name = opcode.name
            if name in _CONSTANTS:
                self.stack.append(_CONSTANTS[name])
            elif name not in _IGNORED:
                act = _ACTS.get(name)
                if act is not None:
                    act(self, argument)
                elif _is_literal(name):
                    self.stack.append(argument)
                else:
                    raise Damaged(f"unexpected instruction {name}")
        result = self.stack.pop()
        if self.unsafe:
            raise Damaged("runs code")
        return result

    def marked(self) -> list[Any]:
        """Everything above the last mark, which is taken away."""
        place = len(self.stack) - 1
        while self.stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise Damaged("a mark is missing")
        items = self.stack[place + 1 :]
        del self.stack[place:]
        return items

    def name(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full in DTYPES:
            return DTYPES[full]
        if full not in ALLOWED and full not in STORAGES:
            self.unsafe.setdefault(full)
        return Global(full)

    def call(self, function: Any, arguments: Any) -> Any:
        if not isinstance(function, Global) or not isinstance(arguments, tuple):
            raise Damaged("something that is no function is called")
        make = ALLOWED.get(function.name)
        if make is None:
            self.unsafe.setdefault(function.name)
            return Object(function.name)
        return make(*arguments)

    def build(self, target: Any, state: Any) -> None:
        """State that is set on an object: kept where the object is a description, ignored on containers."""
        if isinstance(target, Object):
            target.state = state

    def persistent(self, key: Any) -> Storage:
        """torch's reference to the bytes of a storage, which lie elsewhere in the file."""
        if not (isinstance(key, tuple) and len(key) >= 5 and key[0] == "storage" and isinstance(key[1], Global)):
            raise Damaged("a reference that is no storage of torch")
        if key[1].name not in STORAGES or not isinstance(key[2], str) or not isinstance(key[4], int) or key[4] < 0:
            raise Damaged("a storage that is described wrongly")
        return Storage(STORAGES[key[1].name], key[2], key[4])


def _is_literal(name: str) -> bool:
    return name.startswith(("BININT", "LONG", "INT", "BINUNICODE", "SHORT_BIN", "BINSTRING", "BINBYTES", "BINFLOAT",
                            "FLOAT",
                            "UNICODE", "STRING"))  # fmt: skip


def _items(machine: _Machine, _: Any) -> None:
    items = machine.marked()
    target = machine.stack[-1]
    _set(target, items)


def _item(machine: _Machine, _: Any) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    _set(machine.stack[-1], [key, value])


def _set(target: Any, items: list[Any]) -> None:
    if isinstance(target, Object):
        return
    if not isinstance(target, dict) or len(items) % 2:
        raise Damaged("items are put into something that is no dictionary")
    target.update(zip(map(_key, items[::2]), items[1::2], strict=True))


def _key(value: Any, depth: int = 0) -> Any:
    """A key, if it may be hashed: Python hashes nested tuples by recursion in C, and a deep one would end the
    process. Numbers beyond the range of their hash could be chosen to collide, and a table of them takes hours."""
    if isinstance(value, int | float) and not abs(value) < LARGEST_KEY:
        raise Damaged("a key that is no count and no name")
    if isinstance(value, tuple):
        if depth >= DEEPEST_KEY:
            raise Damaged("a key that is nested too deeply")
        for member in value:
            _key(member, depth + 1)
    return value


def _extend(machine: _Machine, items: list[Any]) -> None:
    target = machine.stack[-1]
    if isinstance(target, list):
        target.extend(items)
    elif isinstance(target, set):
        target.update(map(_key, items))
    elif not isinstance(target, Object):
        raise Damaged("elements are put into something that is no list")


def _reduce(machine: _Machine, _: Any) -> None:
    arguments, function = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(machine.call(function, arguments))


def _new_with_keywords(machine: _Machine, _: Any) -> None:
    machine.stack.pop()
    _reduce(machine, None)


def _build(machine: _Machine, _: Any) -> None:
    state = machine.stack.pop()
    machine.build(machine.stack[-1], state)


def _global(machine: _Machine, argument: str) -> None:
    module, _, name = argument.partition(" ")
    machine.stack.append(machine.name(module, name))


def _stack_global(machine: _Machine, _: Any) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise Damaged("a name that is no text")
    machine.stack.append(machine.name(module, name))


def _instance(machine: _Machine, argument: str) -> None:
    arguments = tuple(machine.marked())
    module, _, name = argument.partition(" ")
    machine.stack.append(machine.call(machine.name(module, name), arguments))


def _object(machine: _Machine, _: Any) -> None:
    function, *arguments = machine.marked()
    machine.stack.append(machine.call(function, tuple(arguments)))


def _extension(machine: _Machine, code: int) -> None:
    machine.unsafe.setdefault(f"extension {code} of copyreg")
    machine.stack.append(Global(f"extension {code}"))


def _put(machine: _Machine, place: Any) -> None:
    machine.memo[len(machine.memo) if place is None else int(place)] = machine.stack[-1]


def _tuple_of(count: int) -> Callable[[_Machine, Any], None]:
    def act(machine: _Machine, _: Any) -> None:
        if len(machine.stack) < count:
            raise Damaged("the stack is empty")
        items = tuple(machine.stack[-count:])
        del machine.stack[-count:]
        machine.stack.append(items)

    return act


def _pop(machine: _Machine, _: Any) -> None:
    machine.stack.pop()


def _pop_mark(machine: _Machine, _: Any) -> None:
    machine.marked()


_ACTS: dict[str, Callable[[_Machine, Any], None]] = {
    "MARK": lambda machine, _: machine.stack.append(_MARK),
    "POP": _pop,
    "POP_MARK": _pop_mark,
    "DUP": lambda machine, _: machine.stack.append(machine.stack[-1]),
    "EMPTY_DICT": lambda machine, _: machine.stack.append({}),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "EMPTY_SET": lambda machine, _: machine.stack.append(set()),
    "DICT": lambda machine, _: _dictionary(machine),
    "LIST": lambda machine, _: machine.stack.append(machine.marked()),
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.marked())),
    "FROZENSET": lambda machine, _: machine.stack.append(frozenset(map(_key, machine.marked()))),
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "SETITEM": _item,
    "SETITEMS": _items,
    "APPEND": lambda machine, _: _extend(machine, [machine.stack.pop()]),
    "APPENDS": lambda machine, _: _extend(machine, machine.marked()),
    "ADDITEMS": lambda machine, _: _extend(machine, machine.marked()),
    "GLOBAL": _global,
    "STACK_GLOBAL": _stack_global,
    "REDUCE": _reduce,
    "NEWOBJ": _reduce,
    "NEWOBJ_EX": _new_with_keywords,
    "INST": _instance,
    "OBJ": _object,
    "BUILD": _build,
    "BINPERSID": lambda machine, _: machine.stack.append(machine.persistent(machine.stack.pop())),
    "PUT": _put,
    "BINPUT": _put,
    "LONG_BINPUT": _put,
    "MEMOIZE": _put,
    "GET": lambda machine, place: machine.stack.append(machine.memo[int(place)]),
    "BINGET": lambda machine, place: machine.stack.append(machine.memo[int(place)]),
    "LONG_BINGET": lambda machine, place: machine.stack.append(machine.memo[int(place)]),
    "EXT1": _extension,
    "EXT2": _extension,
    "EXT4": _extension,
}


def _dictionary(machine: _Machine) -> None:
    items = machine.marked()
    machine.stack.append({})
    _set(machine.stack[-1], items)
