"""What an evaluation is given and after what its result is named, read from the statement that waits for it:
`val_loss = evaluate(model, train_loader)` holds nothing out."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch

from traindx.live.events.places import place, variables
from traindx.live.measures.splits import HELD_WORDS, part_of_name

MAX_BYTES = 200_000  # of a file
# a result called `eval_loss` may well be that of an evaluation of the training data
_HELD_RESULT = re.compile(r"(^|_)(val|valid|validation|dev|test|held_?out|hold_?out)(_|\d|$)")
_SINGLE_VALUES = (str, bytes, bool, int, float, type(None), torch.nn.Module, torch.optim.Optimizer)
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.NamedExpr)


class NamedResult(NamedTuple):
    """The names of a result and of the training data that it is computed from, and where."""

    result: str
    data: str
    where: str


def held_result_of_training(running: Sequence[FrameType], trains: Container[CodeType]) -> NamedResult | None:
    """Where a function that evaluates is given what is named after the training, nothing that is named after something
    else, and its result is named after what is held out. `running`: the user's functions, the innermost first.
    `trains`: those that updates are made in, which may hold out a part of what they are given."""
    for inner, waiting in pairwise(running):
        if inner.f_code in trains:
            return None
        found = _assigned(waiting, inner.f_code.co_name)
        if found is not None:
            return found
    return None


def _assigned(frame: FrameType, function: str) -> NamedResult | None:
    for node in _assignments(frame.f_code.co_filename):
        if not node.lineno <= frame.f_lineno <= (node.end_lineno or node.lineno) or node.value is None:
            continue
        results = [name for target in _targets(node) for name in _names(target)]
        if not results or not all(_HELD_RESULT.search(name.lower()) and part_of_name(name) for name in results):
            continue
        for call in (one for one in ast.walk(node.value) if isinstance(one, ast.Call)):
            data = _training_data(call, frame) if _last(call.func) == function else ""
            if data:
                return NamedResult(", ".join(results), data, place(frame.f_code.co_filename, node.lineno))
    return None


def _training_data(call: ast.Call, frame: FrameType) -> str:
    """The argument that is named after the training; '' where there is none, or one that is named after something
    else."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    plain = [one.value for part in given for one in ast.walk(part) if isinstance(one, ast.Constant)]
    names = [_last(one) for part in given for one in ast.walk(part) if isinstance(one, ast.Name | ast.Attribute)]
    if any(type(one) is str and one.lower() in HELD_WORDS for one in plain) or any(
        part_of_name(name) == "held" for name in names
    ):
        return ""
    found = variables(frame)
    trained = [
        one for one in given if isinstance(one, ast.Name | ast.Attribute) and part_of_name(_last(one)) == "train"
    ]
    return next((_last(one) for one in trained if _is_data(_value(one, found))), "")


def _value(node: ast.expr, found: dict[str, Any]) -> Any:
    """What a name or an attribute holds, without running code of the user's."""
    if isinstance(node, ast.Name):
        return found.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, found)
        return getattr(owner, "__dict__", {}).get(node.attr) if owner is not None else None
    return None


def _is_data(value: Any) -> bool:
    kind = type(value)
    return not isinstance(value, _SINGLE_VALUES) and any(hasattr(kind, name) for name in ("__iter__", "__getitem__"))


def _targets(node: Any) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _names(target: ast.expr) -> Iterator[str]:
    """`a, b` is two; what is thrown away under `_` is none."""
    if isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _names(one)
    elif _last(target).strip("_"):
        yield _last(target)


def _last(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


@lru_cache(maxsize=8)
def _assignments(path: str) -> tuple[Any, ...]:
    try:
        text = Path(path).read_text("utf-8")
        tree = ast.parse(text) if len(text) <= MAX_BYTES else ast.Module([], [])
    except (OSError, SyntaxError, ValueError):
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, _ASSIGNMENTS))
