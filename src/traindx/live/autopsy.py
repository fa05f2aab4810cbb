"""Reads off the autograd graph of a loss that is not finite where that began, without computing anything again.

The graph keeps what each operation needs for its gradient: the operand of a logarithm, the divisor of a division, the input
of a layer. The operation whose operands are finite and whose result is not is where it began.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch

MOST_NODES = 4000
NEAR_LOSS = 40  # nodes within which the user's own arithmetic of the loss stands
HALF_MAX = 65504.0
IMMENSE = 1e18  # its square ends the range of single precision
SMALL = 4 << 20  # bytes of an operand that may be held for a step
HELD = 16 << 20  # and of all operands of a step together
Origin = Literal["log", "division", "half", "empty-mean"]

LOGS = {"LogBackward0": "log", "Log2Backward0": "log2", "Log10Backward0": "log10"}
ARCS = {"AcosBackward0": "arc cosine", "AsinBackward0": "arc sine"}  # infinitely steep at their ends
# Operations whose gradient can leave the finite numbers where their result does not, and what that is called.
STEEP: Mapping[str, str] = {
    **dict.fromkeys(LOGS, "log"), **dict.fromkeys(ARCS, "arc"), "SqrtBackward0": "sqrt", "DivBackward0": "division",
    "RsqrtBackward0": "sqrt", "ReciprocalBackward0": "division", "PowBackward0": "power",
}  # fmt: skip
# Operations whose first operand is data when no gradient flows into it.
ENTRIES = ("_saved_mat1", "_saved_input", "_saved_self")
MIXING = (
    "Addmm",
    "Mm",
    "Bmm",
    "Baddbmm",
    "Linear",
    "Convolution",
    "Rnn",
    "RNN",
    "Mul",
    "Sub",
    "NativeBatchNorm",
    "NativeLayerNorm",
)


@dataclass(frozen=True, slots=True)
class Operand:
    """One operation of the loss that can leave the finite numbers, with the tensor that decides."""

    operation: str
    tensor: torch.Tensor
    exponent: float = 1.0


@dataclass(frozen=True, slots=True)
class Verdict:
    origin: Origin
    evidence: str


def nodes(start: Any, most: int) -> Iterator[Any]:
    """Breadth first from the loss towards the leaves."""
    seen, line = {start}, deque([start])
    while line and most:
        node = line.popleft()
        most -= 1
        yield node
        for parent, _ in node.next_functions:
            if parent is not None and parent not in seen:
                seen.add(parent)
                line.append(parent)


def risky(loss: torch.Tensor, most: int = MOST_NODES) -> Iterator[tuple[Any, Operand]]:
    """The operations before a loss that can produce a number that is not finite, with their nodes."""
    for node in nodes(loss.grad_fn, most) if loss.grad_fn is not None else ():
        operand = operand_of(node)
        if operand is not None:
            yield node, operand


def operand_of(node: Any) -> Operand | None:
    name = node.name()
    if name in LOGS:
        return Operand(LOGS[name], node._saved_self.detach())
    if name == "DivBackward0" and isinstance(node._saved_other, torch.Tensor):
        return Operand("division", node._saved_other.detach())
    if name == "SqrtBackward0":
        return Operand("sqrt", node._saved_result.detach())
    if name in ("RsqrtBackward0", "ReciprocalBackward0"):
        return Operand("reciprocal", node._saved_result.detach())
    if name == "PowBackward0" and isinstance(node._saved_exponent, int | float):
        return Operand("power", node._saved_self.detach(), float(node._saved_exponent))
    if name in ARCS:
        return Operand(ARCS[name], node._saved_self.detach())
    if name == "MeanBackward0" and node._saved_self_sym_numel == 0:
        return Operand("empty mean", torch.empty(0))
    if name.startswith("NllLoss") and node._saved_reduction == 1:
        return Operand("counted targets", node._saved_total_weight.detach())
    return None


def judge(operand: Operand, *, gradient: bool) -> Verdict | None:
    """What this operation did to its operand; with `gradient`, what it does to the gradient while the result is finite."""
    name, values = operand.operation, operand.tensor
    if name == "empty mean":
        return Verdict("empty-mean", "a mean over no elements")
    if not values.numel() or values.is_complex():
        return None
    low, high = (float(v) for v in torch.aminmax(values.float()))
    if name in LOGS.values() and low <= 0:
        zeros = int((values <= 0).sum())
        return Verdict(
            "log", f"{name} of {zeros} of {values.numel()} values that are zero or less (range {low:.3g} to {high:.3g})"
        )
    if name == "counted targets":
        text = "cross-entropy over a batch in which every target is ignored: a mean over no elements"
        return Verdict("empty-mean", text) if high == 0 else None
    if name in ARCS.values() and gradient and max(-low, high) == 1:
        ends = int((values.abs() == 1).sum())
        return Verdict(
            "division", f"{name} of {ends} of {values.numel()} values that are -1 or 1: its gradient divides by zero"
        )
    if name in ARCS.values() and not gradient and max(-low, high) > 1:
        return Verdict("log", f"{name} of values from {low:.3g} to {high:.3g}; it is defined from -1 to 1")
    if name == "division" and bool((values == 0).any()):
        return Verdict(
            "division",
            f"division by zero ({int((values == 0).sum())} of {values.numel()} divisors, range {low:.3g} to {high:.3g})",
        )
    if name == "sqrt" and low != low:
        return Verdict("log", "square root of a negative number")
    if name == "sqrt" and low == 0 and gradient:
        return Verdict(
            "division",
            f"square root of zero ({int((values == 0).sum())} of {values.numel()} values): its gradient divides by zero",
        )
    if name == "reciprocal" and high == float("inf"):
        return Verdict("division", "one over zero")
    if values.dtype == torch.float16:
        top = max(abs(low), abs(high))
        if name == "power" and top < HALF_MAX and top**operand.exponent > HALF_MAX:
            return Verdict(
                "half", f"values up to {top:.3g} to the power {operand.exponent:g} in float16, which ends at 65504"
            )
    if name == "power" and operand.exponent < 0 and bool((values == 0).any()):
        return Verdict("division", f"zero to the power {operand.exponent:g}")
    if name == "power" and 0 < operand.exponent < 1:
        if low < 0:
            return Verdict(
                "log", f"values down to {low:.3g} to the power {operand.exponent:g}: a root of a negative number"
            )
        if gradient and low == 0:
            zeros = int((values == 0).sum())
            return Verdict(
                "division",
                f"zero to the power {operand.exponent:g} ({zeros} of {values.numel()} values): its gradient divides by zero",
            )
    return None


def half_overflow(loss: torch.Tensor) -> str | None:
    """A float16 tensor on the way to the loss that holds Inf."""
    for node in nodes(loss.grad_fn, MOST_NODES) if loss.grad_fn is not None else ():
        for value in saved(node):
            if value.dtype == torch.float16 and bool(torch.isinf(value).any()):
                return f"a float16 tensor in {node.name().removesuffix('Backward0')} holds Inf; float16 ends at 65504"
    if loss.dtype == torch.float16 and bool(torch.isinf(loss).any()):
        return "the loss is a float16 number that passed 65504"
    return None


def outgrown(loss: torch.Tensor) -> str | None:
    """Finite numbers on the way to the loss that are larger than any network means, beside others that have passed the end."""
    most, passed = 0.0, False
    for node in nodes(loss.grad_fn, MOST_NODES) if loss.grad_fn is not None else ():
        for value in saved(node):
            if value.is_floating_point() and value.dtype != torch.float16:
                sizes = value.detach().abs().double()
                passed = passed or bool(torch.isinf(sizes).any())
                most = max(most, float(torch.where(torch.isfinite(sizes), sizes, 0.0).max()))
    if not passed or most < IMMENSE:
        return None
    return f"from finite inputs and weights, numbers on the way through the model grow to {most:.3g} and past the end of their range"


def in_half(loss: torch.Tensor) -> bool | None:
    """Whether any number on the way to the loss is a float16; None where the way cannot be seen."""
    seen: set[torch.dtype] = set()
    for node in nodes(loss.grad_fn, MOST_NODES) if loss.grad_fn is not None else ():
        if "Compiled" in node.name():
            return None
        seen |= {value.dtype for value in saved(node)} | {made.dtype for made in getattr(node, "_input_metadata", ())}
    return torch.float16 in seen if seen else None


def data_in(loss: torch.Tensor) -> list[torch.Tensor]:
    """Tensors that entered the graph without a gradient: inputs of the first layers."""
    found: dict[int, torch.Tensor] = {}
    for node in nodes(loss.grad_fn, MOST_NODES) if loss.grad_fn is not None else ():
        if not any(kind in node.name() for kind in MIXING):
            continue
        for value in saved(node, ENTRIES):
            if value.is_floating_point() and not value.requires_grad and value.dim() >= 2:
                found.setdefault(value.data_ptr(), value)
    return list(found.values())


def saved(
    node: Any, names: tuple[str, ...] = ("_saved_self", "_saved_result", "_saved_mat1", "_saved_input", "_saved_other")
) -> Iterator[torch.Tensor]:
    for name in names:
        value = getattr(node, name, None)
        if isinstance(value, torch.Tensor) and value.numel():
            yield value
