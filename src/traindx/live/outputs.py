"""What a loss function is given: does the output fit what the loss expects, and can it reach the targets?

Each check looks at one call and yields what it found. What made the output is read off the autograd graph; where the graph
cannot be seen (a compiled model), the numbers must speak for themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

from traindx.live.findings import Finding
from traindx.live.handmade import ABSOLUTE, SQUARED
from traindx.live.nodes import Ending, ending, written
from traindx.live.observer import Criterion
from traindx.live.rows import Rows, measure, near

REGRESSION = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", SQUARED, ABSOLUTE})
CLASSIFYING = frozenset({"cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"})
USUAL = REGRESSION | CLASSIFYING
ONLY_IN = {
    "scores-as-log-probabilities": frozenset({"nll_loss"}),
    "sigmoid-as-logits": frozenset({"cross_entropy", "binary_cross_entropy_with_logits"}),
    "probabilities-as-logits": frozenset({"cross_entropy", "binary_cross_entropy_with_logits"}),
    "classes-regressed": REGRESSION,
    "shapes-broadcast": REGRESSION,
    "targets-unscaled": REGRESSION,
}
SOFTMAXES = ("Softmax", "LogSoftmax")
NEARLY_ALL = 0.999
NO_LOG_PROBABILITY = {torch.float16: 0.2, torch.bfloat16: 0.2}  # log of the summed exp; 0.05 in single precision
OPAQUE_CALLS, OPAQUE_NUMBERS = 5, 500  # numbers all in [0, 1] before they are called probabilities without a graph

# The range of what an activation puts out; None has no limit.
RANGES: dict[str, tuple[float | None, float | None]] = {
    "Sigmoid": (0.0, 1.0), "Hardsigmoid": (0.0, 1.0), "Softmax": (0.0, 1.0), "Tanh": (-1.0, 1.0), "Relu": (0.0, None),
    "Softplus": (0.0, None), "Exp": (0.0, None), "Elu": (-1.0, None), "Gelu": (-0.17, None), "Silu": (-0.28, None),
}  # fmt: skip
SLACK = 0.02  # beyond the range, for rounding and label smoothing
OUT_OF_REACH = 0.05  # of the targets, so that a single odd sample is no fault
LEAST_TARGETS = 16
MOST_CLASSES = 20  # whole numbers with more values than this are counts
LEAST_CODED = 8  # targets in a call
CODED_SAMPLES = 50  # targets seen before whole numbers are called class codes
SHARE_OF_A_CLASS = 0.4  # of an equal share: classes are roughly balanced, counts are not


@dataclass
class Site:
    """One place in the user's code that calls a loss function, and what was seen there so far."""

    looks: int = 0
    between: int = 0  # calls in a row whose inputs all lay in [0, 1]
    numbers: int = 0
    targets: int = 0
    below: float = 0.0  # targets under the reach of the output, and above it
    over: float = 0.0
    lowest: float = float("inf")
    highest: float = float("-inf")
    codes: list[float] = field(default_factory=lambda: [0.0] * (MOST_CLASSES + 1))
    mixed: bool = False  # one call held more than one code
    open: bool = False  # all targets were codes so far, but too few to say so


def check(call: Criterion, site: Site) -> Iterator[Finding]:
    """All that one training call shows."""
    end = ending(call.input)
    yield from _single_output(call, end)
    yield from _of_other_losses(call)
    if call.name in ("cross_entropy", "nll_loss", "kl_div"):
        dim = 1 if call.name != "kl_div" and call.input.dim() > 1 else -1
        if call.input.dim() and call.input.shape[dim if call.input.dim() > 1 else 0] > 1:
            rows = measure(call.input, dim)
            yield from _wrong_dim(call, end, rows)
            yield from (_logits if call.name == "cross_entropy" else _log_probabilities)(call, end, rows)
    elif call.name == "binary_cross_entropy_with_logits":
        yield from _binary_logits(call, end, site)
    if call.name in REGRESSION or call.name == "binary_cross_entropy":
        yield from _normalised_over_batch(call, end)
    if call.name in REGRESSION:
        yield from _shapes(call)
        yield from _reach(call, end, site)
        yield from _class_codes(call, end, site)


def _of_other_losses(call: Criterion) -> Iterator[Finding]:
    """Faults that only another loss function can have. One that is found at another place outweighs this."""
    for name, losses in ONLY_IN.items():
        if call.name in USUAL and call.name not in losses:
            yield Finding(name, False, f"The loss is {call.name}.")


def _single_output(call: Criterion, end: Ending) -> Iterator[Finding]:
    name = "softmax-over-one-output"
    if end.kind in SOFTMAXES and end.width == 1:
        yield Finding(
            name,
            True,
            f"The output given to {call.name} is a softmax over a dimension of size 1 of {written(end.shape)}: always 1, whatever the input.",
        )
    elif (
        call.name == "cross_entropy"
        and call.input.dim() == 2
        and call.input.shape[1] == 1
        and not call.target.is_floating_point()
    ):
        yield Finding(
            name,
            True,
            f"cross_entropy is given one output a sample, {written(call.input.shape)}: its softmax over one output is always 1 and the loss always 0.",
        )
    elif not end.opaque:
        yield Finding(name, False, f"The output given to {call.name} is no softmax over a single number.")


def _wrong_dim(call: Criterion, end: Ending, rows: Rows) -> Iterator[Finding]:
    name = "softmax-over-wrong-dim"
    if end.kind in SOFTMAXES and end.whole and end.width != 1:
        right = rows.probabilities if end.kind == "Softmax" else rows.log_probabilities
        if right < 0.5:
            yield Finding(
                name,
                True,
                f"A {_spoken(end.kind)} over dimension {end.dim} of {written(end.shape)} goes into {call.name}, but the {rows.classes} classes lie in another dimension: what it normalises is not one sample's scores.",
            )
            return
    if not end.opaque:
        yield Finding(name, False, f"The input of {call.name} is not normalised over a wrong dimension.")


def _logits(call: Criterion, end: Ending, rows: Rows) -> Iterator[Finding]:
    name = "probabilities-as-logits"
    if rows.probabilities > NEARLY_ALL and rows.count >= 2:
        yield Finding(
            name,
            True,
            f"cross_entropy is given probabilities: all {rows.count} rows sum to 1 over the {rows.classes} classes, but it applies softmax itself.",
        )
    else:
        yield Finding(name, False, "The input of cross_entropy does not sum to 1 over the classes: these are logits.")
    yield from _squeezed(call, end)


def _log_probabilities(call: Criterion, end: Ending, rows: Rows) -> Iterator[Finding]:
    name = "scores-as-log-probabilities"
    if end.kind == "LogSoftmax" and end.whole:
        yield Finding(name, False, f"{call.name} is given the result of a log-softmax.")
    elif rows.log_sum > NO_LOG_PROBABILITY.get(call.input.dtype, 0.05) and rows.log_probabilities < 0.1:
        what = "probabilities, without their logarithm" if rows.probabilities > NEARLY_ALL else "raw scores"
        yield Finding(
            name,
            True,
            f"{call.name} is given {what}: exp of a row sums to {_number(rows.log_sum)} in the log (0 for log-probabilities).",
        )
    elif rows.log_probabilities > NEARLY_ALL:
        yield Finding(name, False, f"{call.name} is given log-probabilities: exp of each row sums to 1.")


def _binary_logits(call: Criterion, end: Ending, site: Site) -> Iterator[Finding]:
    name = "sigmoid-as-logits"
    if end.kind in ("Sigmoid", "Hardsigmoid"):
        yield Finding(
            name,
            True,
            "binary_cross_entropy_with_logits is given the result of a sigmoid, but it applies sigmoid itself.",
        )
    elif end.kind == "Softmax" and end.width != 1:
        yield Finding(
            "probabilities-as-logits",
            True,
            f"binary_cross_entropy_with_logits is given a softmax over {end.width} outputs, but it applies sigmoid itself.",
        )
    elif end.opaque:
        low, high = torch.stack(call.input.detach().aminmax()).tolist()
        site.between = site.between + 1 if low >= 0 and high <= 1 else 0
        site.numbers = site.numbers + call.input.numel() if site.between else 0
        if site.between >= OPAQUE_CALLS and site.numbers >= OPAQUE_NUMBERS:
            yield Finding(
                name,
                True,
                f"All {site.numbers} inputs of binary_cross_entropy_with_logits in {site.between} calls lie between 0 and 1: a sigmoid was applied before.",
                0.8,
            )
        elif not site.between:
            yield Finding(name, False, "The inputs of binary_cross_entropy_with_logits leave the range 0 to 1.")
    else:
        yield Finding(name, False, "binary_cross_entropy_with_logits is given numbers that no sigmoid made.")
        yield from _squeezed(call, end)


def _squeezed(call: Criterion, end: Ending) -> Iterator[Finding]:
    """An activation between the last layer and a loss that wants logits."""
    if end.kind == "Relu":
        sure = 1.0 if call.name == "binary_cross_entropy_with_logits" else 0.85
        yield Finding(
            "relu-cuts-output",
            True,
            f"The logits given to {call.name} come out of a ReLU: no class can get a score below 0.",
            sure,
        )
    elif end.kind == "Tanh":
        yield Finding(
            "targets-beyond-output-range",
            True,
            f"The logits given to {call.name} come out of a tanh: they never leave -1 to 1, so no prediction can become certain.",
            0.9,
        )
    elif end.kind == "Sigmoid":
        yield Finding(
            "sigmoid-as-logits",
            True,
            f"The logits given to {call.name} come out of a sigmoid: they never leave 0 to 1.",
            0.9,
        )
    elif not end.opaque:
        yield Finding("relu-cuts-output", False, f"The logits given to {call.name} do not come out of a ReLU.")
        yield Finding("sigmoid-as-logits", False, f"The logits given to {call.name} do not come out of a sigmoid.")
        yield Finding("targets-beyond-output-range", False, f"The logits given to {call.name} are not bounded.")


def _normalised_over_batch(call: Criterion, end: Ending) -> Iterator[Finding]:
    if (
        end.kind in SOFTMAXES
        and end.whole
        and end.dim == 0
        and len(end.shape) > 1
        and end.shape[0] == call.target.shape[0] > 1
    ):
        yield Finding(
            "softmax-over-wrong-dim",
            True,
            f"A {_spoken(end.kind)} over dimension 0 of {written(end.shape)}, the batch, goes into {call.name}.",
        )


def _shapes(call: Criterion) -> Iterator[Finding]:
    name = "shapes-broadcast"
    given, wanted = call.input.shape, call.target.shape
    try:
        together = torch.broadcast_shapes(given, wanted)  # type: ignore[no-untyped-call]
    except RuntimeError:
        return
    if together.numel() > max(given.numel(), wanted.numel()):
        yield Finding(
            name,
            True,
            f"{call.name} compares an output of shape {written(given)} with a target of shape {written(wanted)}: they broadcast to {written(together)}, every output against every target.",
        )
    else:
        yield Finding(
            name,
            False,
            f"Output {written(given)} and target {written(wanted)} of {call.name} do not blow each other up.",
        )


def _reach(call: Criterion, end: Ending, site: Site) -> Iterator[Finding]:
    if end.opaque:
        return
    low, high = RANGES.get(end.kind, (None, None))
    if low is None and high is None:
        yield Finding("relu-cuts-output", False, f"The output given to {call.name} does not come out of a ReLU.")
        yield Finding(
            "targets-beyond-output-range", False, f"The output given to {call.name} has no activation that bounds it."
        )
        return
    target = near(call.target).float()
    below = (target < low - SLACK).float().mean() if low is not None else target.new_zeros(())
    over = (target > high + SLACK).float().mean() if high is not None else target.new_zeros(())
    lowest, highest = target.aminmax()
    under, beyond, least, most = torch.stack([below, over, lowest, highest]).tolist()
    count = target.numel()
    site.below += under * count
    site.over += beyond * count
    site.targets += count
    site.lowest, site.highest = min(site.lowest, least), max(site.highest, most)
    share = (site.below + site.over) / site.targets
    span = f"targets reach from {_number(site.lowest)} to {_number(site.highest)}"
    if share < OUT_OF_REACH or site.targets < LEAST_TARGETS:
        if site.looks >= 3:
            yield Finding("relu-cuts-output", False, f"The output fits: {span}.")
            yield Finding("targets-beyond-output-range", False, f"The output fits: {span}.")
    elif end.kind == "Relu":
        yield Finding(
            "relu-cuts-output",
            True,
            f"The output given to {call.name} comes out of a ReLU, but {share:.0%} of the targets are negative ({span}).",
        )
    else:
        limits = f"above {low:g}" if high is None else f"between {low:g} and {high:g}"
        yield Finding(
            "targets-beyond-output-range",
            True,
            f"The output given to {call.name} comes out of a {_spoken(end.kind)} and stays {limits}, but {share:.0%} of the targets lie outside ({span}).",
        )


def codes_again(call: Criterion, site: Site) -> Iterator[Finding]:
    """One more look at targets that may be class codes."""
    return _class_codes(call, ending(call.input), site)


def _class_codes(call: Criterion, end: Ending, site: Site) -> Iterator[Finding]:
    """A regression loss on class numbers or on one-hot rows."""
    name = "classes-regressed"
    target = call.target.detach()
    if target.dim() == 2 and target.shape == call.input.shape and target.shape[1] > 1 and target.shape[0] >= 4:
        target = target[:4096].cpu()
        marks = (
            ((target == 0) | (target == 1)).all() & (target.sum(1) == 1).all() & (target.amax(0) > target.amin(0)).any()
        )
        if bool(marks):
            yield Finding(
                name,
                True,
                f"The targets of {call.name} are one-hot rows of {target.shape[1]} classes: a classification trained with a regression loss.",
            )
        else:
            yield Finding(name, False, f"The targets of {call.name} are no class codes.")
        return
    single = target.dim() > 0 and target.numel() == target.shape[0] == call.input.numel()
    if not single or target.numel() < LEAST_CODED:  # a toy such as the four rows of XOR says nothing
        return
    target = target.reshape(-1)[:4096].cpu()
    found = (target.unsqueeze(1) == torch.arange(MOST_CLASSES + 1)).sum(0).tolist()
    if sum(found) < target.numel():
        site.open = False
        yield Finding(name, False, f"The targets of {call.name} are no class codes.")
        return
    site.open = sum(site.codes) + sum(found) < CODED_SAMPLES
    site.mixed = site.mixed or sum(count > 0 for count in found) > 1
    site.codes = [old + new for old, new in zip(site.codes, found, strict=True)]
    total, classes = sum(site.codes), sum(count > 0 for count in site.codes)
    coded = classes >= 2 and all(site.codes[:classes]) and classes <= MOST_CLASSES and site.mixed
    if (
        not coded
        or total < CODED_SAMPLES
        or (classes > 2 and min(site.codes[:classes]) < SHARE_OF_A_CLASS * total / classes)
    ):
        return
    sure = 0.9 if end.kind == "Sigmoid" and classes == 2 else 0.8 if classes > 2 else 0.75
    yield Finding(
        name,
        True,
        f"The targets of {call.name} are class numbers, 0 to {classes - 1} and nothing else in {total:g} samples: a classification trained with a regression loss.",
        sure,
    )


def _spoken(kind: str) -> str:
    return {"LogSoftmax": "log-softmax", "Relu": "ReLU"}.get(kind, kind.lower())


def _number(value: float) -> str:
    return f"{value:.4g}"
