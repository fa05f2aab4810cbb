"""What an executor is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
TRIES = 3  # a worker may be killed by others, but an item that kills three workers is the killer


@dataclass(frozen=True, slots=True)
class Lost:
    """An item without a result, and why: its function raised, or every worker that had it died."""

    reason: str


class Executor(Protocol):
    """Runs a function on every item, in any order, and hands out each result with the item's place as it comes.

    The function and the items must be picklable, the function importable by name. No item is ever left out: one whose
    worker dies is tried again, and one that cannot be done comes back as `Lost`."""

    def map(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[tuple[int, ResultT | Lost]]: ...


def fault(error: BaseException) -> Lost:
    return Lost(f"{type(error).__name__}: {error}")
