"""Numbers of the optimiser and the schedule that are off."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from mutators.base import Find, Mutator, Place, Source, on_flag

RATE = r"(learning[-_]?rate|lr|base[-_]?lr|max[-_]?lr|init[-_]?lr)"


def _keyword_times(factor: str, *names: str) -> Find:
    """A keyword of the optimiser, multiplied: of the first one, and of all of them, since a GAN has two."""

    def find(source: Source) -> Iterator[Place]:
        args = [arg for call in source.optimizers() if (arg := source.keyword(call, *names)) is not None]
        if args:
            yield [source.replace(arg.value, f"{factor} * ({source.text(arg.value)})") for arg in args]
        for call in source.calls("compile"):  # Keras
            rate = next(iter(m.findall(call, m.Arg(keyword=m.Name("learning_rate")))), None)
            if rate is not None and "learning_rate" in names:
                yield [source.replace(rate.value, f"{factor} * ({source.text(rate.value)})")]

    return find


def _set(name: str, value: str) -> Find:
    """A keyword of the optimiser set to a value, added where it is missing."""

    def find(source: Source) -> Iterator[Place]:
        for call in source.optimizers():
            if name == "momentum" and not source.text(call.func).endswith("SGD"):
                continue
            arg = source.keyword(call, name)
            if arg is not None:
                yield [source.replace(arg.value, value)]
            elif call.args:
                last = call.args[-1].value
                yield [source.replace(last, f"{source.text(last)}, {name}={value}")]

    return find


def high_beta(source: Source) -> Iterator[Place]:
    """Of Adam: a first moment that remembers a thousand updates."""
    for call in source.optimizers():
        if "Adam" in source.text(call.func):
            arg = source.keyword(call, "betas")
            if arg is not None:
                yield [source.replace(arg.value, "(0.999, 0.999)")]


def schedule_per_batch(source: Source) -> Iterator[Place]:
    """The step of a schedule that is made once an epoch, made after every update."""
    for step in source.all(m.Expr(value=m.Call(func=m.Attribute(attr=m.Name("step"))))):
        name = source.text(step.value.func.value).lower()
        statement, loop = source.statement(step), source.loop(step)
        if not ("sched" in name or name.endswith(("lr", "lrs"))) or statement is None or loop is None:
            continue
        inner = [one for one in m.findall(loop, m.For()) if one is not loop]
        for update in source.all(m.Expr(value=m.Call(func=m.Attribute(attr=m.Name("step"))))):
            if "optim" in source.text(update).lower() and source.loop(update) in inner:
                line = source.statement(update)
                if line is not None:
                    yield [source.after(line, source.text(step)), source.remove(statement)]
                break


def fast_decay(source: Source) -> Iterator[Place]:
    """A schedule that is over after a tenth of its length."""
    for call in source.calls("StepLR", "CosineAnnealingLR"):
        arg = source.keyword(call, "step_size", "T_max") or (
            call.args[1] if len(call.args) > 1 and call.args[1].keyword is None else None
        )
        gamma = source.keyword(call, "gamma")
        if arg is not None:
            yield [
                source.replace(arg.value, f"max(1, int({source.text(arg.value)}) // 10)"),
                *(
                    [source.replace(gamma.value, "0.1")]
                    if gamma is not None and isinstance(gamma.value, cst.Float)
                    else []
                ),
            ]


MUTATORS = (
    Mutator("lr-x100", "lr-too-high", _keyword_times("100", "lr", "learning_rate"),
            rewrite=on_flag(RATE, lambda rate: rate * 100), also=("warmup-missing",), common=True),
    Mutator("lr-x0.01", "lr-too-low", _keyword_times("0.01", "lr", "learning_rate"),
            rewrite=on_flag(RATE, lambda rate: rate / 100), common=True),
    Mutator("weight-decay-high", "weight-decay-too-high", _set("weight_decay", "10.0"), common=True),
    Mutator("momentum-high", "momentum-too-high", _set("momentum", "0.999")),
    Mutator("beta-high", "momentum-too-high", high_beta),
    Mutator("schedule-per-batch", "lr-decayed-too-early", schedule_per_batch),
    Mutator("decay-early", "lr-decayed-too-early", fast_decay),
)  # fmt: skip
