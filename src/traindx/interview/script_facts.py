"""The facts of a script's syntax tree that matter for training: calls by their last name, constants, loops, imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

OPTIMIZERS = {
    name.lower(): name
    for name in ("SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adadelta", "Lion", "LBFGS",
                 "ASGD", "Adafactor")
}  # fmt: skip
_LR_NAMES = ("lr", "learning_rate")


@dataclass(frozen=True)
class Call:
    """One call: the last part of what is called ('cross_entropy'), what stands before it ('F'), its node, the loops
    around it, outermost first, and what its result is assigned to."""

    name: str
    owner: str
    node: ast.Call
    loops: tuple[ast.stmt, ...]
    function: str
    target: str = ""

    @property
    def evaluates(self) -> bool:
        """It makes something for validation, going by the names."""
        text = self.words
        return any(part in text for part in ("val", "test", "eval"))

    @property
    def words(self) -> str:
        return f"{self.target} {ast.unparse(self.node)}".lower()

    @property
    def line(self) -> int:
        return self.node.lineno


@dataclass
class Facts:
    """Everything the checks look at."""

    tree: ast.Module
    calls: list[Call] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    passed: dict[str, list[Any]] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, tree: ast.Module) -> Facts:
        facts = cls(tree)
        _Walker(facts).visit(tree)
        return facts

    @cached_property
    def text(self) -> str:
        """The script without its comments and layout."""
        return ast.unparse(self.tree)

    def named(self, *names: str) -> list[Call]:
        wanted = {name.lower() for name in names}
        return [call for call in self.calls if call.name.lower() in wanted]

    def value(self, node: ast.expr | None) -> Any:
        """The constant a node stands for: written out, a module-level name, an option with a default, or simple
        arithmetic."""
        if node is None:
            return None
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._named_value(node.id)
        if isinstance(node, ast.Attribute):
            return self.options.get(node.attr, self.constants.get(node.attr))
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return self.constants.get(str(node.slice.value))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.value(node.operand)
            return -inner if isinstance(inner, int | float) else None
        return None

    def _named_value(self, name: str) -> Any:
        """A constant's value, else what a parameter is given: by the one call that names it, by its default, by an
        option."""
        if name in self.constants:
            return self.constants[name]
        given = self.passed.get(name, [])
        if name in self.defaults and given:
            return given[0] if all(value == given[0] for value in given) else None
        return self.defaults.get(name, self.options.get(name))

    def argument(self, call: Call, *names: str, place: int | None = None) -> Any:
        """The value of an argument by keyword, or by position."""
        for keyword in call.node.keywords:
            if keyword.arg in names:
                return self.value(keyword.value)
        if place is not None and len(call.node.args) > place:
            return self.value(call.node.args[place])
        return None

    def optimizers(self) -> list[Call]:
        return [call for call in self.calls if call.name.lower() in OPTIMIZERS and "sched" not in call.owner.lower()]


class _Walker(ast.NodeVisitor):
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.loops: list[ast.stmt] = []
        self.functions: list[str] = []
        self.target = ""

    def visit_Import(self, node: ast.Import) -> None:
        self.facts.imports |= {alias.name.split(".")[0] for alias in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.facts.imports.add((node.module or "").split(".")[0])

    def visit_For(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        if not isinstance(node, ast.While):
            self.visit(node.iter)
        self.loops.append(node)
        for child in [*node.body, *node.orelse]:
            self.visit(child)
        self.loops.pop()

    visit_AsyncFor = visit_For
    visit_While = visit_For

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        defaults = dict(zip([a.arg for a in node.args.args][::-1], node.args.defaults[::-1], strict=False))
        for name, default in defaults.items():
            if isinstance(default, ast.Constant):
                self.facts.defaults.setdefault(name, default.value)
        outer, self.loops = self.loops, []
        self.functions.append(node.name)
        self.generic_visit(node)
        self.functions.pop()
        self.loops = outer

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) == 1:
            self._bind(node.targets[0], node.value)
            self.target = ast.unparse(node.targets[0]) if not isinstance(node.value, ast.Tuple) else ""
        self.generic_visit(node)
        self.target = ""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, node.value)
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(value, ast.Constant):
                self.facts.constants.setdefault(key.value, value.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name, owner = _called(node.func)
        self.facts.calls.append(
            Call(name, owner, node, tuple(self.loops), self.functions[-1] if self.functions else "", self.target)
        )
        for keyword in node.keywords:
            if keyword.arg and name.lower() not in OPTIMIZERS and not isinstance(keyword.value, ast.Name):
                self.facts.passed.setdefault(keyword.arg, []).append(self.facts.value(keyword.value))
        if name == "add_argument" and node.args:
            default = next((k.value for k in node.keywords if k.arg == "default"), None)
            flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if default is not None and flags:
                self.facts.options[flags[-1].lstrip("-").replace("-", "_")] = self.facts.value(default)
        self.generic_visit(node)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        reported = self.facts.value(value)
        if isinstance(target, ast.Name | ast.Attribute) and reported is not None:
            self.facts.constants.setdefault(target.id if isinstance(target, ast.Name) else target.attr, reported)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, other in zip(target.elts, value.elts, strict=False):
                self._bind(one, other)


def _called(function: ast.expr) -> tuple[str, str]:
    if isinstance(function, ast.Attribute):
        return function.attr, ast.unparse(function.value)[:200]
    return (function.id if isinstance(function, ast.Name) else ""), ""


def settings_of(facts: Facts) -> dict[str, Any]:
    """The settings of the training, by the names config files use."""
    found: dict[str, Any] = {}
    for call in facts.optimizers():
        found.setdefault("optimizer", OPTIMIZERS[call.name.lower()].lower())
    for name, value in _arguments(facts):
        if _is_number(value):
            found.setdefault(name, value)
    dropouts = [
        value
        for call in facts.named("Dropout", "Dropout2d", "dropout")
        if _is_number(value := facts.argument(call, "p", "rate", place=0))
    ]
    if dropouts:
        found["dropout"] = max(dropouts)
    found.update(_precision(facts))
    for name, value in _by_variable(facts):
        found.setdefault(name, value)
    return found


def _arguments(facts: Facts) -> Iterator[tuple[str, Any]]:
    """The settings that stand in the calls of a training; the first number for each counts."""
    for call in facts.optimizers():
        yield "lr", facts.argument(call, *_LR_NAMES, place=1)
        yield "momentum", facts.argument(call, "momentum", place=2)
        yield "weight_decay", facts.argument(call, "weight_decay")
    for call in facts.named("DataLoader"):
        if not call.evaluates:
            yield "batch_size", facts.argument(call, "batch_size", place=1)
            yield "num_workers", facts.argument(call, "num_workers")
    for call in facts.named("fit"):
        yield "batch_size", facts.argument(call, "batch_size")
        yield "epochs", facts.argument(call, "epochs")
    for call in facts.named("clip_grad_norm_", "clip_grad_value_"):
        yield "clip", facts.argument(call, "max_norm", "clip_value", place=1)


def _by_variable(facts: Facts) -> Iterator[tuple[str, Any]]:
    """The settings that options and constants of the script name."""
    known = {name.lower(): value for name, value in {**facts.options, **facts.constants}.items()}
    for target, names in (
        ("epochs", ("epochs", "num_epochs", "n_epochs", "max_epochs")),
        ("num_classes", ("num_classes", "n_classes")),
    ):
        value = next((known[name] for name in names if _is_number(known.get(name))), None)
        if value is not None:
            yield target, value


def _precision(facts: Facts) -> Iterator[tuple[str, Any]]:
    text = facts.text
    halved = any(call.owner and not call.node.args for call in facts.named("half"))
    scaled = bool(facts.named("autocast") and facts.named("GradScaler")) and "bfloat16" not in text
    if halved or scaled or "float16" in text.replace("bfloat16", ""):
        yield "fp16", True
    elif "bfloat16" in text:
        yield "precision", "bf16"
    elif facts.named("backward") and not facts.named("autocast", "Accelerator", "Trainer"):
        yield "fp16", False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
