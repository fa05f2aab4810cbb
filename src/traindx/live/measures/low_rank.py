"""Adapters by their structure: two thin matrices beside a matrix of the shape of their product, in one small module.
PEFT's layers, loralib's and those written by hand all look like that, whatever they are called."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

DEPTH = 3  # modules below the adapter's own: `lora_A` holds one for each adapter, which holds a Linear
MAX_PARAMETERS = 16  # of a module that is one adapted layer
MAX_MODULES = 20_000
_FIRST, _SECOND = ".lora_A.", ".lora_B."  # PEFT's names, followed by the adapter's


@dataclass(frozen=True, slots=True)
class Pair:
    """`second` begins at zero; `scale` is what their product is multiplied by, None where no attribute says so."""

    module: str
    base: torch.nn.Parameter
    first: torch.nn.Parameter
    second: torch.nn.Parameter
    scale: float | None
    off: str  # 'merged' or 'disabled' where the layer says that the pair takes no part now
    resting: bool = False  # the layer holds several adapters, and another one is switched on now

    @property
    def rank(self) -> int:
        return min(self.first.shape)


def pairs_in(model: torch.nn.Module) -> list[Pair]:
    """Every low-rank pair, the smallest module around it by name."""
    found: dict[int, Pair] = {}  # by the second matrix; modules inside come after those around them
    for number, (name, module) in enumerate(model.named_modules()):
        if number > MAX_MODULES:
            break
        for pair in _pairs_of(name, module):
            found[id(pair.second)] = pair
    return list(found.values())


def _pairs_of(name: str, module: torch.nn.Module) -> Iterator[Pair]:
    parameters = _near(module, DEPTH)
    if parameters is None or len(parameters) < 3:
        return
    matrices = [(path, p) for path, p in parameters if p.dim() == 2]
    named = {path: p for path, p in matrices if _FIRST in f".{path}" or _SECOND in f".{path}"}
    if named:
        yield from _by_name(name, module, matrices, named)
        return
    bases = [p for _, p in matrices if not p.requires_grad and min(p.shape) > 1]
    if len(matrices) < 3 or not bases:
        return
    base = max(bases, key=lambda p: p.numel())
    thin = [(path, p) for path, p in matrices if p is not base]
    for (before, one), (path, other) in itertools.pairwise(thin):
        ends = _ends(one, other, base)
        if ends is not None and _multiply(before, one, path, other):
            yield Pair(name, base, *ends, _scale(module, path), _off(module))


def _by_name(
    name: str,
    module: torch.nn.Module,
    matrices: list[tuple[str, torch.nn.Parameter]],
    named: Mapping[str, torch.nn.Parameter],
) -> Iterator[Pair]:
    """The pairs of a layer of PEFT, of any rank, and of every adapter it holds."""
    rest = [p for path, p in matrices if path not in named]
    base = max(rest, key=lambda p: p.numel(), default=None)
    for path, first in named.items():
        second = named.get(f".{path}".replace(_FIRST, _SECOND)[1:]) if _FIRST in f".{path}" else None
        if base is None or second is None or second.numel() * first.numel() == 0:
            continue
        if {first.shape[1], second.shape[0]} == {*base.shape} and first.shape[0] == second.shape[1]:
            yield Pair(name, base, first, second, _scale(module, path), _off(module), _rests(module, path))


def _rests(module: torch.nn.Module, path: str) -> bool:
    active = getattr(module, "active_adapters", None)
    known = isinstance(active, list | tuple) and all(isinstance(one, str) for one in active)
    return known and not any(f".{one}." in f".{path}." for one in active or ())


def _ends(
    one: torch.nn.Parameter, other: torch.nn.Parameter, base: torch.nn.Parameter
) -> tuple[torch.nn.Parameter, torch.nn.Parameter] | None:
    """First and second matrix of a pair whose product has the shape of the base, or of the base transposed; of two
    thin matrices the one that is nearer to the input has its width."""
    rank = min(*one.shape, *other.shape)
    out, inner = base.shape
    if not 0 < rank < min(out, inner) or rank != min(one.shape) or rank != min(other.shape):
        return None
    widths = sorted((max(one.shape), max(other.shape)))
    if widths != sorted((out, inner)):
        return None
    return (one, other) if max(one.shape) == inner else (other, one)


def _multiply(before: str, one: torch.nn.Parameter, path: str, other: torch.nn.Parameter) -> bool:
    """Whether two matrices may be factors of one product. Two layers of one shape lie beside each other, as keys and
    values that several heads share do; only bare matrices are kept either way up."""
    return one.shape != other.shape or "." not in before or "." not in path


def _near(module: torch.nn.Module, depth: int, prefix: str = "") -> list[tuple[str, torch.nn.Parameter]] | None:
    """The parameters down to this depth; None where they are more, or deeper, than one adapted layer has."""
    found = [(prefix + name, p) for name, p in module._parameters.items() if p is not None]
    for name, child in module._modules.items():
        if child is None:
            continue
        below = _near(child, depth - 1, f"{prefix}{name}.") if depth else None
        if below is None or len(found) + len(below) > MAX_PARAMETERS:
            return None
        found += below
    return found


def _scale(module: torch.nn.Module, path: str) -> float | None:
    """`scaling` of the layer: a number, or one for each adapter by its name."""
    for holder in ("scaling", "scale"):
        reported: Any = getattr(module, holder, None)
        if isinstance(reported, Mapping):
            reported = next((value for key, value in reported.items() if f".{key}" in f".{path}"), None)
        if isinstance(reported, int | float) and not isinstance(reported, bool):
            return float(reported)
    return None


def _off(module: torch.nn.Module) -> str:
    if getattr(module, "merged", False) is True:
        return "merged"
    return "disabled" if getattr(module, "disable_adapters", False) is True else ""
