"""Exponential decay or growth along the depth of a network, as a rate per layer with its error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from traindx.run import Floats

FEWEST = 4  # layers in a row before a slope along them means anything
_MAD = 1.4826  # makes the median deviation a standard deviation for normal scatter


@dataclass(frozen=True)
class Rate:
    """A quantity changes by the factor `per_layer` with every layer towards the output. `error` is the standard error
    of its logarithm, `whole` the factor over all layers along the fitted line."""

    per_layer: float
    error: float
    layers: int

    @property
    def whole(self) -> float:
        return math.exp(max(-700.0, min(700.0, math.log(self.per_layer) * (self.layers - 1))))

    @property
    def certainty(self) -> float:
        """How many standard errors the rate is away from no change."""
        return abs(math.log(self.per_layer)) / max(self.error, 1e-12)

    @property
    def written(self) -> str:
        spread = self.per_layer * self.error
        return f"×{self.per_layer:.3g} ± {spread:.1g} a layer"


def backwards(rate: Rate) -> Rate:
    """The same rate as it is seen from the output."""
    return Rate(1 / rate.per_layer, rate.error, rate.layers)


def rate_along(sizes: Sequence[float]) -> Rate | None:
    """The rate by the median of all pairwise slopes of the logarithm (Theil and Sen), which a few odd layers do not
    move. Sizes of zero or without a finite value are left out; None with too few left."""
    values = np.asarray(sizes, dtype=np.float64)
    use = np.isfinite(values) & (values > 0)
    if use.sum() < FEWEST:
        return None
    x: Floats = np.flatnonzero(use).astype(np.float64)
    y = np.log(values[use])
    first, second = np.triu_indices(len(x), 1)
    slope = float(np.median((y[second] - y[first]) / (x[second] - x[first])))
    rest = y - slope * x
    rest -= np.median(rest)
    scatter = _MAD * float(np.median(np.abs(rest)))
    spread = float(np.sqrt(((x - x.mean()) ** 2).sum()))
    return Rate(math.exp(slope), scatter / spread, len(values))
