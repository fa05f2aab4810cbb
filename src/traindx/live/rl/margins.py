"""Pairs found by the graph alone, whatever their variables are called: a loss that goes through log-sigmoid of a
difference prefers one of two numbers. What the difference is made of, and with which weights, the graph says; the
rest of it, which no gradient flows to, is the reference's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from traindx.live.rl.frames import Variables
from traindx.live.rl.part import here
from traindx.live.rl.roles import side_of
from traindx.live.rl.slopes import slopes

MOST_HEAD = 64  # operations between the loss and the function of the margin
MOST_TERMS = 64  # operations that add up to a margin
ROUNDING = 4 * torch.finfo(torch.float32).eps  # of the size of what is added up
MANY = 2  # sides of a pair
Output = tuple[Any, int]  # an operation and which of its outputs


@dataclass(frozen=True, slots=True)
class Margin:
    """`apart` is what the loss prefers less what it does not, as the reference has it; None where there is none."""

    chosen: tuple[str, torch.Tensor]
    rejected: tuple[str, torch.Tensor]
    apart: torch.Tensor | None
    weight: float  # beta

    @property
    def role(self) -> str:
        """Scores of a model that learns to rank are compared as they are."""
        return "reward" if self.apart is None and self.weight == 1 else "logprob"


def name_pair(loss: torch.Tensor, found: Variables) -> None:
    """Give the two sides of a pair their roles, where names did not."""
    if any(one.grad_fn is not None for _, one in found.all("chosen_logprob", "chosen_reward")):
        return
    margin = margin_of(loss, found)
    if margin is not None:
        found.margin = margin
        found.tensors[f"chosen_{margin.role}"] = [margin.chosen]
        found.tensors[f"rejected_{margin.role}"] = [margin.rejected]
        found.settings.setdefault("beta", ("", margin.weight))


def margin_of(loss: torch.Tensor, found: Variables) -> Margin | None:
    """The margin that a loss goes through, where the variables it is made of are still there."""
    for values, start in _heads(loss.grad_fn):
        terms = _terms(start)
        if terms is None or len(terms) != MANY or abs(sum(terms.values())) > ROUNDING:
            continue
        known = {(one.grad_fn, one.output_nr): (name, one) for name, one in _graded(found)}
        sides = [known[output] for output in terms if output in known]
        if len(sides) != MANY or any(one.numel() != values.numel() for _, one in sides):
            continue
        return _margin(loss, values, sides, next(iter(terms.values())))
    return None


def _margin(
    loss: torch.Tensor, values: torch.Tensor, sides: list[tuple[str, torch.Tensor]], weight: float
) -> Margin | None:
    up, down = sides
    named = side_of(up[0]), side_of(down[0])
    if "" in named or named[0] == named[1]:  # names do not tell which is which: the loss pushes up what it prefers
        slope = slopes(loss, [up[1]])[0]
        if slope is None or not float(slope.sum()):
            return None
        turned = float(slope.sum()) > 0
    else:
        turned = named[0] == "rejected"
    first, second = here(up[1]).reshape(-1), here(down[1]).reshape(-1)
    rest = (first - second) - here(values).reshape(-1) / weight
    given = bool((rest.abs() > ROUNDING * (first.abs() + second.abs())).any())
    apart = (-rest if turned else rest) if given else None
    return Margin(down if turned else up, up if turned else down, apart, abs(weight))


def _graded(found: Variables) -> Iterator[tuple[str, torch.Tensor]]:
    for pairs in (*found.tensors.values(), found.others):
        for name, one in pairs:
            if one.grad_fn is not None:
                yield name, one


def _heads(start: Any) -> Iterator[tuple[torch.Tensor, Output]]:
    """The values of each margin near the loss, and the operation that made them."""
    waiting, seen = [start], {start}
    while waiting and len(seen) <= MOST_HEAD:
        node = waiting.pop(0)
        inside = _preferring(node)
        if inside is not None:
            yield inside
            continue
        for parent, _ in node.next_functions:
            if parent is not None and parent not in seen:
                seen.add(parent)
                waiting.append(parent)


def _preferring(node: Any) -> tuple[torch.Tensor, Output] | None:
    """What goes into log-sigmoid, in one of the ways it is written."""
    kind = node.name()
    if kind == "LogSigmoidBackward0" or kind == "SoftplusBackward0":
        return node._saved_self, node.next_functions[0]
    if kind == "BinaryCrossEntropyWithLogitsBackward0" and bool((node._saved_target == 1).all()):
        return node._saved_self, node.next_functions[0]
    if kind == "LogBackward0":
        inner = node.next_functions[0][0]
        if inner is not None and inner.name() == "SigmoidBackward0":
            return torch.logit(inner._saved_result.detach().double()).float(), inner.next_functions[0]
    return None


def _terms(output: Output) -> dict[Output, float] | None:
    """What adds up to this output, with its weights; None where that is not plain."""
    terms: dict[Output, float] = {}
    waiting = [(output, 1.0)]
    for _ in range(MOST_TERMS):
        if not waiting:
            return terms
        (node, which), weight = waiting.pop()
        if node is None:
            continue
        parts = _parts(node)
        if parts is None:
            terms[node, which] = terms.get((node, which), 0.0) + weight
        else:
            waiting += [(one, weight * factor) for one, factor in parts]
    return None


def _parts(node: Any) -> list[tuple[Output, float]] | None:
    """The inputs of a sum, a difference or a product with a number; None for any other operation."""
    kind, inputs = node.name(), node.next_functions
    if kind in ("AddBackward0", "SubBackward0"):
        sign = 1.0 if kind == "AddBackward0" else -1.0
        return [(inputs[0], 1.0), *((one, sign * float(node._saved_alpha)) for one in inputs[1:])]
    if kind == "NegBackward0":
        return [(inputs[0], -1.0)]
    if kind not in ("MulBackward0", "DivBackward0"):
        return None
    factor = node._saved_other if inputs[0][0] is not None else getattr(node, "_saved_self", None)
    if factor is None or factor.numel() != 1 or factor.requires_grad or not float(factor):
        return None
    graded = inputs[0] if inputs[0][0] is not None else inputs[1]
    return [(graded, 1 / float(factor) if kind == "DivBackward0" else float(factor))]


def same_margin(margin: Margin) -> torch.Tensor:
    """The pairs whose margin is the reference's own: both models say the same."""
    chosen, rejected = here(margin.chosen[1]).reshape(-1), here(margin.rejected[1]).reshape(-1)
    assert margin.apart is not None
    return (chosen - rejected - margin.apart).abs() <= ROUNDING * (chosen.abs() + rejected.abs())
