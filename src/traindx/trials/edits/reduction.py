"""`reduction="mean"` in the training loss; `.mean()` for the `.sum()` of one that is written out."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """Sums in functions that never call `backward` are divided there: only the place that trains is changed."""
    summed = [call for call in syntax.calls_in(module) if _sums(call)]
    if not summed:
        return _written_out(module, evidence.line("loss-sum-reduction"))
    made = [call for call in summed if syntax.called(call)[:1].isupper()]
    if len(summed) == 1 or len(made) == 1:
        chosen = summed[0] if len(summed) == 1 else made[0]
    else:
        positions = syntax.lines_of(module, summed)
        near = evidence.near("loss-sum-reduction", "loss-summed")
        found = [here for line in near if len(here := [call for call in summed if positions.get(call) == line]) == 1]
        if not found:
            return None
        [chosen] = found[0]
    return module.deep_replace(chosen, syntax.without_argument(chosen, "reduction"))  # type: ignore[return-value]


def _written_out(module: cst.Module, line: int | None) -> cst.Module | None:
    """The one sum over everything on the line that the recording names."""
    sums = [call for call in syntax.calls_in(module) if _sums_everything(call)]
    places = syntax.lines_of(module, sums)
    here = [call for call in sums if places.get(call) == line]
    if line is None or len(here) != 1 or not isinstance(here[0].func, cst.Attribute):
        return None
    mean = here[0].with_changes(func=here[0].func.with_changes(attr=cst.Name("mean")))
    return module.deep_replace(here[0], mean)  # type: ignore[return-value]


def _sums_everything(call: cst.Call) -> bool:
    """`x.sum()` and `torch.sum(x)`."""
    function = isinstance(call.func, cst.Attribute) and syntax.dotted(call.func.value) == "torch"
    return syntax.called(call) == "sum" and len(call.args) == (1 if function else 0)


def _sums(call: cst.Call) -> bool:
    given = syntax.argument(call, "reduction")
    return given is not None and isinstance(given.value, cst.SimpleString) and given.value.evaluated_value == "sum"
