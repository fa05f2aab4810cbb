"""Settings written as Python (`optimizer = dict(type='SGD', lr=0.01)`), as OpenMMLab dumps them. Parsed, never run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from traindx.readers.reach import open_file
from traindx.run import flatten

_MAX_CHARACTERS = 1 << 20  # the longest detector configurations are a tenth of it
_MAX_DEPTH = 40


def load_python_settings(path: Path | None) -> dict[str, Any]:
    """The settings in this file as 'a.b.c' keys; empty when it is missing or no such file."""
    try:
        if path is None:
            return {}
        with open_file(path) as file:
            return python_settings(file.read().decode(errors="replace"))
    except OSError:
        return {}


def python_settings(text: str) -> dict[str, Any]:
    """The same for text already at hand. What is no literal (a call other than dict, an expression) is left out."""
    if len(text) > _MAX_CHARACTERS:
        return {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about backslashes in somebody's paths
            body = ast.parse(text).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return {}
    found: dict[str, Any] = {}
    for statement in body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                found[target.id] = _value(statement.value, found, 0)
    return flatten({name: value for name, value in found.items() if value is not _UNKNOWN})


_UNKNOWN = object()


def _value(node: ast.expr, known: Mapping[str, Any], depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return _UNKNOWN
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return known.get(node.id, _UNKNOWN)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _value(node.operand, known, depth + 1)
        return -number if isinstance(number, int | float) else _UNKNOWN
    if isinstance(node, ast.List | ast.Tuple):
        items = [_value(item, known, depth + 1) for item in node.elts]
        return [item for item in items if item is not _UNKNOWN]
    if isinstance(node, ast.Dict):
        pairs = [
            (key.value, value)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        ]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args:
        pairs = [(each.arg, each.value) for each in node.keywords if each.arg is not None]
    else:
        return _UNKNOWN
    values = {name: _value(value, known, depth + 1) for name, value in pairs}
    return {name: value for name, value in values.items() if value is not _UNKNOWN}
