"""Measures what the autograd graph of a loss holds, without computing anything again: for a loss that is not finite.

The graph keeps what each operation needs for its gradient: the operand of a logarithm, the divisor of a division, the
input of a layer. The operation whose operands are finite and whose result is not is where it began."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from traindx.measurements import Operation, PathToLoss

MOST_NODES = 4000
NEAR_LOSS = 40  # nodes within which the user's own arithmetic of the loss stands
HALF_MAX = 65504.0
SMALL = 4 << 20  # bytes of an operand that may be held for a step
HELD = 16 << 20  # and of all operands of a step together

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


def nodes(start: Any, most: int) -> Iterator[Any]:
    """Breadth first from the loss towards the leaves; nothing from a loss without a graph."""
    seen, line = {start}, deque([start] if start is not None else [])
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
    """What a node of the graph divides by, takes the logarithm of, …; nothing where it does not keep that: nodes of
    second derivatives have the names of the first, and graphs are freed."""
    try:
        return _kept_by(node)
    except (AttributeError, RuntimeError):
        return None


def _kept_by(node: Any) -> Operand | None:
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


def examine(operand: Operand, *, gradient: bool) -> Operation | None:
    """The operation, where what it was given makes its result leave the finite numbers; with `gradient`, its gradient
    too."""
    name, values = operand.operation, operand.tensor
    if name == "empty mean":
        return Operation(name)
    if not values.numel() or values.is_complex():
        return None
    low, high = (float(v) for v in torch.aminmax(values.float()))
    if low != low and name not in ("division", "sqrt") and operand.exponent >= 0:
        return None  # NaN came to it from elsewhere
    singular = int(_at_result(operand).sum())
    steep = int(_at_gradient(operand).sum()) if gradient and not singular else 0
    if not singular and not steep:
        return None
    return Operation(
        name=name,
        elements=values.numel(),
        singular=singular or steep,
        low=low,
        high=high,
        gradient=not singular,
        exponent=operand.exponent,
        dtype=str(values.dtype).removeprefix("torch."),
    )


def _at_result(operand: Operand) -> torch.Tensor:
    """Elements at which the result is not finite. Of a root and of one over something, the result is what is known."""
    name, values, exponent = operand.operation, operand.tensor, operand.exponent
    if name in LOGS.values():
        return values <= 0
    if name in ("division", "counted targets"):
        return values == 0
    if name in ARCS.values():
        return values.abs() > 1
    if name == "sqrt":
        return values.isnan()
    if name == "reciprocal":
        return values == torch.inf
    return _overflows(values, exponent) | ((values < 0) if 0 < exponent < 1 else (values == 0) & (exponent < 0))


def _overflows(values: torch.Tensor, exponent: float) -> torch.Tensor:
    """Powers beyond the range of float16, of numbers within it: it ends so early that ordinary ones leave it."""
    sizes = values.double().abs()
    powers = sizes**exponent
    within = values.dtype == torch.float16 and bool(sizes.max() < HALF_MAX)
    return (powers > HALF_MAX) & (within and bool(powers.flatten()[sizes.argmax()] > HALF_MAX))


def _at_gradient(operand: Operand) -> torch.Tensor:
    """Elements at which the gradient is not finite and the result is."""
    name, values = operand.operation, operand.tensor
    if name in ARCS.values():
        return values.abs() == 1
    if name == "sqrt" or (name == "power" and 0 < operand.exponent < 1):
        return values == 0
    return torch.zeros_like(values, dtype=torch.bool)


def path_to(loss: torch.Tensor) -> PathToLoss:
    """What kinds of numbers, and how large ones, stand on the way to the loss."""
    seen: set[torch.dtype] = set()
    hidden, half_infinite, infinite, largest = False, "", False, 0.0
    for node in nodes(loss.grad_fn, MOST_NODES) if loss.grad_fn is not None else ():
        hidden = hidden or "Compiled" in node.name()
        seen |= {made.dtype for made in getattr(node, "_input_metadata", ())}
        for value in saved(node):
            seen.add(value.dtype)
            if value.dtype == torch.float16:
                if not half_infinite and bool(value.isinf().any()):
                    half_infinite = node.name().removesuffix("Backward0")
            elif value.is_floating_point():
                sizes = value.detach().abs().double()
                infinite = infinite or bool(sizes.isinf().any())
                largest = max(largest, float(torch.where(sizes.isfinite(), sizes, 0.0).max()))
    if loss.dtype == torch.float16 and not half_infinite and bool(loss.isinf().any()):
        half_infinite = "loss"
    half = None if hidden or not seen else torch.float16 in seen
    return PathToLoss(half=half, half_infinite=half_infinite, infinite=infinite, largest=largest)


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
