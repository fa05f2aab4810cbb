"""Which line of the user's code holds an operation: found by its name in the source, and only said when there is
one."""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Iterable, Iterator
from types import CodeType

import torch

from traindx.live.events.places import place, user_frame

# How an operation is written, by the name it has in the sentences about it.
WRITTEN = {
    "log": re.compile(r"\blog(2|10|1p)?_?\("),
    "division": re.compile(r"(?<!/)/(?!/)|\b(div|true_divide|reciprocal)_?\("),
    "sqrt": re.compile(r"\br?sqrt_?\(|\*\*\s*0?\.5\b"),
    "power": re.compile(r"\*\*|\b(pow|square)_?\("),
    "exp": re.compile(r"\bexp(m1)?_?\("),
    "abs": re.compile(r"\babs_?\("),
    "arc": re.compile(r"\b(a|arc)(cos|sin|tanh|cosh)_?\("),
}
_COMMENT = re.compile(r"(^|\s)#.*$|\"[^\"]*\"|'[^']*'")


def line_of(operation: str, models: Iterable[torch.nn.Module]) -> str | None:
    """file:line of the one place that uses this operation, among the user's function that is running and the code of
    these models; None where there are several or none."""
    pattern = WRITTEN.get(operation)
    if pattern is None:
        return None
    found = {
        place(path, number) for path, numbers in _bodies(models) for number in numbers
        if pattern.search(_COMMENT.sub("", linecache.getline(path, number)))
    }  # fmt: skip
    return found.pop() if len(found) == 1 else None


def _bodies(models: Iterable[torch.nn.Module]) -> Iterator[tuple[str, range]]:
    """The lines of code in question."""
    frame = user_frame()
    if frame is not None:
        path = frame.f_code.co_filename
        first, last = _span(frame.f_code)
        # the top level of a script holds definitions as well; the loop is what lies just above the call of backward
        yield path, range(max(first, frame.f_lineno - 12), min(last, frame.f_lineno) + 1)
    kinds = {type(layer) for model in models for layer in model.modules()}
    for kind in kinds:
        if not kind.__module__.startswith("torch."):
            try:
                lines, first = inspect.getsourcelines(kind.forward)
                source = inspect.getsourcefile(kind.forward)
            except (OSError, TypeError):  # made at run time: there is no source
                continue
            if source is not None:
                yield source, range(first, first + len(lines))


def _span(code: CodeType) -> tuple[int, int]:
    numbers = [line for *_, line in code.co_lines() if line]
    return min(numbers, default=1), max(numbers, default=1)
