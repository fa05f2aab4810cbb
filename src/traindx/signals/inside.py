"""What logs sometimes carry about the inside of the training: series by layer and by rank, NaN and Inf, loss scaler.

Everything here is asked by several symptoms; what is measured on one quantity alone lives in its symptom.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from traindx.meaning import Kind, tokens_of
from traindx.run import Floats, Run, Series
from traindx.signals import Signals, lookup
from traindx.signals.choose import usable
from traindx.signals.curve import Curve

LEARNED = 0.5  # of the first loss gone: whatever the inside looks like, this training works
MIN_RATIOS = 3  # values of an update ratio
START = 0.1  # of the run: fresh layers near zero move by a large share at first
OPENING = 5  # rows
NOT_FINITE = 1e300  # MLflow's database stores Inf as ±1.797e308
FAILED_NORM = -1.0  # what DeepSpeed returns for a gradient norm that is NaN or Inf (stage_1_and_2.py)
_RANK = re.compile(r"(?:^|[^a-z])(?:rank|replica|worker|gpu|device|proc|node)[ _./-]?(\d+)", re.IGNORECASE)
FEW_ROWS = 30  # more rows of epochs may be single steps
_NUMBER = re.compile(r"\d+")
# sizes that do not compare with those of weight matrices: one value a channel, rows used by few samples
_BIAS = re.compile(r"(^|\W)(bias|b\d*)(_\w+)?$")
_SMALL_PARAMETER = re.compile(r"(bias|norm|(^|\W)(ln|bn)|embed|(^|\W)(wte|wpe|pos)|(^|\W)b\d*$)")


def rank_of(series: Series) -> int | None:
    """The rank a series was logged for: 'rank0/grad_norm', 'loss_gpu_3'."""
    found = _RANK.search(series.name)
    return int(found.group(1)) if found else None


def by_rank(run: Run, *kinds: Kind) -> dict[str, list[Series]]:
    """Series of these kinds that were logged once a rank, under the name they share; two ranks at least."""
    groups: dict[str, list[Series]] = defaultdict(list)
    for series in usable(run, *kinds):
        if rank_of(series) is not None:
            groups[_RANK.sub(" rank", series.name).strip()].append(series)
    return {name: members for name, members in groups.items() if len(members) >= 2}


def layers(run: Run, kind: Kind, matrices: bool = False) -> list[Series]:
    """The series of one kind that name a layer or parameter; `matrices` leaves out biases, norms and embeddings."""
    found = [series for series in usable(run, kind) if series.meaning.where and rank_of(series) is None]
    return only_matrices(found) if matrices else found


def only_matrices(series: list[Series]) -> list[Series]:
    """Without biases, norms and embeddings, unless there is nothing else."""
    return [one for one in series if not _SMALL_PARAMETER.search(one.meaning.where)] or series


def whole(run: Run, kind: Kind, part: str = "") -> Series | None:
    """The longest series of one kind that speaks of the whole model."""
    found = [series for series in usable(run, kind) if not series.meaning.where and series.meaning.part == part]
    return max(found, key=len, default=None)


def level(values: Floats) -> float:
    """The median of what is finite; NaN where nothing is."""
    finite = values[np.abs(values) < NOT_FINITE]
    return float(np.median(finite)) if len(finite) else float("nan")


def objective(signals: Signals, fewest: int = 5) -> Curve | None:
    """The curve that says whether the training works: the training loss, in reinforcement learning the return."""
    curve = signals.main if signals.kind == "rl" else signals.train or signals.val
    return curve if curve is not None and len(curve) >= fewest else None


def travel(run: Run, fewest: int) -> tuple[float, float] | None:
    """How far the weights are from where they began, by their size, at the end of at least so many updates: distance
    and step. Only a recording knows it."""
    series = run.series.get("weight_travel")
    if series is None or not len(series) or series.steps[-1] < fewest or not np.isfinite(series.values[-1]):
        return None
    return float(series.values[-1]), float(series.steps[-1])


def learned(curve: Curve | None) -> bool | None:
    """Whether the objective made real progress: half of a loss gone, a return or score that clearly rose; None where
    there is no curve to tell."""
    if curve is None:
        return None
    if curve.sign < 0:
        return curve.progress > 5 * max(curve.level_noise, 1e-300) and curve.rise < 0.5 * curve.progress
    start = _start(curve)
    return start - curve.best >= LEARNED * abs(start) and curve.rise < 0.5 * (start - curve.best)


def left_over(curve: Curve) -> float:
    """The share of its first value that a loss ends at."""
    start = _start(curve)
    return curve.now / start if curve.sign > 0 and start > 0 else 0.0


def _start(curve: Curve) -> float:
    """A run that explodes in its first steps comes back from very high up: only what lies below the start is
    learned."""
    return min(curve.initial, float(curve.y[0]))


@dataclass(frozen=True)
class Nonfinite:
    """NaN or Inf in one series. `ending` counts the rows at the end that are not finite, `lasting` says that it did not
    come back; `late_share` is how much of the run after its start-up (a tenth, at least fifty rows where there are that
    many) is not finite."""

    series: Series
    word: str
    first: float
    last: float
    count: int
    ending: int
    lasting: bool
    late_share: float

    @property
    def sentence(self) -> str:
        name, total = self.series.name, len(self.series)
        place = f"{self.series.axis} {self.first:g}"
        if self.lasting:
            return f"{name} is {self.word} from {place} and stays so"
        after = "finite again after" if not self.ending else "the last one included"
        return f"{name} is {self.word} in {self.count} of {total} values, first at {place}, {after}"


def nonfinite(series: Series) -> Nonfinite | None:
    """The NaN and Inf of a series; a lone NaN in the first row is what loggers print before they have measured."""
    bad = ~(np.abs(series.values) < NOT_FINITE)
    if series.meaning.kind == "grad_norm" and series.meaning.stat == "mean":
        bad |= series.values == FAILED_NORM
    places = np.flatnonzero(bad)
    count = len(series)
    if not len(places) or (len(places) == 1 and places[0] == 0 and count >= 3):
        return None
    first = float(series.values[places[0]])
    word = "NaN" if np.isnan(first) else "-1 (DeepSpeed's sign for NaN or Inf)" if first == FAILED_NORM else "Inf"
    good = np.flatnonzero(~bad)
    ending = count - 1 - int(good[-1]) if len(good) else count
    lasting = ending >= 3 or ending >= max(1, 0.5 * (count - places[0]))
    after = bad[_start_up(series, bad) :]
    return Nonfinite(
        series, word, float(series.steps[count - ending if lasting else places[0]]), float(series.steps[places[-1]]),
        len(places), ending, lasting, float(after.mean()) if len(after) else 0.0,
    )  # fmt: skip


def _start_up(series: Series, bad: NDArray[np.bool_]) -> int:
    """Rows in which a scaler may still look for its scale: fifty single steps, a tenth of the log, and where rows are
    further apart those before the first finite one."""
    count = len(series)
    single = series.axis == "step" and count > 1 and float(np.median(np.diff(series.steps))) <= 1.0
    first = int(np.argmin(bad)) + 1 if not bad.all() else 0
    return max(count // 10, min(50, count // 2) if single or count > FEW_ROWS else first)


def scaler_in_use(signals: Signals) -> bool:
    """Whether a loss scaler works here: its scale moves or is large, steps are skipped, or the config says fp16."""
    for series in usable(signals.run, "loss_scale"):
        finite = series.values[np.isfinite(series.values)]
        if len(finite) and (finite.max() > finite.min() or finite.max() > 1):
            return True
    if any(np.nansum(series.values) > 0 for series in usable(signals.run, "skipped")):
        return True
    return bool(lookup.half_precision(signals.run.config))


@dataclass(frozen=True)
class Profile:
    """Levels along the depth of the model, input side first. `ratio` is first by last; `order` is +1 where the levels
    rise all the way from input to output and -1 where they fall."""

    names: tuple[str, ...]
    levels: Floats
    steps: tuple[float, float]
    ratio: float
    order: float

    @property
    def summary(self) -> str:
        return (
            f"{self.names[0]} has {self.levels[0]:.3g} and {self.names[-1]} has {self.levels[-1]:.3g}, a ratio of "
            f"{self.ratio:.2g} over {len(self.names)} layers (healthy 0.01 to 100)"
        )


def depth_profile(series: list[Series]) -> Profile | None:
    """Levels layer by layer, for at least three layers. Layers that differ only in a number ('layers.3.mlp.weight') are
    compared with each other, since they have the same shape; else the order in the log counts, for at least four."""
    families: dict[str, list[tuple[int, Series]]] = defaultdict(list)
    for one in series:
        number = _NUMBER.search(one.meaning.where)
        if number is not None:
            families[_NUMBER.sub("#", one.meaning.where, count=1)].append((int(number.group()), one))
    family = max(families.values(), key=len, default=[])
    if len(family) >= 3:
        chosen = [one for _, one in sorted(family, key=lambda pair: pair[0])]
    elif len(series) >= 4:
        chosen = series
    else:
        return None
    levels = np.array([level(np.abs(one.values)) for one in chosen])
    known = np.isfinite(levels) & (levels > 0)
    if known.sum() < 3:
        return None
    levels = levels[known]
    pairs = len(levels) * (len(levels) - 1) / 2
    signs = np.sign(levels[None, :] - levels[:, None])
    names = tuple(one.meaning.where for one, keep in zip(chosen, known, strict=True) if keep)
    steps = (float(chosen[0].steps[0]), float(chosen[0].steps[-1]))
    return Profile(names, levels, steps, float(levels[0] / levels[-1]), float(np.triu(signs, 1).sum() / pairs))


def fractions(series: Series) -> Floats | None:
    """A share logged as a fraction or in percent, as a fraction; None for counts, whose total is unknown."""
    finite = series.values[np.isfinite(series.values)]
    if not len(finite) or finite.min() < 0 or finite.max() > 100:
        return None
    percent = finite.max() > 1.01 or bool({"pct", "percent"} & set(tokens_of(series.name)))
    return series.values / 100 if percent else series.values


def late_share(series: Series) -> float:
    """The share over the last few values, as a fraction."""
    values = fractions(series)
    return 0.0 if values is None else level(values[-max(1, min(len(values) // 10, 5)) :])


def update_ratios(run: Run) -> list[Series]:
    """Update by weight, for the model or by parameter: as logged, from its logarithm, or from the two norms."""
    found: list[Series] = []
    weights = {series.meaning.where: series for series in usable(run, "weight_norm")}
    for series in usable(run, "update_ratio"):
        finite = series.values[np.isfinite(series.values)]
        if series.meaning.part == "norm":
            weight = weights.get(series.meaning.where)
            if weight is not None and np.array_equal(weight.steps, series.steps) and np.all(weight.values > 0):
                found.append(
                    replace(series, name=f"{series.name} / {weight.name}", values=series.values / weight.values)
                )
        elif len(finite) and finite.max() < 0:
            found.append(replace(series, values=10.0**series.values))
        elif len(finite) and finite.min() >= 0:
            found.append(series)
    return [series for series in found if rank_of(series) is None]


def ratio_curves(run: Run) -> list[Curve]:
    """Update by weight of the model or of its matrices, wherever a few values of it are known."""
    found = only_matrices(update_ratios(run))
    if all(one.meaning.where and _BIAS.search(one.meaning.where) for one in found):
        return []  # they begin at zero, where any step is a large share
    return [Curve(one) for one in found if np.isfinite(one.values).sum() >= MIN_RATIOS]


def opening_ratio(curves: list[Curve]) -> float:
    """The size of the first updates, where the log has them: of the whole model, else of the median layer, since single
    layers may begin at zero."""
    model = [one for one in curves if not one.series.meaning.where] or curves
    first = [one for one in model if one.x[0] <= START * one.x[-1] or len(one) <= OPENING]
    return float(np.median([np.median(one.y[:OPENING]) for one in first])) if first else 0.0


def significant_digits(value: float) -> int:
    """How many digits a log printed of a value."""
    mantissa = f"{abs(value):.15e}".split("e")[0].replace(".", "").rstrip("0")
    return len(mantissa)


def printed_step(values: Floats) -> float:
    """The last decimal a log printed (0.001 for '0.123'), or 0 where the values carry more than six."""
    known = values[np.isfinite(values)][:500]
    for decimals in range(7):
        scaled = known * 10.0**decimals
        # relative for what is below 1: numbers of 1e-8 are no zeros with a rounding error
        if np.all(np.abs(scaled - np.round(scaled)) <= 1e-6 * np.minimum(1.0, np.abs(scaled))):
            return float(10.0**-decimals)
    return 0.0
