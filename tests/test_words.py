"""Words of the field, never a private vocabulary: in what people read and in the names of the code."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# in identifiers, as whole words between underscores
NAMES = frozenset(
    {"hush", "glance", "glanced", "nursery", "desk", "weave", "farewell", "thaw", "bred", "flying", "told", "beside"}
)
# constants that do not say what they measure; with a quantity behind them (MIN_LOOKS) they are names
BARE = frozenset({"PLAIN", "LEAST", "MOST", "FEW", "LOOKS"})
# in sentences of pages, messages and documents
PHRASES = re.compile(
    r"\b(dealt out|evenly spread|thawed|bred with|bred on|bred a|settles most for its cost|for want of a|"
    r"to see whether to believe|not plain enough|of what it had gained|turned \d+ times between|"
    r"unless told|somebody told|nobody told|merely told|told briefly|is told on stderr|(classes|labels) are told|"
    r"not counted as (a |an )?[a-z-]+:|the trainer is not in the table|points to what is below|"
    r"glances?|nursery|hushed|thaw(s|ed)?)\b"
    r"|\bNot measured: (\S+ ){1,4}initial loss",
    re.IGNORECASE,
)
# the vocabulary of a fork server, a step buffer and sampled calls
COMMENTS = re.compile(r"\b(told|glances?|nursery|hush(ed)?|thaw(s|ed)?|dealt out|bred)\b", re.IGNORECASE)
DISTINGUISHED = re.compile(r"\btold\s+(apart|from)\b|\b(can|cannot|could|to) be told\b", re.IGNORECASE)
PYTHON = sorted((ROOT / "src").rglob("*.py"))
# the changelog quotes what was once said
PROSE = sorted(
    [*((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
)


def identifiers(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg


def private(name: str) -> bool:
    return name.strip("_") in BARE or bool(NAMES & set(name.lower().strip("_").split("_")))


def test_names_of_the_code_are_plain() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in PYTHON
        for name in identifiers(ast.parse(path.read_text("utf-8")))
        if private(name)
    }
    assert found == set()


def strings(path: Path) -> Iterator[str]:
    if path.name == "changelog.md":
        return
    if path.suffix != ".py":
        yield path.read_text("utf-8")
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("paths", [PYTHON, PROSE], ids=["messages", "documents"])
def test_sentences_are_plain(paths: list[Path]) -> None:
    found = {
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in paths
        for text in strings(path)
        for match in PHRASES.finditer(" ".join(text.split()))
    }
    assert found == set()


def comments(path: Path) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def test_comments_and_docstrings_are_plain() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {match.group()}: {text[:80]}"
        for path in PYTHON
        for text in (*strings(path), *comments(path))
        for match in COMMENTS.finditer(DISTINGUISHED.sub("", text))
    }
    assert found == set()


@pytest.mark.parametrize("name", ["_farewell", "glance_share", "Desk", "NOT_BRED", "_told", "LEAST"])
def test_the_list_finds_what_it_should(name: str) -> None:
    assert private(name)
    assert PHRASES.search("weights as they were dealt out")
    assert COMMENTS.search(DISTINGUISHED.sub("", "steps that are told to everybody"))
    assert not private("sample_share")
    assert not private("MIN_LOOKS")
    assert not COMMENTS.search(DISTINGUISHED.sub("", "classes that are told apart, where that can be told"))
