"""Does a weight still look as it was initialised? Compared are the distributions that libraries start from.

A uniform start has sharp edges: of n weights the largest lies within about 1/n of the bound, and any training pushes
some beyond it, so that a layer which still ends exactly there was hardly moved. A normal start has no edge; there the
standard deviation, which n weights fix to 1/√(2n), and the shape must agree."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from traindx.checkpoints.measure import Stats
from traindx.checkpoints.tensor import HALF

FEWEST_UNIFORM = 256  # elements from which the edges are sharp enough
FEWEST_NORMAL = 1 << 16  # fewer fix the standard deviation too loosely to tell a start from a trained layer
EDGE = 30.0  # the largest of n lies this many n-ths below the bound with a chance of e^-30
SIGMAS = 4.0
KOLMOGOROV = (
    1.95  # √m · distance beyond which a sample of m has less than one chance in a thousand to be of the distribution
)
_RECURRENT = re.compile(r"weight_[ih]h(_l\d+)?(_reverse)?$")
_EMBEDDING = re.compile(r"embed|(^|\.)(wte|wpe|emb|tok|shared)\b", re.IGNORECASE)


def initial(stats: Stats, config: Mapping[str, Any] | None = None) -> str:
    """The start this tensor cannot be told from ('uniform ±1/√fan-in'), or ''."""
    tensor = stats.tensor
    if stats.nonfinite or tensor.dtype not in ("F64", "F32", *HALF) or not tensor.size:
        return ""
    if len(tensor.shape) < 2:
        return _constant(stats)
    if stats.constant is not None or stats.std == 0:
        return ""
    if tensor.size >= FEWEST_UNIFORM:
        for label, bound in _bounds(stats):
            if _uniform(stats, bound):
                return label
    if tensor.size >= FEWEST_NORMAL:
        for label, std in _deviations(stats, config or {}):
            if _normal(stats, std):
                return label
    return ""


def is_embedding(name: str) -> bool:
    return bool(_EMBEDDING.search(name))


def _constant(stats: Stats) -> str:
    """Gains and biases of normalisation layers begin at one and zero; a bias of zeros may also be one that nobody
    trains."""
    return {0.0: "zeros", 1.0: "ones"}.get(stats.constant if stats.constant is not None else math.nan, "")


def _bounds(stats: Stats) -> Iterator[tuple[str, float]]:
    """Uniform starts: torch's own for linear, convolution and recurrent layers, Xavier (Glorot), He (Kaiming)."""
    tensor = stats.tensor
    fan_in, fan_out = tensor.row_size, tensor.rows * math.prod(tensor.shape[2:])
    yield "uniform ±1/√fan-in", 1 / math.sqrt(fan_in)
    yield "uniform Xavier", math.sqrt(6 / (fan_in + fan_out))
    yield "uniform He", math.sqrt(6 / fan_in)
    if _RECURRENT.search(stats.name):
        for gates in (4, 3, 1):
            if tensor.rows % gates == 0:
                yield "uniform ±1/√hidden", 1 / math.sqrt(tensor.rows // gates)


def _deviations(stats: Stats, config: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Normal starts: embeddings, transformers of Hugging Face and GPT-2's scaled projections, He, Xavier, LeCun."""
    tensor = stats.tensor
    fan_in, fan_out = tensor.row_size, tensor.rows * math.prod(tensor.shape[2:])
    stated = config.get("initializer_range")
    base = float(stated) if isinstance(stated, int | float) and 0 < stated < 10 else 0.02
    layers = next((config[key] for key in ("n_layer", "num_hidden_layers") if isinstance(config.get(key), int)), 0)
    yield f"normal {base:g}", base
    if layers > 0:
        yield f"normal {base:g}/√(2·layers)", base / math.sqrt(2 * layers)
    if is_embedding(stats.name):
        yield "normal 1", 1.0
        return
    yield "normal He", math.sqrt(2 / fan_in)
    yield "normal He, fan-out", math.sqrt(2 / fan_out)
    yield "normal Xavier", math.sqrt(2 / (fan_in + fan_out))
    yield "normal LeCun", math.sqrt(1 / fan_in)


def _uniform(stats: Stats, bound: float) -> bool:
    rounding = 2.0 ** -HALF.get(stats.tensor.dtype, 20)
    if not bound * (1 - EDGE / stats.size - rounding) <= stats.largest <= bound * (1 + rounding):
        return False
    places = (np.sort(stats.sample.astype(np.float64)) / bound + 1) / 2
    return _agrees(places, rounding)


def _normal(stats: Stats, std: float) -> bool:
    rounding = 2.0 ** -HALF.get(stats.tensor.dtype, 20) / 4
    error = 1 / math.sqrt(2 * stats.size) * SIGMAS + rounding
    if abs(stats.std / std - 1) > error or abs(stats.mean) > SIGMAS * std / math.sqrt(stats.size):
        return False
    ordered = np.sort(stats.sample.astype(np.float64)) / std
    places = np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in ordered])
    return _agrees(places, rounding)


def _agrees(places: np.ndarray[Any, np.dtype[np.float64]], rounding: float) -> bool:
    """The Kolmogorov-Smirnov test of a sorted sample that should be uniform on 0…1."""
    count = len(places)
    steps = np.arange(1, count + 1) / count
    distance = max(float(np.max(steps - places)), float(np.max(places - steps + 1 / count)))
    return (distance - rounding) * math.sqrt(count) < KOLMOGOROV
