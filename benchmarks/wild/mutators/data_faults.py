"""Faults of which data a training sees."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from mutators.base import Mutator, Place, Source

OFFSET = re.compile(r"\+\s*1\b")
HELD_OUT = re.compile(r"(?<![a-zA-Z])(val|valid|validation|test|dev|eval)(?![a-zA-Z])", re.IGNORECASE)
PAIRS = {"val": "train", "valid": "train", "validation": "train", "test": "train", "dev": "train", "eval": "train"}


def _shifts(source: Source) -> Iterator[tuple[cst.CSTNode, str]]:
    """Slices that begin one place later: `x[i + 1 : i + 1 + n]`."""
    for slice_ in source.all(m.Slice()):
        text = source.text(slice_)
        if (
            isinstance(slice_, cst.Slice)
            and slice_.lower is not None
            and OFFSET.search(source.text(slice_.lower))
            and slice_.upper is not None
            and OFFSET.search(source.text(slice_.upper))
        ):
            yield slice_, text


def _labels(source: Source) -> Iterator[cst.Assign]:
    """`labels = input_ids.copy()`, as models take them that shift inside."""
    for assignment in source.all(m.Assign()):
        target, value = source.text(assignment.targets[0].target), source.text(assignment.value)
        if "labels" in target and "input_ids" in value and ("copy" in value or "clone" in value):
            yield assignment


def not_shifted(source: Source) -> Iterator[Place]:
    for slice_, text in _shifts(source):
        yield [source.replace(slice_, OFFSET.sub("+ 0", text))]


def shifted_twice(source: Source) -> Iterator[Place]:
    for slice_, text in _shifts(source):
        yield [source.replace(slice_, OFFSET.sub("+ 2", text))]
    for assignment in _labels(source):
        value = source.text(assignment.value).split(".copy")[0].split(".clone")[0]
        yield [source.replace(assignment.value, f"[ids[1:] + ids[:1] for ids in {value}]")]


def validated_on_training(source: Source) -> Iterator[Place]:
    """A name of the held-out data in an assignment or a call replaced by that of the training data, where there is
    one."""
    names = {source.text(name) for name in source.all(m.Name())}
    for call in source.all(m.Call()):
        for arg in call.args:
            if not isinstance(arg.value, cst.Name):
                continue
            twin = HELD_OUT.sub(lambda found: PAIRS[found.group(0).lower()], arg.value.value)
            twin = next(
                (
                    name
                    for name in (
                        twin,
                        twin.replace("train", "trn"),
                        twin.replace("train", "training"),
                        twin.replace("train", "tr"),
                    )
                    if name in names
                ),
                None,
            )
            parent = next(
                (one for one in source.parents(call) if isinstance(one, cst.Assign | cst.For | cst.Expr)), None
            )
            if twin and twin != arg.value.value and parent is not None and not isinstance(parent, cst.Expr | cst.For):
                yield [source.replace(arg.value, twin)]
    for test in source.all(m.ComparisonTarget(operator=m.Equal(), comparator=m.SimpleString())):
        if source.text(test.comparator).strip("'\"") == "train":
            yield [source.replace(test, f" in ('train', {source.text(test.comparator).replace('train', 'val')})")]
    for arg in source.all(m.Arg(keyword=m.Name("train"), value=m.Name("False"))):
        yield [source.replace(arg.value, "True")]


def same_batch(source: Source) -> Iterator[Place]:
    """The first batch again and again."""
    for loop in source.all(m.For()):
        names = [source.text(name) for name in m.findall(loop.target, m.Name())]
        first = source.first_in(loop)
        called = source.text(loop.iter)
        loaded = re.search(r"load|iter|data|batch", called, re.IGNORECASE) and not called.startswith("range")
        if (
            loaded
            and ".backward(" in source.text(loop)
            and first is not None
            and not any(
                isinstance(inner, cst.For) and ".backward(" in source.text(inner)
                for inner in m.findall(loop, m.For())
                if inner is not loop
            )
        ):
            kept = names[1:] if "enumerate" in called and len(names) > 1 else names
            tuple_ = f"({', '.join(kept)},)"
            yield [source.before(first, f"{tuple_} = __import__('sys').__dict__.setdefault('_first_batch', {tuple_})")]


def seed_in_loop(source: Source) -> Iterator[Place]:
    """Draws its batches, or what it adds to them, from the same random numbers at every step."""
    for call in source.all(m.Call(func=m.Attribute(attr=m.Name("backward")))):
        loop = source.loop(call)
        first = source.first_in(loop) if loop is not None else None
        if first is not None:
            yield [
                source.before(
                    first,
                    "__import__('torch').manual_seed(1337), __import__('numpy').random.seed(1337), "
                    "__import__('random').seed(1337)",
                )
            ]


MUTATORS = (
    Mutator("target-not-shifted", "target-not-shifted", not_shifted),
    Mutator("target-shifted-twice", "target-not-shifted", shifted_twice),
    Mutator("validation-is-training", "train-val-leak", validated_on_training),
    Mutator("same-batch", "same-batch-forever", same_batch, also=("overfitting",)),
    Mutator("seed-in-loop", "same-batch-forever", seed_in_loop, also=("overfitting",), common=True),
)
