"""Double descent across runs: what was reached falls, rises and falls again as models grow or trainings last longer."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from traindx.comparison.result import Descent
from traindx.comparison.settings import Table, numeric
from traindx.comparison.summary import Measure
from traindx.run import Floats
from traindx.signals.stats import noise_sigma

LEAST_LEVELS = 6
HUMP = 0.1  # of the first best: the hump must stand out as far
DEEPER = 0.02  # and the second descent go below the first best by this share
SEEDS = 3.0  # standard deviations between seeds that the hump must exceed
_LENGTHS = frozenset({"epochs", "steps"})
_SIZES = re.compile(
    r"(^|[._/])(parameters|n?_?params|num_parameters|width|hidden(_size|_dim|_units)?|d_model|n_embd|embed_dim|model_size|depth|"
    r"n_layers?|num_layers|channels|units|size|k|n_hidden|features)$",
    re.IGNORECASE,
)


def find_descents(
    table: Table, measures: Sequence[Measure | None], finals: Floats, groups: Sequence[Sequence[int]]
) -> list[Descent]:
    """Second descents over model size or length of training. `finals` are lower-is-better: the hump is where training
    ends."""
    found = []
    for name in table.names:
        if name not in _LENGTHS and not _SIZES.search(name):
            continue
        points = _curve_over(name, table, finals, groups)
        if points is None:
            continue
        x, y, noise = points
        descent = second_descent(x, y, noise)
        if descent is None:
            continue
        first, hump, second = descent
        sign = next(measure.sign for measure in measures if measure is not None)
        kind = "length of training" if name in _LENGTHS else "model size"
        sentence = (
            f"Over {kind} ({name}) it falls to {sign * y[first]:.4g} at {x[first]:g}, rises to {sign * y[hump]:.4g} at "
            f"{x[hump]:g} and "
            f"falls to {sign * y[second]:.4g} at {x[second]:g}: double descent. The hump is no reason to stop or "
            f"shrink."
        )
        if sign < 0:
            sentence = sentence.replace("falls to", "rises to").replace(
                f"rises to {sign * y[hump]:.4g}", f"falls to {sign * y[hump]:.4g}"
            )
        places = [(float(x[i]), float(sign * y[i])) for i in (first, hump, second)]
        found.append(Descent(name, places[0], places[1], places[2], sentence))
    return found


def second_descent(x: Floats, y: Floats, noise: float = 0.0) -> tuple[int, int, int] | None:
    """The places of the first best, the hump and the second best; None where there is no second descent."""
    best: tuple[float, tuple[int, int, int]] | None = None
    for hump in range(2, len(y) - 2):
        first = int(np.argmin(y[:hump]))
        second = hump + 1 + int(np.argmin(y[hump + 1 :]))
        if first == 0:  # it must have fallen first
            continue
        scale = max(abs(float(y[first])), 1e-300)
        rise, deeper = float(y[hump] - y[first]), float(y[first] - y[second])
        wide = int((y[first + 1 : second] > y[first] + rise / 3).sum()) >= 2  # one bad run is no hump
        stands_out = rise > max(HUMP * scale, SEEDS * noise) and wide
        fell = deeper > max(DEEPER * scale, noise) and y[0] - y[first] > DEEPER * scale
        if stands_out and fell and (best is None or rise > best[0]):
            best = (rise, (first, hump, second))
    return None if best is None else best[1]


def _curve_over(
    name: str, table: Table, finals: Floats, groups: Sequence[Sequence[int]]
) -> tuple[Floats, Floats, float] | None:
    """Mean outcome by value among the most runs that agree in everything else, and the scatter between seeds."""
    others = [other for other in table.names if other != name]
    shelves: dict[object, list[int]] = {}
    for i, row in enumerate(table.values):
        if numeric(row[name]) and np.isfinite(finals[i]):
            shelves.setdefault(tuple(row[other] for other in others if not _SIZES.search(other)), []).append(i)
    members = max(shelves.values(), key=len, default=[])
    by_value: dict[float, list[float]] = {}
    for i in members:
        by_value.setdefault(float(table.values[i][name]), []).append(float(finals[i]))
    if len(by_value) < LEAST_LEVELS:
        return None
    x = np.array(sorted(by_value))
    y = np.array([np.mean(by_value[value]) for value in x])
    repeated = [np.std(values, ddof=1) for values in by_value.values() if len(values) > 1]
    # without seeds, how far neighbours stray from a straight line bounds the noise from above where the curve is smooth
    noise = float(np.median(repeated)) if repeated else min(noise_sigma(y), float(np.ptp(y)) / 20)
    return x, y, noise
