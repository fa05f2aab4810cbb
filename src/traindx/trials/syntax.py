"""Small tools over libcst that the edits share: names, calls, numbers, statements and where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider

OPTIMIZERS = frozenset({
    "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "LBFGS",
    "SparseAdam",
    "Adafactor", "Muon",
})  # fmt: skip


def last_name(node: cst.BaseExpression) -> str:
    """'SGD' of `torch.optim.SGD`; '' of anything that is no name."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def dotted(node: cst.BaseExpression) -> str:
    """'torch.optim.SGD' as it is written; '' of anything that is no chain of names."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr.value}" if before else ""
    return ""


def called(node: cst.CSTNode) -> str:
    """The last name of what is called, or ''."""
    return last_name(node.func) if isinstance(node, cst.Call) else ""


def argument(call: cst.Call, name: str, place: int | None = None) -> cst.Arg | None:
    """An argument by its name, or by its place where it is given so."""
    for one in call.args:
        if one.keyword is not None and one.keyword.value == name:
            return one
    if (
        place is not None
        and place < len(call.args)
        and all(a.keyword is None and not a.star for a in call.args[: place + 1])
    ):
        return call.args[place]
    return None


def keyword(name: str, value: cst.BaseExpression) -> cst.Arg:
    return cst.Arg(
        value, cst.Name(name),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )  # fmt: skip


def with_argument(call: cst.Call, name: str, value: cst.BaseExpression, place: int | None = None) -> cst.Call:
    """The call with this argument set: where it stands, or as a keyword at the end."""
    there = argument(call, name, place)
    if there is not None:
        return call.with_changes(args=[one.with_changes(value=value) if one is there else one for one in call.args])
    args = list(call.args)
    if args:
        args[-1] = args[-1].with_changes(
            comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
            if isinstance(args[-1].comma, cst.MaybeSentinel)
            else args[-1].comma
        )
    return call.with_changes(args=[*args, keyword(name, value)])


def without_argument(call: cst.Call, name: str) -> cst.Call:
    kept = [one for one in call.args if one.keyword is None or one.keyword.value != name]
    if kept and len(kept) < len(call.args):
        kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return call.with_changes(args=kept)


def method(value: cst.BaseExpression, name: str, *args: cst.Arg) -> cst.Call:
    """`value.name(…)`, with parentheses around a value that needs them."""
    bare = isinstance(value, cst.Name | cst.Attribute | cst.Call | cst.Subscript) or bool(value.lpar)
    owner = value if bare else value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.Call(cst.Attribute(owner, cst.Name(name)), list(args))


def number_of(node: cst.BaseExpression) -> float | None:
    """A number as written, or None for anything that must be computed."""
    try:
        if isinstance(node, cst.Integer | cst.Float):
            return float(node.evaluated_value)
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
            inner = number_of(node.expression)
            return None if inner is None else -inner
    except ValueError:
        return None
    return None


def number(value: float) -> cst.BaseExpression:
    """A number as people write it: 0.01, 3e-05, 64."""
    text = f"{value:.3g}" if value != int(value) or abs(value) >= 1e6 else str(int(value))
    return cst.parse_expression(text)


class Rewrite(cst.CSTTransformer):
    """Replaces calls: `change` is given each call and gives another, or None to leave it."""

    def __init__(self, change: Callable[[cst.Call], cst.BaseExpression | None]) -> None:
        super().__init__()
        self.change = change
        self.count = 0

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        changed = self.change(updated_node)
        if changed is None or changed is updated_node:
            return updated_node
        self.count += 1
        return changed


def rewrite_calls(module: cst.Module, change: Callable[[cst.Call], cst.BaseExpression | None]) -> cst.Module | None:
    rewriting = Rewrite(change)
    changed = module.visit(rewriting)
    return changed if rewriting.count else None


def calls_in(node: cst.CSTNode) -> list[cst.Call]:
    return [found for found in m.findall(node, m.Call()) if isinstance(found, cst.Call)]


def logarithm_of(call: cst.Call) -> cst.BaseExpression | None:
    """What the logarithm is taken of: `torch.log(x)` or `x.log()`."""
    if dotted(call.func) == "torch.log" and len(call.args) == 1:
        return call.args[0].value
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "log" and not call.args:
        return call.func.value
    return None


def is_optimizer(call: cst.Call) -> bool:
    return called(call) in OPTIMIZERS and bool(call.args)


def statement(code: str) -> cst.SimpleStatementLine:
    line = cst.parse_statement(code)
    assert isinstance(line, cst.SimpleStatementLine)
    return line


class InsertBeside(cst.CSTTransformer):
    """Puts statements before or after each simple statement that `wanted` picks."""

    def __init__(
        self, wanted: Callable[[cst.SimpleStatementLine], bool], before: Sequence[str] = (), after: Sequence[str] = ()
    ) -> None:  # fmt: skip
        super().__init__()
        self.wanted, self.before, self.after = wanted, before, after
        self.count = 0

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.BaseStatement]:
        if not self.wanted(original_node):
            return updated_node
        self.count += 1
        first = [statement(code) for code in self.before]
        if first:
            first[0] = first[0].with_changes(leading_lines=updated_node.leading_lines)
            updated_node = updated_node.with_changes(leading_lines=())
        return cst.FlattenSentinel([*first, updated_node, *(statement(code) for code in self.after)])


def insert(
    module: cst.Module, wanted: Callable[[cst.SimpleStatementLine], bool], before: Sequence[str] = (),
    after: Sequence[str] = ()
) -> cst.Module | None:  # fmt: skip
    inserting = InsertBeside(wanted, before, after)
    changed = module.visit(inserting)
    return changed if inserting.count else None


def assigned(module: cst.Module, names: frozenset[str]) -> set[str]:
    """What holds the result of calling one of these: 'self.criterion' of `self.criterion = nn.MSELoss()`."""
    return {
        dotted(node.targets[0].target)
        for node in m.findall(module, m.Assign())
        if isinstance(node, cst.Assign) and len(node.targets) == 1 and called(node.value) in names
    } - {""}


def constants(module: cst.Module) -> dict[str, float]:
    """Numbers that names of the module stand for, where a name is given one value only."""
    found: dict[str, float] = {}
    twice: set[str] = set()
    for node in m.findall(module, m.Assign(targets=[m.AssignTarget(m.Name())])):
        assert isinstance(node, cst.Assign)
        name, value = last_name(node.targets[0].target), number_of(node.value)
        if name in found or value is None:
            twice.add(name)
        else:
            found[name] = value
    return {name: value for name, value in found.items() if name not in twice}


def with_constant(module: cst.Module, name: str, value: float) -> cst.Module | None:
    """The module with the one assignment of a number to this name changed."""

    class Assigning(cst.CSTTransformer):
        count = 0

        def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
            targets = updated_node.targets
            target = targets[0].target
            if len(targets) > 1 or not isinstance(target, cst.Name) or target.value != name:
                return updated_node
            if number_of(updated_node.value) is None:
                return updated_node
            self.count += 1
            return updated_node.with_changes(value=number(value))

    assigning = Assigning()
    changed = module.visit(assigning)
    return changed if assigning.count == 1 else None


def lines_of(module: cst.Module, nodes: Sequence[cst.CSTNode]) -> dict[cst.CSTNode, int]:
    """The line each of these nodes begins at."""
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    return {node: positions[node].start.line for node in nodes if node in positions}


def spans_of(module: cst.Module, nodes: Sequence[cst.CSTNode]) -> dict[cst.CSTNode, tuple[int, int]]:
    """The first and the last line of each of these nodes."""
    positions = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    return {node: (positions[node].start.line, positions[node].end.line) for node in nodes if node in positions}


def statements_at(module: cst.Module, line: int | None) -> list[cst.SimpleStatementLine]:
    """The simple statements that a line of the source belongs to."""
    if line is None:
        return []
    found = [one for one in m.findall(module, m.SimpleStatementLine()) if isinstance(one, cst.SimpleStatementLine)]
    spans = spans_of(module, [part for one in found for part in one.body])
    return [one for one in found if any(spans[part][0] <= line <= spans[part][1] for part in one.body)]


def switched(module: cst.Module, line: int | None, old: str, new: str) -> cst.Module | None:
    """`net.eval()` on a line of a function that trains becomes `net.train()`, and the other way round in one that does
    not."""
    for one in statements_at(module, line):
        [part, *others] = one.body
        call = part.value if isinstance(part, cst.Expr) and not others else None
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or call.args:
            continue
        if call.func.attr.value == old and _trains_after(module, one) == (new == "train"):
            return replaced(module, call.func.attr, cst.Name(new))
    return None


def _trains_after(module: cst.Module, line: cst.SimpleStatementLine) -> bool:
    """Whether a gradient is asked for in the statements after this one, up to the next that puts a model into another
    mode; in the function, where nothing is called there."""
    blocks = [one for one in m.findall(module, m.IndentedBlock()) if isinstance(one, cst.IndentedBlock)]
    bodies: list[Sequence[cst.BaseStatement]] = [module.body, *(one.body for one in blocks)]
    body = next((one for one in bodies if any(each is line for each in one)), ())
    after: list[cst.Call] = []
    for one in body[next((place for place, each in enumerate(body) if each is line), 0) + 1 :]:
        if isinstance(one, cst.SimpleStatementLine) and {called(call) for call in calls_in(one)} & {"train", "eval"}:
            break
        after += calls_in(one)
    return "backward" in {called(call) for call in after or calls_in(function_around(module, line) or module)}


def replaced(module: cst.Module, old: cst.CSTNode, new: cst.CSTNode) -> cst.Module | None:
    """The module with this very node replaced."""
    changed = module.deep_replace(old, new)
    return changed if isinstance(changed, cst.Module) else None


def function_around(module: cst.Module, node: cst.CSTNode) -> cst.FunctionDef | None:
    """The innermost function that holds a node."""
    holding = [
        one
        for one in m.findall(module, m.FunctionDef())
        if isinstance(one, cst.FunctionDef) and any(inner is node for inner in parts_of(one))
    ]
    return min(holding, key=lambda one: sum(1 for _ in parts_of(one)), default=None)


def parts_of(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all that is below it."""
    yield node
    for child in node.children:
        yield from parts_of(child)


def removed(module: cst.Module, wanted: Callable[[cst.SimpleStatementLine], bool]) -> cst.Module | None:
    """The module without these statements; a block that is left empty goes as well, comments and blank lines stay."""
    removing = _Removing(wanted)
    changed = module.visit(removing)
    return changed if removing.count else None


class _Removing(cst.CSTTransformer):
    def __init__(self, wanted: Callable[[cst.SimpleStatementLine], bool]) -> None:
        super().__init__()
        self.wanted = wanted
        self.count = 0

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        kept, left = self._without(original_node.body, updated_node.body)
        return updated_node.with_changes(body=kept, footer=[*left, *updated_node.footer])

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        kept, left = self._without(original_node.body, updated_node.body)
        return updated_node.with_changes(body=kept, footer=[*left, *updated_node.footer])

    def _without(
        self, before: Sequence[cst.BaseStatement], after: Sequence[cst.BaseStatement]
    ) -> tuple[list[cst.BaseStatement], list[cst.EmptyLine]]:
        """The statements that stay, and what stood above one that was the last."""
        kept: list[cst.BaseStatement] = []
        above: list[cst.EmptyLine] = []
        for old, new in zip(before, after, strict=True):
            own = list(getattr(new, "leading_lines", ()))
            gone = isinstance(old, cst.SimpleStatementLine) and self.wanted(old)
            self.count += gone
            if gone or _emptied(old, new):
                above += own
                continue
            if above and own and not any(line.comment for line in above):
                above = []  # one gap is enough
            kept.append(new.with_changes(leading_lines=[*above, *own]) if above else new)
            above = []
        return kept, above


def _emptied(before: cst.BaseStatement, after: cst.BaseStatement) -> bool:
    if not isinstance(before, cst.If | cst.For | cst.With) or not isinstance(after, cst.If | cst.For | cst.With):
        return False
    return bool(before.body.body) and not after.body.body and getattr(after, "orelse", None) is None
