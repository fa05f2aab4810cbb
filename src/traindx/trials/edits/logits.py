"""Remove the softmax or sigmoid before a loss that has its own; give nll_loss the log_softmax it lacks."""

from __future__ import annotations

import re

import libcst as cst
import libcst.matchers as m

from traindx.trials import outputs, syntax
from traindx.trials.editing import Evidence
from traindx.trials.losses import with_other_loss
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """By the loss that is used; else the one call on the line that the recording names."""
    return _by_loss(module) or _named(module, evidence)


def _named(module: cst.Module, evidence: Evidence) -> cst.Module | None:
    """The squashing that stands on the line, and does nothing but be given to the loss; else the loss is given what it
    was made of."""
    for cause, names in (
        ("softmax-before-cross-entropy", outputs.SOFTMAX),
        ("double-sigmoid", outputs.SIGMOID),
    ):
        line = evidence.line(cause)
        if line is None:
            continue
        changed = _score_for_loss(module, names, line) or outputs.without_at(module, names, line)
        if changed is not None:
            return changed
    return None


def _score_for_loss(module: cst.Module, names: frozenset[str], line: int) -> cst.Module | None:
    """`prob = sigmoid(z)` on the line, where `prob` is needed besides: `loss(prob, y)` becomes `loss(z, y)`."""
    for statement in syntax.statements_at(module, line):
        made = statement.body[0]
        if (
            len(statement.body) > 1
            or not isinstance(made, cst.Assign)
            or not isinstance(made.targets[0].target, cst.Name)
        ):
            continue
        name, score = made.targets[0].target.value, outputs.bare(made.value, names)
        function = syntax.function_around(module, statement) or module
        read = [node for node in m.findall(function, m.Arg(m.Name(name))) if isinstance(node, cst.Arg)]
        given = [
            call for call in syntax.calls_in(function)
            if _WITH_SCORES.search(syntax.dotted(call.func).lower()) and call.args and call.args[0] in read
        ]  # fmt: skip
        used = [one for one in m.findall(function, m.Name(name)) if one is not made.targets[0].target]
        if score is None or len(given) != 1 or len(used) < 2 or not isinstance(score, cst.Name):
            continue
        return syntax.replaced(module, given[0].args[0].value, score)
    return None


def _by_loss(module: cst.Module) -> cst.Module | None:
    """The loss decides: cross-entropy wants scores, the loss of log-probabilities wants those."""
    used = {syntax.called(call) for call in syntax.calls_in(module)}
    if used & {"nll_loss", "NLLLoss"}:
        if used & {"log_softmax", "LogSoftmax"}:
            return None
        return with_other_loss(module, _FOR_SCORES)
    if used & {"CrossEntropyLoss", "cross_entropy"}:
        return outputs.without_last(module, outputs.SOFTMAX)
    if used & {"BCEWithLogitsLoss", "binary_cross_entropy_with_logits"}:
        bare = outputs.without_last(module, outputs.SIGMOID)
        # answers are cut at one half: the outputs must stay probabilities, unless they are squashed for that besides
        if _HALVED.search(module.code) and (bare is None or not _squashed_besides(bare)):
            return with_other_loss(module, _FOR_PROBABILITIES)
        return bare
    return None


def _squashed_besides(module: cst.Module) -> bool:
    """A sigmoid outside of all classes: of what the model gave."""
    inside = {
        id(call) for one in m.findall(module, m.ClassDef()) for call in syntax.calls_in(one)
    }  # fmt: skip
    return any(
        outputs.bare(call, outputs.SIGMOID) is not None and id(call) not in inside for call in syntax.calls_in(module)
    )


# Cross-entropy is nll_loss of the log_softmax: the loss changes its name, the model stays.
_FOR_SCORES = {"nll_loss": "cross_entropy", "NLLLoss": "CrossEntropyLoss"}
_FOR_PROBABILITIES = {"BCEWithLogitsLoss": "BCELoss", "binary_cross_entropy_with_logits": "binary_cross_entropy"}
_HALVED = re.compile(r"(>=?\s*0?\.5\b)|\bround\(")


# losses that want scores, as they are called
_WITH_SCORES = re.compile(r"cross_?entropy|with_?logits|criterion|loss")
