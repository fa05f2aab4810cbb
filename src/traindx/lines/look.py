"""What was measured of a run's own code: the chains of its tensors and the statements of its files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from traindx.diagnosis import Observation
from traindx.measurements import Measured, Provenance, SourceFile, Statement, Step

_PLACE = re.compile(r"(?P<file>.+\.pyw?):(?P<line>\d+)")
# operations that hand on the same numbers in another shape, order or precision
RESHAPES = frozenset({
    "view", "reshape", "squeeze", "unsqueeze", "flatten", "float", "double", "half", "bfloat16", "to",
    "permute", "transpose", "t",
    "T", "contiguous", "type", "cpu", "cuda", "__getitem__", "clone", "view_as", "reshape_as", "mT", "movedim", "clamp",
    "expand", "unflatten", "getitem", "stack", "cat", "chunk", "split", "narrow", "select", "type_as", "long",
})  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A statement of a file."""

    file: str
    statement: Statement

    @property
    def place(self) -> str:
        return f"{self.file}:{self.statement.line}"

    def at(self, line: int) -> str:
        """A line inside it."""
        return f"{self.file}:{line}"

    @property
    def calls(self) -> tuple[str, ...]:
        """The last names of what it calls."""
        return tuple(call.name.rpartition(".")[2] for call in self.statement.calls)

    @property
    def owners(self) -> tuple[str, ...]:
        """What stands before the dot of what it calls: 'rng' of `rng.normal(…)`."""
        return tuple(before for call in self.statement.calls if (before := call.name.rpartition(".")[0]))

    def call(self, *names: str) -> str | None:
        """The line of the first call of one of these names."""
        for call in self.statement.calls:
            if call.name.rpartition(".")[2] in names:
                return self.at(call.line)
        return None


class Look:
    """`seen` are the symptoms that speak for the cause in question."""

    def __init__(self, measured: Measured, seen: Sequence[Observation] = ()) -> None:
        self.measured = measured
        self.seen = seen

    @cached_property
    def lines(self) -> list[Line]:
        """Every statement, the files in the order they were met."""
        files = self.measured.latest(SourceFile)
        return [Line(file.where, statement) for file in files for statement in file.statements]

    def chain(self, name: str) -> Provenance | None:
        """The last chain of a tensor, of the step that was traced as a whole where there is one."""
        found = [one for one in self.measured.all(Provenance) if one.where == name]
        return found[-1] if found else None

    def steps(self, *names: str) -> Sequence[Step]:
        """The chain of the first of these tensors that has one."""
        for name in names:
            found = self.chain(name)
            if found is not None:
                return found.steps
        return ()

    def statement(self, place: str | None) -> Line | None:
        """The statement that a line of a file belongs to."""
        parts = _PLACE.fullmatch(place or "")
        if parts is None:
            return None
        number = int(parts["line"])
        found = [
            line
            for line in self.lines
            if line.file == parts["file"] and line.statement.line <= number <= line.statement.end
        ]
        return max(found, key=lambda line: line.statement.line, default=None)

    @cached_property
    def backward(self) -> Line | None:
        """The statement that differentiates the loss."""
        chain = self.chain("loss")
        found = self.statement(chain.at) if chain is not None else None
        return found or next((line for line in self.lines if "backward" in line.calls), None)

    @cached_property
    def loop(self) -> int | None:
        """The line of the innermost loop that trains."""
        return self.backward.statement.loops[-1] if self.backward and self.backward.statement.loops else None

    def in_training(self, line: Line) -> bool:
        """In the loop that calls backward, or in its function where there is none."""
        if self.backward is None or line.file != self.backward.file:
            return False
        if line.statement.scope != self.backward.statement.scope:
            return False
        return self.loop is None or self.loop in line.statement.loops

    def calling(self, *names: str) -> Iterator[Line]:
        return (line for line in self.lines if line.call(*names) is not None)

    def origin(self, name: str) -> str | None:
        """Where the data of a tensor was made before the loop: the variable it is cut from, followed back."""
        for step in self.steps(name):
            start = self.statement(step.line)
            if step.source and start is not None:
                return self._last_set(start, step.source, depth=4)
        return None

    def _last_set(self, start: Line, name: str, depth: int) -> str | None:
        """The statement that last set a name before a line, through those that only split, cast or reorder."""
        before = [
            line
            for line in self.lines
            if line.file == start.file
            and line.statement.line < start.statement.line
            and not self.in_training(line)
            and line.statement.kind in ("assign", "augassign", "annassign")
            and name in line.statement.stores
            and line.statement.scope in ("", start.statement.scope)
        ]
        if not before:
            return None
        found = before[-1]
        inside = self._returned_by(found) if depth else None
        if inside is not None:
            return inside.place
        further = None
        if depth and _only_moves(found):
            for read in found.statement.loads:
                further = further or self._last_set(found, read, depth - 1)
        return further or found.place

    def _returned_by(self, line: Line) -> Line | None:
        """Where the last function of the project that a statement calls gives its result back."""
        for name in reversed(line.calls):
            given = [
                one for one in self.lines if one.statement.kind == "return"
                and one.statement.scope == name and one.statement.loads
            ]  # fmt: skip
            if given:
                return given[-1]
        return None


def _only_moves(line: Line) -> bool:
    """A split or a cast: the data was made before."""
    arithmetic = {"Add", "Sub", "Mult", "Div", "Pow"}
    return not arithmetic & set(line.calls)


def as_place(where: str | None) -> str | None:
    """file:line, and nothing else."""
    return where if where and _PLACE.fullmatch(where) else None


def step_place(step: Step) -> str | None:
    """The line of an operation: where a layer of a container was constructed, else where it is called."""
    return (step.made_at if step.contained and step.made_at else step.line) or None


def through_reshapes(steps: Sequence[Step]) -> Iterator[Step]:
    """The operation that made a tensor, and what lies between."""
    for step in steps:
        yield step
        if step.operation not in RESHAPES:
            return
