"""The cases of a program: as it is, and with one fault by each mutator that finds a place in it."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import libcst
from mutators import mutators
from mutators.base import Mutator, Source, applied
from recipe import Recipe

SOUND = "sound"


@dataclass(frozen=True)
class Case:
    """`files` are the contents that differ from the program's own; `lines` are where, in the changed file."""

    recipe: Recipe
    name: str
    command: tuple[str, ...]
    files: dict[str, str]
    mutator: Mutator | None = None
    file: str = ""
    lines: tuple[int, ...] = ()

    def write(self, place: Path) -> None:
        for file, text in self.files.items():
            (place / file).write_text(text, "utf-8", newline="")


def cases_of(recipe: Recipe, place: Path) -> Iterator[Case]:
    """In the order of their names; `place` holds the prepared program."""
    yield Case(recipe, SOUND, recipe.command, {})
    texts = {file: (place / file).read_bytes().decode() for file in recipe.files}
    sources = {file: _parsed(text) for file, text in texts.items()}
    for mutator in mutators().values():
        if mutator.kinds and not any(word.lower() in recipe.kind.lower() for word in mutator.kinds):
            continue
        case = _mutated(recipe, mutator, texts, sources)
        if case is not None:
            yield case


def _parsed(text: str) -> Source | None:
    try:
        return Source(text)
    except libcst.ParserSyntaxError:
        return None


def _mutated(recipe: Recipe, mutator: Mutator, texts: dict[str, str], sources: dict[str, Source | None]) -> Case | None:
    """At the first place that still parses; by the command line where no source has one. A number that the command line
    gives is changed there: the user would."""
    command = mutator.rewrite(recipe.command) if mutator.rewrite is not None else None
    if command is not None:
        return Case(recipe, mutator.id, command, {}, mutator)
    for file, source in sources.items():
        for place in mutator.find(source) if source is not None else ():
            changed = applied(texts[file], place)
            if changed != texts[file] and _compiles(changed):
                return Case(
                    recipe, mutator.id, recipe.command, {file: changed}, mutator, file, _lines(texts[file], changed)
                )
    return None


def _compiles(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _lines(before: str, after: str) -> tuple[int, ...]:
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    found: list[int] = []
    for kind, _, _, start, stop in matcher.get_opcodes():
        if kind != "equal":
            found += range(start + 1, max(stop, start + 1) + 1)
    return tuple(found)
