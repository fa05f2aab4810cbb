"""Remove the softmax or sigmoid before a loss that has its own; give nll_loss the log_softmax it lacks."""

from __future__ import annotations

import re
from functools import partial

import libcst as cst

from traindx.trials import outputs, syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """By the loss that is used; else the one call on the line that the recording names."""
    return _by_loss(module) or _named(module, evidence)


def _named(module: cst.Module, evidence: Evidence) -> cst.Module | None:
    for cause, names in (("softmax-before-cross-entropy", ("softmax",)), ("double-sigmoid", ("sigmoid",))):
        found = [call for call in syntax.calls_in(module) if syntax.called(call) in names]
        places = syntax.lines_of(module, found)
        here = [call for call in found if places.get(call) == evidence.line(cause)]
        if len(here) == 1 and isinstance(here[0].func, cst.Attribute):
            of_a_module = syntax.dotted(here[0].func.value) in ("torch", "F", "nn.functional", "torch.nn.functional")
            kept = here[0].args[0].value if of_a_module and here[0].args else here[0].func.value
            changed = module.deep_replace(here[0], kept)
            return changed if isinstance(changed, cst.Module) else None
    return None


def _by_loss(module: cst.Module) -> cst.Module | None:
    """The loss decides: cross-entropy wants scores, the loss of log-probabilities wants those."""
    used = {syntax.called(call) for call in syntax.calls_in(module)}
    if used & {"nll_loss", "NLLLoss"}:
        if used & {"log_softmax", "LogSoftmax"}:
            return None
        return syntax.rewrite_calls(module, partial(_renamed, _FOR_SCORES))
    if used & {"CrossEntropyLoss", "cross_entropy"}:
        return outputs.without_last(module, outputs.SOFTMAX)
    if used & {"BCEWithLogitsLoss", "binary_cross_entropy_with_logits"}:
        if _HALVED.search(module.code):  # answers are cut at one half: the outputs must stay probabilities
            return syntax.rewrite_calls(module, partial(_renamed, _FOR_PROBABILITIES))
        return outputs.without_last(module, outputs.SIGMOID)
    return None


# Cross-entropy is nll_loss of the log_softmax: the loss changes its name, the model stays.
_FOR_SCORES = {"nll_loss": "cross_entropy", "NLLLoss": "CrossEntropyLoss"}
_FOR_PROBABILITIES = {"BCEWithLogitsLoss": "BCELoss", "binary_cross_entropy_with_logits": "binary_cross_entropy"}
_HALVED = re.compile(r"(>=?\s*0?\.5\b)|\bround\(")


def _renamed(names: dict[str, str], call: cst.Call) -> cst.Call | None:
    name = names.get(syntax.called(call))
    if name is None or not isinstance(call.func, cst.Attribute):
        return None  # a bare name may be imported by itself
    return call.with_changes(func=call.func.with_changes(attr=cst.Name(name)))
