"""Steps of environments in this process, counted for all instruments that ask."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_MARKS = 4096  # different observations that are kept apart


@dataclass(slots=True)
class Steps:
    count: int = 0
    marks: set[int] = field(default_factory=set)
    rewards: dict[float, int] = field(default_factory=dict)  # different ones, as long as they are few


_steps = Steps()


def all_steps() -> Steps:
    return _steps


def steps() -> int:
    return _steps.count


def observations() -> int:
    return len(_steps.marks)


def reset() -> None:
    """A recording begins."""
    _steps.count = 0
    _steps.marks.clear()
    _steps.rewards.clear()
