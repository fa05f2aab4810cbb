"""Measures which line of the user's code spoilt the data before the model got it: a column divided by its spread of
zero, a logarithm.

Such arithmetic leaves no trace in a graph. But what it was given and what it made are often still variables of the
functions that are running, and the source says how one came from the other. Nothing is run; only once in a training is
this asked."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch

from traindx.live.events.places import outer, place, user_frame, variables
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import tensors_in
from traindx.measurements import PreparingLine

FRAMES = 8  # of the user, from the call of `backward` outwards
MOST_BYTES = 1 << 28  # of a variable that is looked through
LEAST_ROWS = 4
LOGS = frozenset({"log", "log2", "log10", "log1p"})
DIVISIONS = frozenset({"sqrt", "rsqrt", "div", "divide", "true_divide", "reciprocal"})
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Maker:
    """`sure` where the operands of the line were seen to be finite, or its divisor zero."""

    line: PreparingLine
    sure: bool


def maker_of(columns: bool, finite_before: bool, dataset: Any) -> PreparingLine | None:
    """The one line that can have spoilt the data. `columns`: whole columns are spoilt, as a spread of zero does it;
    `finite_before`: what the loader gave out was finite."""
    guesses: list[Maker] = []
    frame = user_frame()
    for _ in range(FRAMES):
        if frame is None:
            break
        for maker in _in_frame(frame):
            if maker.sure or finite_before:
                return maker.line
            guesses.append(maker)
        frame = outer(frame)
    if dataset is not None and not finite_before:
        makers = list(_in_class(type(dataset)))
        if len(makers) == 1 and (columns or _holds_finite(dataset)):
            return makers[0].line
        guesses += makers
    return guesses[0].line if len({guess.line.line for guess in guesses}) == 1 and columns else None


def is_finite(batch: Any) -> bool:
    """There is a batch with data in it, and all of it is finite."""
    data = [tensor for tensor in tensors_in(batch) if tensor.is_floating_point()]
    return any(tensor.dim() >= 2 for tensor in data) and all(bool(torch.isfinite(tensor).all()) for tensor in data)


def whole_columns(tensors: list[torch.Tensor]) -> bool:
    """Whether a table is spoilt in some columns from top to bottom and nowhere else."""
    for table in tensors:
        if table.dim() == 2 and len(table) >= LEAST_ROWS and not bool(torch.isfinite(table).all()):
            bad = ~torch.isfinite(table)
            return bool((bad.any(0) == bad.all(0)).all()) and not bool(bad.all())
    return False


def _in_frame(frame: FrameType) -> Iterator[Maker]:
    """Assignments of a running function to variables that hold spoilt numbers, latest first."""
    path, names = frame.f_code.co_filename, {**frame.f_globals, **variables(frame)}
    tree = _tree(path)
    body = _body(tree, frame.f_code) if tree is not None else None
    found = []
    finite: set[str] = set()  # names whose last value so far was computed from finite tables
    for statement in _statements(body or []):
        target, value = _assigned(statement)
        if value is None or _state(names.get(target)) is not False:
            continue
        operands = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
        states = {_state(names.get(one)) for one in operands - {target}}
        again = target in operands or isinstance(statement, ast.AugAssign)
        known = True in states or (again and target in finite)
        proven = known and False not in states and (not again or target in finite)
        (finite.add if proven else finite.discard)(target)
        for kind, line, source, divisor in _risky(statement, value, names, path):
            finite.discard(target)
            zero = _is_zero(names.get(divisor)) if divisor else False
            found.append(Maker(PreparingLine(kind, place(*line), source, divisor if zero else ""), proven or zero))
    yield from reversed(found)


def _in_class(kind: type) -> Iterator[Maker]:
    for name in ("__getitem__", "__init__"):
        method = vars(kind).get(name)
        if isinstance(method, FunctionType):
            yield from (
                Maker(PreparingLine(kind, place(*line), source), True) for kind, line, source, _ in _in_function(method)
            )


def _holds_finite(dataset: Any) -> bool:
    """The tables that a data set holds are all finite."""
    states = {_state(member) for member in vars(dataset).values()}
    return True in states and False not in states


def _risky(
    statement: ast.stmt, value: ast.expr, names: Mapping[str, Any], path: str
) -> Iterator[tuple[str, tuple[str, int], str, str]]:
    """Operations of a statement that can leave the finite numbers, in itself or in a function of the user it calls."""
    divided = (
        isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Div) and not _harmless(statement.value)
    )
    if divided:
        yield "division", (path, statement.lineno), _source(path, statement.lineno), _name(value)
        return
    operations = [found for node in ast.walk(value) if (found := _operation(node))]
    if operations:
        kind, divisor = operations[0]
        yield kind, (path, statement.lineno), _source(path, statement.lineno), divisor
        return
    for node in ast.walk(value):
        called = names.get(node.func.id) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
        if isinstance(called, FunctionType):
            yield from _in_function(called)


def _in_function(function: FunctionType) -> Iterator[tuple[str, tuple[str, int], str, str]]:
    function = inspect.unwrap(function)
    path = function.__code__.co_filename
    tree = _tree(path)
    body = _body(tree, function.__code__) if tree is not None and not path.startswith("<") else None
    found: dict[int, str] = {}
    for statement in body or []:
        for node in ast.walk(statement):
            if isinstance(node, ast.expr) and (operation := _operation(node)):
                found.setdefault(node.lineno, operation[0])
    if len(found) == 1:  # one of several could have been any
        line, kind = found.popitem()
        yield kind, (path, line), _source(path, line), ""


def _operation(node: ast.AST) -> tuple[str, str] | None:
    """What an expression may do to finite numbers, and the name of what it divides by."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and not _harmless(node.right):
        return "division", _name(node.right)
    if isinstance(node, ast.Call):
        function = node.func
        called = function.attr if isinstance(function, ast.Attribute) else _name(function)
        if called in LOGS and not any(map(_harmless, node.args[:1])):
            return "log", ""
        if called in DIVISIONS:
            return "division", ""
    return None


def _harmless(divisor: ast.expr) -> bool:
    """A number, a count, or a sum with a number: no spread of zero."""
    if isinstance(divisor, ast.Constant):
        return True
    if isinstance(divisor, ast.BinOp) and isinstance(divisor.op, ast.Add):
        return _harmless(divisor.left) or _harmless(divisor.right)
    if isinstance(divisor, ast.Call):
        called = divisor.func.attr if isinstance(divisor.func, ast.Attribute) else _name(divisor.func)
        return called in ("len", "clamp", "clip", "clamp_min", "maximum", "max")
    return False


def _state(value: Any) -> bool | None:
    """Whether a table of numbers is finite; None where it is no such thing or too large to look through."""
    numpy = sys.modules.get("numpy")
    if isinstance(value, torch.Tensor):
        plain = watchable(value) and value.is_floating_point() and value.dim() and value.nbytes <= MOST_BYTES
        return bool(torch.isfinite(value.detach()).all()) if plain else None
    if numpy is not None and isinstance(value, numpy.ndarray):
        plain = value.dtype.kind in "fiu" and value.ndim and value.nbytes <= MOST_BYTES
        return bool(numpy.isfinite(value).all()) if plain else None
    return None


def _is_zero(value: Any) -> bool:
    """Whether a number or some number in a table is exactly zero."""
    return (isinstance(value, int | float) and value == 0) or (_state(value) is True and bool((value == 0).any()))


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """The name that a statement binds, and what to."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
        return _name(first), statement.value
    if isinstance(statement, ast.AnnAssign | ast.AugAssign):
        return _name(statement.target), statement.value
    return "", None


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a function in order, those of functions and classes defined in it left out."""
    for statement in body:
        if isinstance(statement, Function | ast.ClassDef):
            continue
        yield statement
        for inner in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, inner, []))


def _body(tree: ast.Module, code: CodeType) -> list[ast.stmt] | None:
    if code.co_name == "<module>":
        return tree.body
    for node in ast.walk(tree):
        if isinstance(node, Function) and node.name == code.co_name:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first == code.co_firstlineno:
                return node.body
    return None


def _tree(path: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return None


def _source(path: str, line: int) -> str:
    return linecache.getline(path, line).strip()
