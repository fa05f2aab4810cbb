"""The structure of the user's files: each statement with its line, the names it sets and reads, what it calls and the
plain values it gives. No text of the program is kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from traindx.measurements import COLLECTION, CallAt, Statement, ValueAt
from traindx.secrets import hidden_value

MAX_BYTES = 200_000
MAX_STATEMENTS = 2500
MAX_WORD = 16  # characters of a text value that is kept: 'sum', 'mean', 'relu'
_BLOCKS = (ast.For, ast.While, ast.AsyncFor, ast.If, ast.With, ast.AsyncWith, ast.Try)
_COLLECTIONS = (ast.List, ast.ListComp, ast.Dict, ast.DictComp)
Value = float | int | bool | str | None


def statements_of(path: str) -> tuple[Statement, ...]:
    """Of one file; none where it cannot be read or is too long."""
    try:
        text = Path(path).read_text("utf-8")
        if len(text) > MAX_BYTES:
            return ()
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return ()
    return tuple(_within(tree.body, "", (), ()))[:MAX_STATEMENTS]


def _within(body: list[ast.stmt], scope: str, loops: tuple[int, ...], blocks: tuple[int, ...]) -> Iterator[Statement]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{scope}.{node.name}" if scope else node.name
            heads: list[ast.AST] = [*node.decorator_list]
            if not isinstance(node, ast.ClassDef):
                heads.append(node.args)
            yield _statement(node, heads, scope, loops, blocks, "class" if isinstance(node, ast.ClassDef) else "def")
            yield from _within(node.body, name, () if not isinstance(node, ast.ClassDef) else loops, ())
        elif isinstance(node, _BLOCKS) or type(node).__name__ == "TryStar":
            yield _statement(node, _head(node), scope, loops, blocks, type(node).__name__.lower().removeprefix("async"))
            inner = (*loops, node.lineno) if isinstance(node, ast.For | ast.While | ast.AsyncFor) else loops
            for part in ("body", "orelse", "finalbody"):
                yield from _within(getattr(node, part, []), scope, inner, (*blocks, node.lineno))
            for handler in getattr(node, "handlers", []):
                yield from _within(handler.body, scope, inner, (*blocks, node.lineno))
        else:
            for parts in _pairs(node):
                yield _statement(node, parts, scope, loops, blocks, type(node).__name__.lower())


def _pairs(node: ast.stmt) -> list[list[ast.AST]]:
    """`a, b = x, y` sets each name from its own value."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    value = getattr(node, "value", None)
    alike = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
    if not alike:
        return [[node]]
    return [[one, given] for one, given in zip(target.elts, value.elts, strict=True)]  # type: ignore[union-attr]


def _head(node: ast.stmt) -> list[ast.AST]:
    """What a compound statement evaluates itself."""
    if isinstance(node, ast.For | ast.AsyncFor):
        return [node.target, node.iter]
    if isinstance(node, ast.With | ast.AsyncWith):
        return list(node.items)
    test = getattr(node, "test", None)
    return [test] if test is not None else []


def _statement(
    node: ast.stmt, parts: list[ast.AST], scope: str, loops: tuple[int, ...], blocks: tuple[int, ...], kind: str
) -> Statement:
    stores: dict[str, None] = {}
    loads: dict[str, None] = {}
    calls: list[CallAt] = []
    values: list[ValueAt] = []
    for one in (inner for part in parts for inner in ast.walk(part)):
        if isinstance(one, ast.Name | ast.Attribute | ast.Subscript):
            stored = isinstance(one.ctx, ast.Store)
            if stored or not isinstance(one, ast.Subscript):
                (stores if stored else loads)[_dotted(one)] = None
        elif isinstance(one, ast.Call):
            calls.append(CallAt(_dotted(one.func) or _last(one.func), one.lineno))
            values += _given(one)
        elif isinstance(one, ast.BinOp | ast.UnaryOp):
            calls.append(CallAt(type(one.op).__name__, one.lineno))
        elif isinstance(one, ast.Dict):
            values += _keyed(one)
        elif isinstance(one, ast.arguments):
            values += _defaults(one)
    values += _assigned(node)
    stores.pop("", None)
    loads.pop("", None)
    end = node.end_lineno or node.lineno
    if kind not in ("assign", "annassign", "augassign", "expr", "return"):
        end = max((getattr(part, "end_lineno", None) or node.lineno for part in parts), default=node.lineno)
    return Statement(
        node.lineno, end, kind, scope, loops, blocks, tuple(stores), tuple(loads), tuple(calls), tuple(values)
    )


def _dotted(node: ast.AST) -> str:
    """`self.model.fc`; a call or an index inside is left out: `optimizers[0].step` is `optimizers.step`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    if isinstance(node, ast.Subscript):
        return _dotted(node.value)
    return ""


def _last(node: ast.AST) -> str:
    """The method of something that has no name: `model(x).detach` is `.detach`."""
    return f".{node.attr}" if isinstance(node, ast.Attribute) else ""


def _given(call: ast.Call) -> Iterator[ValueAt]:
    """Plain values that a call is given; `add_argument("--lr", default=0.1)` names its own."""
    name = (_dotted(call.func) or _last(call.func)).rpartition(".")[2]
    flag = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if name in ("add_argument", "option", "Option", "add_param") and isinstance(flag, str):
        flags = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        longest = max(flags, key=len).lstrip("-").replace("-", "_")
        for keyword in call.keywords:
            if keyword.arg == "default":
                yield from _value(name, longest, keyword.value)
        return
    for place, argument in enumerate(call.args):
        yield from _value(name, str(place), argument)
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield from _value(name, keyword.arg, keyword.value)


def _keyed(table: ast.Dict) -> Iterator[ValueAt]:
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield from _value("{}", key.value, value)


def _defaults(arguments: ast.arguments) -> Iterator[ValueAt]:
    plain = [*arguments.posonlyargs, *arguments.args]
    given = arguments.defaults
    for one, value in zip(plain[len(plain) - len(given) :], given, strict=True):
        yield from _value("def", one.arg, value)
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield from _value("def", one.arg, default)


def _assigned(node: ast.stmt) -> Iterator[ValueAt]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    value = getattr(node, "value", None)
    if not targets or value is None:
        return
    target = targets[0]
    if isinstance(value, _COLLECTIONS) and (name := _dotted(target).rpartition(".")[2]):
        yield ValueAt("=", name, COLLECTION, value.lineno)
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, part in zip(target.elts, value.elts, strict=True):
            yield from _value("=", _dotted(one).rpartition(".")[2], part)
    else:
        yield from _value("=", _dotted(target).rpartition(".")[2], value)


def _value(call: str, name: str, node: ast.AST) -> Iterator[ValueAt]:
    known, value = _constant(node)
    if known and name:
        yield ValueAt(call, name, hidden_value(name, value), getattr(node, "lineno", 0))


def _constant(node: ast.AST) -> tuple[bool, Value]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        known, value = _constant(node.operand)
        return (True, -value) if known and isinstance(value, int | float) else (False, None)
    given = node.value if isinstance(node, ast.Constant) else ...
    if isinstance(given, str):
        return (True, given) if len(given) <= MAX_WORD and given.isidentifier() else (False, None)
    if given is None or isinstance(given, float | int):
        return True, given if not isinstance(given, int) or abs(given) < 2**53 else None
    return False, None
