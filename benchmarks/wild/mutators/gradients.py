"""Faults around backward, zero_grad and step."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from mutators.base import Mutator, Place, Source

ZERO = m.Expr(value=m.Call(func=m.Attribute(attr=m.Name("zero_grad"))))
BACKWARD = m.Call(func=m.Attribute(attr=m.Name("backward") | m.Name("manual_backward")))


def _zeros(source: Source) -> list[cst.CSTNode]:
    return [statement for call in source.all(ZERO) if (statement := source.statement(call)) is not None]


def remove_zero_grad(source: Source) -> Iterator[Place]:
    """All of one function at once: two calls do what one does."""
    by_function: dict[int, list[cst.CSTNode]] = {}
    for statement in _zeros(source):
        by_function.setdefault(id(source.function(statement)), []).append(statement)
    for statements in by_function.values():
        yield [source.remove(statement) for statement in statements]


def clear_before_step(source: Source) -> Iterator[Place]:
    """zero_grad between backward and step."""
    for call in source.all(BACKWARD):
        statement = source.statement(call)
        zeros = [zero for zero in _zeros(source) if source.function(zero) is source.function(call)]
        if statement is not None and zeros:
            yield [source.after(statement, source.text(zeros[0]))]


def _loss_of(source: Source, call: cst.Call) -> cst.CSTNode | None:
    """What is differentiated: `loss.backward()`, or `accelerator.backward(loss)`."""
    if call.args and call.args[0].keyword is None:
        return call.args[0].value
    return call.func.value if isinstance(call.func, cst.Attribute) else None


def flip_sign(source: Source) -> Iterator[Place]:
    for call in source.all(BACKWARD):
        loss = _loss_of(source, call)
        if loss is not None:
            yield [source.replace(loss, f"(-({source.text(loss)}))")]
    for step in source.all(m.FunctionDef(name=m.Name("training_step"))):
        for back in m.findall(step, m.Return(value=m.Name())):
            yield [source.replace(back.value, f"-{source.text(back.value)}")]


def times_1000(source: Source) -> Iterator[Place]:
    """A factor of the loss that is a thousand times what it should be."""
    for call in source.all(BACKWARD):
        loss = _loss_of(source, call)
        if loss is not None:
            yield [source.replace(loss, f"(1000.0 * ({source.text(loss)}))")]


def unscaled_accumulation(source: Source) -> Iterator[Place]:
    """`loss / gradient_accumulation_steps` without its division."""
    for division in source.all(m.BinaryOperation(operator=m.Divide())):
        text = source.text(division.right).lower()
        if "accum" in text and "loss" in source.text(division.left).lower():
            yield [source.replace(division, source.text(division.left))]


def without_clipping(source: Source) -> Iterator[Place]:
    """No clipping, at a rate ten times as high."""
    rates = [rate for call in source.optimizers() if (rate := source.keyword(call, "lr")) is not None]
    for call in source.calls("clip_grad_norm_", "clip_grad_value_"):
        statement = source.statement(call)
        if statement is not None and source.loop(call) is not None:
            yield [
                source.remove(statement),
                *(source.replace(rate.value, f"10 * ({source.text(rate.value)})") for rate in rates[:1]),
            ]


def clip_tightly(source: Source) -> Iterator[Place]:
    for call in source.calls("clip_grad_norm_", "clip_grad_value_"):
        limit = source.keyword(call, "max_norm", "clip_value") or (call.args[1] if len(call.args) > 1 else None)
        if limit is not None:
            yield [source.replace(limit.value, f"1e-4 * ({source.text(limit.value)})")]


def rebuild_optimizer(source: Source) -> Iterator[Place]:
    """Built anew at every turn of the loop that it is used in."""
    for call in source.optimizers():
        made = source.statement(call)
        if made is None or not isinstance(made, cst.SimpleStatementLine) or not isinstance(made.body[0], cst.Assign):
            continue
        name = source.text(made.body[0].targets[0].target)
        for step in source.all(m.Call(func=m.Attribute(attr=m.Name("step")))):
            loop = source.loop(step)
            if (
                source.text(step.func.value) == name
                and loop is not None
                and source.function(step) is source.function(made)
            ):
                first = source.first_in(loop)
                if first is not None:
                    yield [source.before(first, " ".join(source.text(made).split()))]
                break


MUTATORS = (
    Mutator("remove-zero-grad", "missing-zero-grad", remove_zero_grad, common=True),
    Mutator("zero-grad-before-step", "gradients-cleared-before-step", clear_before_step, common=True),
    Mutator("flip-loss-sign", "loss-sign-flipped", flip_sign, common=True),
    Mutator(
        "loss-x1000",
        "lr-too-high",
        times_1000,
        also=("loss-sum-reduction", "exploding-gradients", "grad-clip-missing"),
        common=True,
    ),
    Mutator("accumulation-unscaled", "accumulation-not-scaled", unscaled_accumulation, also=("lr-too-high",)),
    Mutator("no-clipping-high-lr", "grad-clip-missing", without_clipping, also=("lr-too-high", "exploding-gradients")),
    Mutator("clip-too-tight", "grad-clip-too-tight", clip_tightly),
    Mutator("optimizer-rebuilt", "optimizer-recreated", rebuild_optimizer),
)
