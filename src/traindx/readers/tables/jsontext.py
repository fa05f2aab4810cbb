"""JSON as logs have it: bare NaN, single quotes, a trailing comma, a document cut off in the middle."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping
from typing import Any

import msgspec

from traindx.readers.tables.cells import number_of

_MAX_LIST = 32  # a longer list inside a row is data, not metrics
_MAX_LITERAL = 1 << 16  # a longer line is no Python dict that somebody printed
_BARE_WORD = re.compile(r"(?<![\w'\"])(-?)(nan|inf|NaN|Infinity|true|false|null)(?![\w'\"])")
_PYTHON_WORDS = {"nan": "'nan'", "NaN": "'nan'", "inf": "'inf'", "Infinity": "'inf'", "true": "True", "false": "False",
                 "null": "None"}  # fmt: skip
_CALL = re.compile(
    r"\b(?:[a-z]\w*\.)*(?:tensor|array|float\d*|int\d*)\(\s*([^(),]*)(?:,[^()]*)?\)"
)  # tensor(0.5, device='cuda:0')
_TRAILING_COMMA = re.compile(r",\s*([}\]])")
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]')
_decode = msgspec.json.Decoder().decode


def parse_line(line: str) -> Any:
    """The value on one line of a log; None when it holds none."""
    text = line.strip().lstrip("\x1e").rstrip(",").strip()
    try:
        return _decode(text.encode("utf-8", errors="replace"))
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if not text.startswith("{") or len(text) > _MAX_LITERAL:
        return None
    try:
        return json.loads(_TRAILING_COMMA.sub(r"\1", text))
    except (ValueError, RecursionError):
        return _python_literal(text)


def _python_literal(text: str) -> Any:
    """A dict as Python prints it. Only literals are read, nothing is run."""
    plain = _BARE_WORD.sub(_python_word, _CALL.sub(r"\1", text))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about backslashes in somebody's paths
            return ast.literal_eval(plain)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _python_word(match: re.Match[str]) -> str:
    word = _PYTHON_WORDS[match.group(2)]
    return f"'-{word[1:]}" if match.group(1) and word.startswith("'") else word


def parse_document(data: bytes) -> tuple[Any, str]:
    """The value of a whole JSON file, and what was lost: a document that ends too early or breaks in the middle is
    read up to there. The value is None when nothing can be read."""
    try:
        return _decode(data), ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    text = data.decode("utf-8-sig", errors="replace").strip("\x00 \r\n\t")
    try:
        return json.loads(text), ""
    except json.JSONDecodeError as error:
        position = error.pos
    except (ValueError, RecursionError):
        return None, ""
    try:
        return json.loads(_TRAILING_COMMA.sub(r"\1", text)), ""
    except (ValueError, RecursionError):
        pass
    closed = _closed(text[:position])
    try:
        return json.loads(
            closed
        ), f"the JSON breaks off after {position} of {len(text)} characters; what follows is lost"
    except (ValueError, RecursionError):
        return None, ""


def _closed(text: str) -> str:
    """A cut-off document made whole: cut back to the last complete entry, every open bracket closed."""
    open_brackets: list[str] = []
    best = 0
    best_open: list[str] = []
    for match in _STRUCTURE.finditer(text):
        mark = match.group()
        if mark in "{[":
            open_brackets.append("}" if mark == "{" else "]")
            best, best_open = match.end(), list(open_brackets)
        elif mark in "}]":
            if not open_brackets or open_brackets.pop() != mark:
                break
            best, best_open = match.end(), list(open_brackets)
        elif mark == ",":
            best, best_open = match.start(), list(open_brackets)
    return text[:best] + "".join(reversed(best_open))


def flat_row(row: Mapping[str, Any], prefix: str = "", depth: int = 0) -> tuple[dict[str, float], dict[str, str]]:
    """The numbers of a row and its words, nested names joined by '/'. Quoted numbers are numbers; null is no value."""
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    for key, value in row.items():
        name = f"{prefix}{key}"
        kind = type(value)
        if kind is float or kind is int:
            numbers[name] = as_float(value)
        elif kind is str:
            number = number_of(value) if len(value) < 40 else None
            if number is None:
                words[name] = value
            else:
                numbers[name] = number
        elif isinstance(value, Mapping) and depth < 8:
            inner_numbers, inner_words = flat_row(value, f"{name}/", depth + 1)
            numbers.update(inner_numbers)
            words.update(inner_words)
        elif (
            isinstance(value, list | tuple)
            and len(value) <= _MAX_LIST
            and all(type(item) in (int, float) for item in value)
        ):
            for index, item in enumerate(value):
                numbers[name if len(value) == 1 else f"{name}/{index}"] = as_float(item)
        elif isinstance(value, list) and _are_parts(value) and depth < 8:  # players, heads, data sets
            for index, item in enumerate(value):
                inner_numbers, inner_words = flat_row(item, f"{name}/{index}/", depth + 1)
                numbers.update(inner_numbers)
                words.update(inner_words)
    return numbers, words


def _are_parts(value: list[Any]) -> bool:
    return 0 < len(value) <= _MAX_LIST and all(isinstance(item, Mapping) for item in value)


def as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer with hundreds of digits
        return float("inf") if value > 0 else float("-inf")
