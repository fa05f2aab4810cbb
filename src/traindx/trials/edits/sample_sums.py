"""Sum the reconstruction over what a sample has, where the divergence is summed: a mean makes that far too heavy."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_RECONSTRUCTIONS = frozenset(
    {"binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss"}
)


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """`F.mse_loss(output, x)` becomes `F.mse_loss(output, x, reduction="sum") / len(x)` beside a divergence that is
    summed for each sample, and loses the division where that is summed over the whole batch."""
    sums = _divergence(module)
    found = [call for call in syntax.calls_in(module) if syntax.called(call) in _RECONSTRUCTIONS and _averages(call)]
    here = [call for call in found if syntax.lines_of(module, found).get(call) == evidence.line("posterior-collapse")]
    chosen = here if len(here) == 1 else found
    if not sums or len(chosen) != 1:
        return None
    summed: cst.BaseExpression = syntax.with_argument(chosen[0], "reduction", cst.SimpleString('"sum"'))
    if any(map(_over_some, sums)) or _divides(module, sums):
        target = module.code_for_node(chosen[0].args[1].value)
        summed = cst.BinaryOperation(summed, cst.Divide(), cst.parse_expression(f"len({target})"))
    return syntax.replaced(module, chosen[0], summed)


def _averages(call: cst.Call) -> bool:
    given = syntax.argument(call, "reduction")
    mean = given is None or m.matches(given.value, m.SimpleString('"mean"') | m.SimpleString("'mean'"))
    return mean and len(call.args) > 1 and call.args[0].keyword is None and call.args[1].keyword is None


def _divergence(module: cst.Module) -> list[cst.Call]:
    """The sums in a statement that has an exponential, a square and one: `1 + v - mu ** 2 - v.exp()`."""
    found: list[cst.Call] = []
    for line in m.findall(module, m.SimpleStatementLine()):
        calls = syntax.calls_in(line)
        squares = [call for call in calls if syntax.called(call) in ("pow", "square")] or m.findall(
            line, m.BinaryOperation(operator=m.Power())
        )
        exponents = [call for call in calls if syntax.called(call) == "exp"]
        if squares and exponents and m.findall(line, m.Integer("1")):
            found += [call for call in calls if syntax.called(call) == "sum"]
    return found


def _over_some(call: cst.Call) -> bool:
    """Whether a sum keeps some dimensions: `x.sum(1)`, `torch.sum(x, dim=1)`."""
    function = isinstance(call.func, cst.Attribute) and syntax.dotted(call.func.value) == "torch"
    return len(call.args) > (1 if function else 0)


def _divides(module: cst.Module, sums: list[cst.Call]) -> bool:
    """Whether the statement of a sum divides it: by the size of the batch."""
    for line in m.findall(module, m.SimpleStatementLine()):
        if any(part is call for part in syntax.parts_of(line) for call in sums):
            return bool(m.findall(line, m.BinaryOperation(operator=m.Divide())))
    return False
