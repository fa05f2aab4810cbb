"""Faults between the model's outputs, the targets and the loss."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from mutators.base import EVALUATION, Mutator, Place, Source

CROSS = {"classes": ("CrossEntropyLoss",), "functions": ("cross_entropy",)}
BINARY = {"classes": ("BCEWithLogitsLoss",), "functions": ("binary_cross_entropy_with_logits",)}
SQUARED = {"classes": ("MSELoss", "L1Loss", "SmoothL1Loss"), "functions": ("mse_loss", "l1_loss", "smooth_l1_loss")}


def _calls(source: Source, about: dict[str, tuple[str, ...]]) -> list[cst.Call]:
    found = source.losses(*about["classes"], functions=about["functions"])
    return [call for call in found if not EVALUATION.search(source.function_name(call))] or found


def softmax_before(source: Source) -> Iterator[Place]:
    for call in _calls(source, CROSS):
        logits = call.args[0].value
        yield [source.replace(logits, f"({source.text(logits)}).softmax(1)")]


def sigmoid_before(source: Source) -> Iterator[Place]:
    for call in _calls(source, BINARY):
        logits = call.args[0].value
        yield [source.replace(logits, f"({source.text(logits)}).sigmoid()")]


def softmax_for_log_softmax(source: Source) -> Iterator[Place]:
    for call in source.all(m.Call(func=m.Name("log_softmax") | m.Attribute(attr=m.Name("log_softmax")))):
        yield [source.replace(call.func, source.text(call.func).replace("log_softmax", "softmax"))]
    for call in source.calls("LogSoftmax"):
        yield [source.replace(call.func, source.text(call.func).replace("LogSoftmax", "Softmax"))]


def wrong_dim(source: Source) -> Iterator[Place]:
    for call in source.calls("softmax", "log_softmax", "Softmax", "LogSoftmax"):
        dim = source.keyword(call, "dim") or next(
            (arg for arg in call.args if arg.keyword is None and source.text(arg.value) in ("1", "-1", "2")), None
        )
        if dim is not None and source.text(dim.value) != "0":
            yield [source.replace(dim.value, "0")]


def permuted(source: Source) -> Iterator[Place]:
    """Labels of other samples of the same batch."""
    for about in (
        CROSS,
        BINARY,
        SQUARED,
        {"classes": ("NLLLoss", "BCELoss"), "functions": ("nll_loss", "binary_cross_entropy")},
    ):
        for call in _calls(source, about):
            target = call.args[1].value
            text = source.text(target)
            yield [source.replace(target, f"({text})[__import__('torch').randperm(len({text}))]")]


def summed(source: Source) -> Iterator[Place]:
    for call in [
        *source.calls("CrossEntropyLoss", "MSELoss", "BCEWithLogitsLoss", "NLLLoss", "BCELoss", "L1Loss"),
        *source.losses(functions=("cross_entropy", "nll_loss", "mse_loss", "binary_cross_entropy_with_logits")),
    ]:
        if source.keyword(call, "reduction") is None and not EVALUATION.search(source.function_name(call)):
            text = source.text(call)
            yield [source.replace(call, f"{text[:-1].rstrip().rstrip(',')}{', ' if call.args else ''}reduction='sum')")]


def broadcast(source: Source) -> Iterator[Place]:
    """A row against a column: every prediction is compared with every target."""
    for call in _calls(source, SQUARED):
        first, second = call.args[0].value, call.args[1].value
        yield [
            source.replace(first, f"({source.text(first)}).reshape(-1)[:512]"),
            source.replace(second, f"({source.text(second)}).reshape(-1, 1)[:512]"),
        ]


def without_ignored(source: Source) -> Iterator[Place]:
    """Padding counts in the loss."""
    for call in source.calls("CrossEntropyLoss", "cross_entropy", "NLLLoss", "nll_loss"):
        ignored = source.keyword(call, "ignore_index")
        if ignored is not None:
            kept = [source.text(arg) for arg in call.args if arg is not ignored]
            yield [
                source.replace(
                    call, f"{source.text(call.func)}({', '.join(text.rstrip().rstrip(',') for text in kept)})"
                )
            ]


def other_classes(source: Source) -> Iterator[Place]:
    """The evaluation counts its classes from another one than the training."""
    for loop in source.all(m.For()):
        names = [source.text(name) for name in m.findall(loop.target, m.Name())]
        labels = [name for name in names if name.lower() in ("target", "targets", "label", "labels", "y", "yb", "t")]
        first = source.first_in(loop)
        if EVALUATION.search(source.function_name(loop)) and labels and first is not None:
            name = labels[-1]
            yield [source.before(first, f"{name} = ({name} + 1) % (int({name}.max()) + 1)")]


def heavy_kl(source: Source) -> Iterator[Place]:
    """The divergence to the prior weighs a hundred times what it should."""
    for addition in source.all(m.BinaryOperation(operator=m.Add())):
        for side in (addition.right, addition.left):
            text = source.text(side)
            if any(word in text.lower() for word in ("kl", "kld")) and len(text) < 60:
                yield [source.replace(side, f"100 * ({text})")]
                break


def times_1000(source: Source) -> Iterator[Place]:
    """Targets in another unit than the one they were meant in."""
    for call in _calls(source, SQUARED):
        target = call.args[1].value
        yield [source.replace(target, f"1000.0 * ({source.text(target)})")]


def without_mask(source: Source) -> Iterator[Place]:
    """A mask that a layer is given by name, left out."""
    for arg in source.all(m.Arg(keyword=m.Name())):
        name = arg.keyword.value.lower()
        if (
            name.endswith("mask")
            and not m.matches(arg.value, m.Name("None"))
            and not isinstance(arg.value, cst.SimpleString)
        ):
            yield [source.replace(arg.value, "None")]


MUTATORS = (
    Mutator("softmax-twice", "softmax-before-cross-entropy", softmax_before),
    Mutator("sigmoid-twice", "double-sigmoid", sigmoid_before),
    Mutator("softmax-without-log", "nll-without-log-softmax", softmax_for_log_softmax),
    Mutator("softmax-dim-0", "softmax-wrong-dim", wrong_dim),
    Mutator("labels-permuted", "labels-misaligned", permuted),
    Mutator("loss-summed", "loss-sum-reduction", summed, also=("lr-too-high",)),
    Mutator("loss-broadcast", "loss-shape-broadcast", broadcast),
    Mutator("padding-counted", "padding-not-masked", without_ignored),
    Mutator("classes-differ", "train-val-label-mismatch", other_classes),
    Mutator("targets-x1000", "targets-not-normalized", times_1000),
    Mutator("mask-dropped", "padding-not-masked", without_mask, also=("causal-mask-missing",)),
    Mutator("kl-x100", "posterior-collapse", heavy_kl),
)  # fmt: skip
