"""A saved adapter against its base, and merged weights against both: which pairs find their module, whether shapes and
rank fit, and whether base + scale·B·A is what was exported. Numbers are read row by row."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from traindx.checkpoints.drift import drift
from traindx.checkpoints.findings import PROBE, listed
from traindx.checkpoints.parts import Checkpoint
from traindx.checkpoints.tensor import Tensor, blocks
from traindx.errors import TraindxError
from traindx.reading import Cell, Table
from traindx.run import Fact

ID = "adapter-export-differs"
_FIRST = re.compile(r"^(?P<module>.+?)\.?(?:lora_A|lora_down|lora_embedding_A)(?P<rest>(?:\.\w+)?(?:\.weight)?)$")
_SECOND = {"lora_A": "lora_B", "lora_down": "lora_up", "lora_embedding_A": "lora_embedding_B"}
_PREFIX = re.compile(r"^(?:base_model\.model\.|base_model\.|model\.|transformer\.|module\.)")
_LAYER = re.compile(r"\.base_layer$")
_SAVED = re.compile(r"\.(?:modules_to_save(?:\.\w+)?|original_module|token_adapter\.\w+)")
# relative rounding of a stored number; sums in other orders lose a little more
ROUNDING = {"F64": 2.0**-50, "F32": 2.0**-20, "F16": 2.0**-10, "BF16": 2.0**-7}
MAX_FACTOR = 1 << 24  # elements of a thin matrix that is held whole
SHOWN = 20

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """One pair of the adapter and what it found. `base` is the tensor it belongs to; `off` is how far the merged tensor
    is from base + scale·B·A, and `added` the norm of that product, both by the norm of the base."""

    module: str
    first: Tensor
    second: Tensor
    base: Tensor | None
    scale: float | None
    fits: bool = True
    zero: bool = False
    added: float | None = None
    off: float | None = None
    rounded: bool = True  # what it is off by is rounding
    times: float | None = None  # how often the product is in the merged tensor: 0 not at all, 1 as it should

    @property
    def rank(self) -> int:
        return min(self.first.shape)


def compared(adapter: Checkpoint, base: Checkpoint, merged: Checkpoint | None) -> tuple[list[Fact], Table, str]:
    """Facts, a table and a sentence of an adapter, or of an export without pairs, against its base."""
    found = [_measured(pair, merged) for pair in _pairs(adapter, base)]
    if not found:
        return _export(adapter, base)
    facts = [_names(found, base, adapter)]
    if facts[0] is None or not facts[0].present:
        facts = [_merged(found) or facts[0]]
    rows = tuple(_row(pair) for pair in sorted(found, key=_badness)[:SHOWN])
    columns = ("module", "rank", "scale", "in base", "shape fits", "adds", "merged")
    table = Table(f"adapter against {base.path.name}, {len(rows)} of {len(found)} pairs", columns, rows)
    return [fact for fact in facts if fact is not None], table, _summary(found, adapter, base)


# --- what is in the files ---------------------------------------------------------------------------------------------


def _pairs(adapter: Checkpoint, base: Checkpoint) -> list[Pair]:
    endings = _endings(base)
    found = []
    for name, first in adapter.weights.items():
        match = _FIRST.match(name)
        if match is None:
            continue
        kind = next(word for word in _SECOND if word in name[len(match["module"]) :])
        second = adapter.weights.get(name.replace(kind, _SECOND[kind]))
        if second is None:
            raise TraindxError(
                f"{adapter.path}: {name[:200]} has no {_SECOND[kind]} beside it.",
                "The adapter is cut off; save it again.",
            )
        if len(first.shape) != 2 or len(second.shape) != 2:
            continue
        module = _LAYER.sub("", match["module"])
        tensor = _find(module, base, endings)
        found.append(
            Pair(
                module,
                first,
                second,
                tensor,
                _scale(adapter, module, min(first.shape)),
                tensor is None or _fits(first, second, tensor),
            )
        )
    return found


def _endings(base: Checkpoint) -> dict[str, list[str]]:
    """Names of the base by their last parts, so that another prefix does not hide a module."""
    ends: dict[str, list[str]] = {}
    for name in base.weights:
        plain = name
        while match := _PREFIX.match(plain):
            plain = plain[match.end() :]
        ends.setdefault(plain, []).append(name)
    return ends


def _find(module: str, base: Checkpoint, endings: Mapping[str, list[str]]) -> Tensor | None:
    """As PEFT looks it up: the name without its own prefix; then without those of other libraries."""
    plain = module.removeprefix("base_model.model.")
    for name in (f"{plain}.weight", f"{plain}.base_layer.weight", plain):
        if name in base.weights:
            return base.weights[name]
    while match := _PREFIX.match(plain):
        plain = plain[match.end() :]
    names = endings.get(f"{plain}.weight", [])
    return base.weights[names[0]] if len(names) == 1 else None


def _fits(first: Tensor, second: Tensor, base: Tensor) -> bool:
    if len(base.shape) != 2:
        return False
    ends = sorted((max(first.shape), max(second.shape)))
    return ends == sorted(base.shape) and min(first.shape) == min(second.shape)


def _scale(adapter: Checkpoint, module: str, rank: int) -> float | None:
    alpha = adapter.config.get("lora_alpha")
    patterns = adapter.config.get("alpha_pattern")
    if isinstance(patterns, Mapping):
        alpha = next((value for key, value in patterns.items() if module.endswith(str(key))), alpha)
    if not isinstance(alpha, int | float) or not rank:
        return None
    return float(alpha) / (math.sqrt(rank) if adapter.config.get("use_rslora") is True else rank)


# --- numbers ----------------------------------------------------------------------------------------------------------


def _measured(pair: Pair, merged: Checkpoint | None) -> Pair:
    base = pair.base
    if base is None or not pair.fits or max(pair.first.size, pair.second.size) > MAX_FACTOR:
        return pair
    first, second = _whole(pair.first), _whole(pair.second)
    if not second.any():
        return _with(pair, zero=True, added=0.0)
    rank = pair.rank
    first = first if first.shape[0] == rank else first.T
    second = second if second.shape[1] == rank else second.T
    scale = pair.scale if pair.scale is not None else 1.0
    turned = (second.shape[0], first.shape[1]) != base.shape
    if turned:  # the base is kept the other way round
        first, second = second.T, first.T
    other = _merged_tensor(base, merged)
    return _sums(pair, base, other, scale * second, first)


def _merged_tensor(base: Tensor, merged: Checkpoint | None) -> Tensor | None:
    if merged is None:
        return None
    endings = _endings(merged)
    plain = base.name
    while match := _PREFIX.match(plain):
        plain = plain[match.end() :]
    names = [base.name] if base.name in merged.weights else endings.get(plain, [])
    found = merged.weights[names[0]] if len(names) == 1 else None
    return found if found is not None and found.shape == base.shape else None


def _sums(pair: Pair, base: Tensor, other: Tensor | None, left: Matrix, right: Matrix) -> Pair:
    """One pass over the rows of base and merged tensor."""
    size = product = gap = along = 0.0
    place = 0
    theirs = blocks(other, by_row=True) if other is not None else None
    for block in blocks(base, by_row=True):
        rows = block.astype(np.float64).reshape(-1, base.row_size)
        added = left[place : place + len(rows)] @ right
        place += len(rows)
        size += float((rows * rows).sum())
        product += float((added * added).sum())
        if theirs is not None:
            change = next(theirs).astype(np.float64).reshape(rows.shape) - rows
            gap += float(((change - added) ** 2).sum())
            along += float((change * added).sum())
    norm = math.sqrt(size)
    result = _with(pair, added=math.sqrt(product) / norm if norm else None)
    if other is None or not norm or not product:
        return result
    limit = ROUNDING.get(other.dtype, 1.0) + ROUNDING.get(base.dtype, 1.0)
    off = math.sqrt(gap) / norm
    return _with(result, off=off, rounded=off <= limit, times=along / product)


def _whole(tensor: Tensor) -> Matrix:
    return np.concatenate([block.astype(np.float64).reshape(-1) for block in blocks(tensor)]).reshape(tensor.shape)


def _with(pair: Pair, **changes: object) -> Pair:
    from dataclasses import replace

    return replace(pair, **changes)  # type: ignore[arg-type]


# --- what it proves ---------------------------------------------------------------------------------------------------


def _names(found: list[Pair], base: Checkpoint, adapter: Checkpoint) -> Fact | None:
    lost = [pair for pair in found if pair.base is None]
    wrong = [pair for pair in found if not pair.fits]
    stated = adapter.config.get("r")
    if lost:
        text = (
            f"{len(lost)} of {len(found)} adapter pairs find no module in {base.path.name} "
            f"({listed([pair.module for pair in lost])}): loaded on this base they do nothing."
        )
        return Fact(ID, True, text, lost[0].module)
    if wrong:
        one = wrong[0]
        shape = "×".join(map(str, one.base.shape)) if one.base is not None else ""
        text = (
            f"{len(wrong)} of {len(found)} adapter pairs do not fit their module: {one.module} is {shape} in the base."
        )
        return Fact(ID, True, text, one.module)
    ranks = {pair.rank for pair in found}
    if isinstance(stated, int) and stated not in ranks and not adapter.config.get("rank_pattern"):
        text = f"adapter_config.json says rank {stated}, the tensors have rank {', '.join(map(str, sorted(ranks)))}."
        return Fact(ID, True, text, found[0].module)
    return Fact(ID, False, f"All {len(found)} adapter pairs find their module and fit it.", probe=PROBE)


def _merged(found: list[Pair]) -> Fact | None:
    known = [pair for pair in found if pair.off is not None]
    off = [pair for pair in known if not pair.rounded]
    if off:
        worst = max(off, key=lambda pair: pair.off or 0.0)
        text = (
            f"{len(off)} of {len(known)} merged matrices are not base + scale·B·A: {worst.module} is off by "
            f"{(worst.off or 0.0) * 100:.2g} % of its norm and holds the adapter {worst.times or 0.0:.2f} times."
        )
        return Fact(ID, True, text, worst.module)
    if known:
        return Fact(ID, False, f"All {len(known)} merged matrices are base + scale·B·A within rounding.", probe=PROBE)
    return None


def _export(export: Checkpoint, base: Checkpoint) -> tuple[list[Fact], Table, str]:
    """A whole model without pairs: what of it differs from the base."""
    common = [name for name in export.weights if name in base.weights]
    if not common:
        raise TraindxError(
            f"{export.path} holds no adapter pairs and has no tensor in common with {base.path}.",
            "Give an adapter (adapter_model.safetensors) or an export of this base.",
        )
    matrices = [name for name in common if len(export.weights[name].shape) == 2]
    reshaped = [name for name in matrices if export.weights[name].shape != base.weights[name].shape]
    ways = {name: drift(base.weights[name], export.weights[name]) for name in matrices}
    moved = [name for name, way in ways.items() if way is not None and not way.identical]
    text = f"{len(moved)} of {len(matrices)} matrices differ from {base.path.name}."
    if reshaped:
        one = reshaped[0]
        text += f" {one} has {export.weights[one].shape[0]} rows, in the base {base.weights[one].shape[0]}."
    rows = tuple(_change(name, way.change if way is not None else None) for name, way in list(ways.items())[:SHOWN])
    table = Table(f"export against {base.path.name}", ("tensor", "change"), rows)
    same = not moved and not reshaped
    evidence = (
        f"All {len(matrices)} matrices of the export are those of the base: no adapter was merged." if same else text
    )
    return [Fact(ID, same, evidence, None, probe=None if same else PROBE)], table, text


def _change(name: str, change: float | None) -> tuple[Cell, ...]:
    return name, change


def _summary(found: list[Pair], adapter: Checkpoint, base: Checkpoint) -> str:
    scales = sorted({pair.scale for pair in found if pair.scale is not None})
    zero = sum(pair.zero for pair in found)
    parts = [f"{len(found)} adapter pairs of rank {', '.join(map(str, sorted({pair.rank for pair in found})))}"]
    parts.append(f"scale {', '.join(f'{scale:g}' for scale in scales)}" if scales else "no lora_alpha in its config")
    parts.append(f"{sum(pair.base is not None for pair in found)} find their module in {base.path.name}")
    if zero:
        parts.append(f"{zero} add nothing (second matrix zero)")
    saved = [name for name in adapter.weights if not _FIRST.match(name) and "lora" not in name]
    for name in saved[:2]:
        plain = _SAVED.sub("", name).removeprefix("base_model.model.")
        theirs = base.weights.get(plain)
        rows = f", in the base {theirs.shape[0]}" if theirs is not None and theirs.shape else ", not in the base"
        parts.append(
            f"{plain} saved whole, {adapter.weights[name].shape[0] if adapter.weights[name].shape else 1} rows{rows}"
        )
    return "; ".join(parts) + "."


def _row(pair: Pair) -> tuple[Cell, ...]:
    merged = None if pair.off is None else ("yes" if pair.rounded else f"{pair.times or 0.0:.2f} times")
    return (
        pair.module, pair.rank, pair.scale, "yes" if pair.base is not None else "no",
        None if pair.base is None else ("yes" if pair.fits else "no"), pair.added, merged,
    )  # fmt: skip


def _badness(pair: Pair) -> tuple[bool, bool, bool, bool]:
    return pair.base is not None, pair.fits, pair.rounded, not pair.zero
