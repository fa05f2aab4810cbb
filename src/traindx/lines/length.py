"""How long a training is, in the words of the script: the name that bounds its outermost loop, and its number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from traindx.lines.look import Line, Look
from traindx.measurements import Measured

MOST_CALLS = 3  # between the loop and the backward pass
_COUNTING = ("range", "trange", "tqdm")
_COUNTERS = ("epoch", "step", "update", "iteration")
_BINDINGS = ("=", "def", "add_argument", "option", "Option")
_ARITHMETIC = frozenset({"Div", "FloorDiv", "Mult", "Add", "Sub", "int", "max", "min", "ceil", "round"})


def length_of(measured: Sequence[Measured]) -> tuple[str, float | None] | None:
    """('steps', 3000.0) of `for step in range(steps)`, `while step < steps` or `for step in range(3000)`; the number is
    None where the source does not state it, and the whole is where no single name bounds the loop."""
    look = Look(measured[0] if measured else Measured())
    head = _outermost(look)
    if head is None:
        return None
    names = _bounds(look, head)
    if not names:
        return _written_there(head)
    if len(names) > 1:
        return None
    last = names[0].rpartition(".")[2]
    stated = {
        value.value
        for line in look.lines
        for value in line.statement.values
        if value.name == last and value.call in _BINDINGS and _is_number(value.value)
    }
    if not stated and last == names[0] and not _calculated(look, last):
        return None  # a parameter, or something that is asked for an item
    return names[0], float(stated.pop()) if len(stated) == 1 else None


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _calculated(look: Look, name: str) -> bool:
    """Set by arithmetic."""
    return any(name in one.statement.stores and _ARITHMETIC & set(one.calls) for one in look.lines)


def _written_there(head: Line) -> tuple[str, float] | None:
    """The number of `range(3000)`, under a name like that of its counter."""
    numbers = [one.value for one in head.statement.values if one.call in _COUNTING and _is_number(one.value)]
    counter = next((name for name in head.statement.stores if name in _COUNTERS), None)
    return (f"{counter}s", float(numbers[0])) if len(numbers) == 1 and counter is not None else None


def _outermost(look: Look) -> Line | None:
    """The head of the outermost loop around the backward pass; where that stands in a function of its own, around the
    calls of it."""
    at = look.backward
    for _ in range(MOST_CALLS):
        if at is None:
            return None
        function = at.statement.scope.rpartition(".")[2]
        callers = [one for one in look.calling(function) if one.statement.loops] if function else []
        if at.statement.loops and not callers:
            return look.statement(at.at(at.statement.loops[0]))
        around = {(one.file, one.statement.loops[0]) for one in callers}
        at = callers[0] if len(around) == 1 else None
    return None


def _bounds(look: Look, head: Line) -> list[str]:
    """The names in the head that the loop does not change itself."""
    if head.statement.kind == "for" and not set(_COUNTING) & set(head.calls):
        return []
    inside = [one for one in look.lines if one.file == head.file and head.statement.line in one.statement.loops]
    changed = {name for one in (head, *inside) for name in one.statement.stores}
    called = {call.name for call in head.statement.calls}
    read = [name for name in head.statement.loads if name not in changed and name not in called]
    return [name for name in read if not any(other.startswith(f"{name}.") for other in read)]
