"""What a mutator is, and the source it looks at.

A mutator finds places in a module by structure (libcst) and gives, for each place, a few replacements of text;
everything else of the file stays byte for byte. It declares the cause that a diagnosis should name, and others that
would be as right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst
import libcst.matchers as m
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper, ParentNodeProvider, PositionProvider

OPTIMIZERS = m.OneOf(
    *(m.Name(n) | m.Attribute(attr=m.Name(n)) for n in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "LBFGS", "NAdam",
                                                        "RAdam", "Adadelta"))
)  # fmt: skip
TRAINING = re.compile(r"\.backward\(|manual_backward|training_step")
EVALUATION = re.compile(r"(^|_)(test|eval|evaluate|valid|validate|validation|val|dev)(_|$|\d)", re.IGNORECASE)


@dataclass(frozen=True)
class Change:
    """Bytes [start, start + length) become `text`."""

    start: int
    length: int
    text: str


Place = Sequence[Change]


class Source:
    """One file of a program."""

    def __init__(self, text: str) -> None:
        self.bytes = text.encode()
        self._wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        self.module = self._wrapper.module

    @cached_property
    def _spans(self) -> dict[cst.CSTNode, object]:
        return dict(self._wrapper.resolve(ByteSpanPositionProvider))

    @cached_property
    def _lines(self) -> dict[cst.CSTNode, object]:
        return dict(self._wrapper.resolve(PositionProvider))

    @cached_property
    def _parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        return dict(self._wrapper.resolve(ParentNodeProvider))

    @cached_property
    def _by_kind(self) -> dict[str, list[cst.CSTNode]]:
        """Every node by the name of its class: one walk for all mutators."""
        found: dict[str, list[cst.CSTNode]] = {}
        for node in self._spans:
            found.setdefault(type(node).__name__, []).append(node)
        return found

    def all(self, pattern: m.BaseMatcherNode) -> list[cst.CSTNode]:
        """Every node that matches, in the order of the text."""
        options = getattr(pattern, "options", (pattern,))
        some = [node for kind in {type(option).__name__ for option in options} for node in self._by_kind.get(kind, ())]
        return sorted((node for node in some if m.matches(node, pattern)), key=lambda node: self._spans[node].start)

    def text(self, node: cst.CSTNode) -> str:
        span = self._spans[node]
        return self.bytes[span.start : span.start + span.length].decode()

    def line(self, node: cst.CSTNode) -> int:
        return self._lines[node].start.line

    def replace(self, node: cst.CSTNode, text: str) -> Change:
        span = self._spans[node]
        return Change(span.start, span.length, text)

    def parents(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        while (node := self._parents.get(node)) is not None:
            yield node

    def statement(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The line that a node stands in."""
        return next((one for one in (node, *self.parents(node)) if isinstance(one, cst.SimpleStatementLine)), None)

    def function(self, node: cst.CSTNode) -> cst.CSTNode:
        """The innermost function around a node, or the module."""
        return next((one for one in self.parents(node) if isinstance(one, cst.FunctionDef | cst.Module)), self.module)

    def function_name(self, node: cst.CSTNode) -> str:
        around = self.function(node)
        return around.name.value if isinstance(around, cst.FunctionDef) else ""

    def loop(self, node: cst.CSTNode) -> cst.For | cst.While | None:
        """The innermost loop around a node, within its function."""
        for one in self.parents(node):
            if isinstance(one, cst.For | cst.While):
                return one
            if isinstance(one, cst.FunctionDef):
                return None
        return None

    def remove(self, statement: cst.CSTNode) -> Change:
        return self.replace(statement, "pass")

    def before(self, statement: cst.CSTNode, text: str) -> Change:
        """A line of its own in front of a statement, indented like it."""
        span = self._spans[statement]
        column = self._lines[statement].start.column
        return Change(
            span.start, 0, f"{text}\n{' ' * column if not self._tabs(statement) else self._indent(statement)}"
        )

    def after(self, statement: cst.CSTNode, text: str) -> Change:
        span = self._spans[statement]
        return Change(span.start + span.length, 0, f"\n{self._indent(statement)}{text}")

    def first_in(self, block: cst.CSTNode) -> cst.CSTNode | None:
        """The first statement of a loop's or function's body."""
        body = getattr(block, "body", None)
        return body.body[0] if isinstance(body, cst.IndentedBlock) and body.body else None

    def _indent(self, statement: cst.CSTNode) -> str:
        start = self._spans[statement].start
        line = self.bytes[self.bytes.rfind(b"\n", 0, start) + 1 : start].decode()
        return re.match(r"[ \t]*", line).group(0)

    def _tabs(self, statement: cst.CSTNode) -> bool:
        return "\t" in self._indent(statement)

    # --- what several mutators look for
    # ---------------------------------------------------------------------------------

    def in_training(self, node: cst.CSTNode) -> bool:
        """Whether the function around a node trains, as far as its text tells."""
        around = self.function(node)
        return bool(
            TRAINING.search(self.text(around) if isinstance(around, cst.FunctionDef) else self.bytes.decode())
        ) or (self.function_name(node) == "training_step")

    def calls(self, *names: str) -> list[cst.Call]:
        """Calls of a function or method by its last name."""
        pattern = m.OneOf(*(m.Name(name) | m.Attribute(attr=m.Name(name)) for name in names))
        return self.all(m.Call(func=pattern))

    def optimizers(self) -> list[cst.Call]:
        return [call for call in self.all(m.Call(func=OPTIMIZERS)) if call.args]

    def losses(self, *classes: str, functions: Sequence[str] = ()) -> list[cst.Call]:
        """Calls of a loss with prediction and target: of these functions, or of an object made of one of these classes
        in the same file."""
        names = set()
        for made in self.calls(*classes) if classes else ():
            parent = self._parents.get(made)
            if isinstance(parent, cst.Assign):
                names |= {self.text(target.target).rpartition(".")[2] for target in parent.targets}
        found = self.calls(*functions, *names) if functions or names else []
        return [call for call in found if sum(arg.keyword is None and not arg.star for arg in call.args) >= 2]

    def keyword(self, call: cst.Call, *names: str) -> cst.Arg | None:
        return next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value in names), None)


Find = Callable[[Source], Iterator[Place]]
Rewrite = Callable[[tuple[str, ...]], tuple[str, ...] | None]


@dataclass(frozen=True)
class Mutator:
    """`find` gives places in a source; `rewrite` changes the command line where no source has such a place. `kinds`:
    words of which one must stand in what the recipe says is trained. `common`: nearly every program has a place for
    it."""

    id: str
    cause: str
    find: Find
    also: tuple[str, ...] = ()  # causes that would be as right
    rewrite: Rewrite | None = None
    kinds: tuple[str, ...] = ()
    common: bool = False


def applied(text: str, place: Place) -> str:
    """The text with the changes of one place made."""
    data = text.encode()
    for change in sorted(place, key=lambda change: -change.start):
        data = data[: change.start] + change.text.encode() + data[change.start + change.length :]
    return data.decode()


def on_flag(pattern: str, change: Callable[[float], float]) -> Rewrite:
    """A number that the command line gives by a flag whose name matches, changed: `--lr=0.1`, `--lr 0.1`, `lr=0.1`."""

    def rewrite(command: tuple[str, ...]) -> tuple[str, ...] | None:
        words = list(command)
        for place, word in enumerate(words):
            name, equals, value = word.partition("=")
            if not re.fullmatch(pattern, name.lstrip("-").rpartition(".")[2]):
                continue
            if not equals and place + 1 < len(words) and word.startswith("-"):
                value = words[place + 1]
            try:
                new = f"{change(float(value)):.6g}"
            except ValueError:
                continue
            words[place : place + (1 if equals else 2)] = [f"{name}={new}"] if equals else [word, new]
            return tuple(words)
        return None

    return rewrite
