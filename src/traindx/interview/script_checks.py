"""Wiring mistakes that stand plainly in a script. Each check yields (symptom, present?, sentence, line); it says
nothing where the script is written in a way it does not understand."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import pairwise

from traindx.interview.script_facts import Call, Facts

Finding = tuple[str, bool, str, int | None]
Check = Callable[[Facts], Iterator[Finding]]

_LOGIT_LOSSES = ("CrossEntropyLoss", "cross_entropy")
_BCE_LOGITS = ("BCEWithLogitsLoss", "binary_cross_entropy_with_logits")
_ACTIVATIONS = frozenset(
    "relu leakyrelu prelu elu gelu silu selu tanh sigmoid softplus mish hardswish celu swish leaky_relu logsigmoid "
    "hardtanh relu6 glu"
    " softmax logsoftmax".split()
)
_LINEAR = frozenset({"linear", "conv1d", "conv2d", "conv3d", "dense", "lazylinear"})
_NORMALISED = (
    "Normalize",
    "StandardScaler",
    "MinMaxScaler",
    "RobustScaler",
    "normalize",
    "ToTensor",
    "BatchNorm1d",
    "BatchNorm2d",
)
_EPOCH_SCHEDULES = ("StepLR", "MultiStepLR", "ExponentialLR", "CosineAnnealingLR")


def _clearing(facts: Facts) -> Iterator[Finding]:
    backward = facts.named("backward")
    if not backward or _driven(facts):
        return
    cleared = facts.named("zero_grad")
    if not cleared and "grad = None" not in facts.text and "grad.zero_" not in facts.text:
        yield "gradients-not-cleared", True, "backward() is called and zero_grad() nowhere", backward[0].line
        return
    inside = [call for call in cleared if call.loops and any(call.loops[-1] in b.loops for b in backward)]
    deepest = max((b for b in backward), key=lambda b: len(b.loops))
    if inside and any(call.loops[-1] is deepest.loops[-1] for call in inside if deepest.loops):
        yield "gradients-not-cleared", False, "zero_grad() stands in the loop of backward()", inside[0].line
    elif (
        deepest.loops
        and cleared
        and all(len(call.loops) < len(deepest.loops) for call in cleared)
        and _same_function(cleared, deepest)
    ):
        yield "gradients-not-cleared", True, "zero_grad() stands outside the loop of backward()", cleared[0].line


def _same_function(calls: list[Call], other: Call) -> bool:
    return all(call.function == other.function for call in calls)


def _rebuilt(facts: Facts) -> Iterator[Finding]:
    for made in facts.optimizers():
        inside = [b for b in facts.named("backward") if made.loops and made.loops[-1] in b.loops]
        if inside:
            yield "optimizer-rebuilt", True, f"{made.name} is created inside the training loop", made.line
        elif not made.loops and facts.named("backward"):
            yield "optimizer-rebuilt", False, f"{made.name} is created once", made.line


def _modes(facts: Facts) -> Iterator[Finding]:
    if not facts.named("backward") or _driven(facts):
        return
    to_eval = [call for call in facts.named("eval") if call.owner and not call.node.args]
    to_train = [call for call in facts.named("train") if call.owner]
    off = [call for call in to_train if call.node.args and facts.value(call.node.args[0]) is False]
    to_eval, to_train = to_eval + off, [call for call in to_train if call not in off]
    changing = facts.named("Dropout", "Dropout2d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "dropout")
    if to_eval and not to_train and changing:
        yield "trained-in-eval-mode", True, "eval() is called and train() nowhere", to_eval[0].line
    elif to_train:
        yield "trained-in-eval-mode", False, "train() is called", to_train[0].line
    validates = facts.named("no_grad", "inference_mode")
    if not to_eval and validates and changing:
        yield (
            "evaluated-in-train-mode",
            True,
            f"validation runs without eval(), with {changing[0].name} in the model",
            validates[0].line,
        )
    elif to_eval and to_train:
        yield "evaluated-in-train-mode", False, "eval() is called before validation", to_eval[0].line


def _output(facts: Facts) -> Iterator[Finding]:
    ending = _last_activation(facts)
    wants_logits, wants_binary, wants_log = (
        facts.named(*_LOGIT_LOSSES),
        facts.named(*_BCE_LOGITS),
        facts.named("NLLLoss", "nll_loss"),
    )
    if wants_logits and ending is not None:
        softmax = ending[0] in ("softmax", "log_softmax", "logsoftmax")
        if ending[0] == "softmax":
            yield "probabilities-as-logits", True, "softmax before a cross entropy that applies it itself", ending[1]
        elif not softmax:
            yield "probabilities-as-logits", False, "no softmax before the cross entropy", ending[1]
    if wants_binary and ending is not None:
        yield (
            "sigmoid-as-logits",
            ending[0] == "sigmoid",
            "sigmoid before a loss that applies it itself" if ending[0] == "sigmoid" else "no sigmoid before the loss",
            ending[1],
        )
    if wants_log and not facts.named("log_softmax", "LogSoftmax"):
        yield "scores-as-log-probabilities", True, "NLLLoss without log_softmax", wants_log[0].line
    if facts.named("MSELoss", "mse_loss") and ending is not None:
        yield (
            "relu-cuts-output",
            ending[0] == "relu",
            "ReLU after the last layer" if ending[0] == "relu" else "no ReLU after the last layer",
            ending[1],
        )


def _losses(facts: Facts) -> Iterator[Finding]:
    for call in facts.calls:
        scores = "loss" in call.name.lower() or call.name in ("cross_entropy", "binary_cross_entropy")
        # a sum is common, and right, where an evaluation adds up its batches
        trains = call.name[:1].isupper() or call.function in {backward.function for backward in facts.named("backward")}
        if scores and trains and facts.argument(call, "reduction") == "sum":
            yield "loss-summed", True, f'{call.name} with reduction="sum"', call.line
    for call in facts.named("backward"):
        if (
            isinstance(call.node.func, ast.Attribute)
            and isinstance(call.node.func.value, ast.UnaryOp)
            and isinstance(call.node.func.value.op, ast.USub)
        ):
            yield "loss-maximised", True, "backward() of the negated loss", call.line
        if ".detach()" in call.owner or ".data" in call.owner:
            yield "no-gradient", True, "backward() of something detached", call.line
    for call in facts.named(
        *_LOGIT_LOSSES, *_BCE_LOGITS, "MSELoss", "mse_loss", "criterion", "loss_fn", "criteria", "loss_func"
    ):
        if call.node.args and any(
            mark in ast.unparse(call.node.args[0]) for mark in (".detach()", ".data)", ".item()")
        ):
            yield "no-gradient", True, f"the output is detached before {call.name}", call.line


def _data(facts: Facts) -> Iterator[Finding]:
    for call in facts.named("DataLoader"):
        if call.evaluates:
            continue
        sampler = any(k.arg in ("sampler", "batch_sampler") for k in call.node.keywords)
        shuffles = facts.argument(call, "shuffle", place=2)
        named = any(k.arg == "shuffle" for k in call.node.keywords)
        if sampler or shuffles is True:
            yield "data-in-order", False, "the training data is shuffled", call.line
        elif shuffles is False or (not named and len(call.node.args) < 3 and "train" in call.words):
            yield "data-in-order", True, "the training DataLoader does not shuffle", call.line
    scaled = facts.named(*_NORMALISED)
    if scaled:
        yield "inputs-unscaled", False, f"{scaled[0].name} scales the inputs", scaled[0].line
    elif "/ 255" in facts.text:
        yield "inputs-unscaled", False, "the inputs are divided by 255", None


def _schedule(facts: Facts) -> Iterator[Finding]:
    backward = [call for call in facts.named("backward") if call.loops]
    counted = [
        call
        for call in facts.named(*_EPOCH_SCHEDULES)
        if any("epoch" in ast.unparse(k.value).lower() for k in call.node.keywords)
        or any("epoch" in ast.unparse(a).lower() for a in call.node.args[1:])
    ]
    steps = [call for call in facts.named("step") if "sched" in call.owner.lower()]
    if not backward or not steps:
        return
    inner = max(backward, key=lambda call: len(call.loops))
    if len(inner.loops) < 2:
        return
    per_batch = [call for call in steps if call.loops and call.loops[-1] is inner.loops[-1]]
    if per_batch and counted:
        yield (
            "schedule-per-batch",
            True,
            f"{counted[0].name} counts epochs and is stepped every batch",
            per_batch[0].line,
        )
    elif not per_batch:
        yield "schedule-per-batch", False, "the scheduler is stepped once per epoch", steps[0].line


def _weights(facts: Facts) -> Iterator[Finding]:
    for call in facts.named("constant_", "zeros_", "ones_"):
        if call.node.args and "weight" in ast.unparse(call.node.args[0]):
            yield "equal-initial-weights", True, f"{call.name} gives all weights one value", call.line
    for call in facts.named("Sequential"):
        kinds = [_callee(one) for one in call.node.args]
        for first, second in pairwise(kinds):
            if first in _LINEAR and second in _LINEAR:
                yield "no-nonlinearity", True, "two layers follow each other without an activation", call.line
                break
        else:
            if len([kind for kind in kinds if kind in _LINEAR]) > 1:
                yield "no-nonlinearity", False, "activations stand between the layers", call.line


def _last_activation(facts: Facts) -> tuple[str, int] | None:
    """What the model's output went through last: the outermost call of forward's return, or the end of a Sequential.
    Its name, '' for none."""
    for node in ast.walk(facts.tree):
        if isinstance(node, ast.FunctionDef) and node.name in ("forward", "call", "__call__"):
            returns = [one for one in ast.walk(node) if isinstance(one, ast.Return) and one.value is not None]
            if returns:
                return _applied(returns[-1].value, node, facts), returns[-1].lineno
    sequences = facts.named("Sequential")
    if sequences and sequences[-1].node.args:
        last = sequences[-1].node.args[-1]
        kind = _callee(last)
        return (kind if kind in _ACTIVATIONS else ""), last.lineno
    return None


def _applied(value: ast.expr | None, forward: ast.FunctionDef, facts: Facts) -> str:
    if isinstance(value, ast.Name):
        assigned = [
            one.value
            for one in ast.walk(forward)
            if isinstance(one, ast.Assign) and any(isinstance(t, ast.Name) and t.id == value.id for t in one.targets)
        ]
        value = assigned[-1] if assigned and not isinstance(assigned[-1], ast.Name) else None
    name = _callee(value)
    if name in _ACTIVATIONS or name == "log_softmax":
        return name
    # self.act(x), where self.act = nn.Softmax(...) or a Sequential that ends in one
    made = [
        one.value
        for one in ast.walk(facts.tree)
        if isinstance(one, ast.Assign)
        and any(isinstance(t, ast.Attribute) and t.attr.lower() == name for t in one.targets)
    ]
    if made and isinstance(made[-1], ast.Call):
        kind = _callee(made[-1])
        if kind == "sequential" and made[-1].args:
            kind = _callee(made[-1].args[-1])
        return kind if kind in _ACTIVATIONS else ""
    return ""


def _callee(node: ast.expr | None) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return (
        node.func.attr
        if isinstance(node.func, ast.Attribute)
        else node.func.id
        if isinstance(node.func, ast.Name)
        else ""
    ).lower()


def _driven(facts: Facts) -> bool:
    """A framework calls backward and zero_grad."""
    return bool(
        facts.imports
        & {"lightning", "pytorch_lightning", "transformers", "keras", "tensorflow", "deepspeed", "ignite", "fastai"}
    )


CHECKS: tuple[Check, ...] = (_clearing, _rebuilt, _modes, _output, _losses, _data, _schedule, _weights)
