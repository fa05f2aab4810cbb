"""Which runs of a directory are one training that was written twice: text and JSON, TensorBoard and CSV, a folder that
was copied.

A copy has the same values at the same steps, as far as the coarser of the two logs was printed. Values that merely
occur somewhere in the other log do not make one: those of any short run lie between those of a long and noisy one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np

from traindx.meaning import OBJECTIVES
from traindx.run import Floats, Run, Series

_LEAST_POINTS = 3
_COMPARED = 50  # values, spread over the whole series
_SHARED = 0.9  # of the steps of a copy must be in the other log: the last lines of one of them may not be written yet
_SHIFTS = (0.0, 1.0, -1.0)  # one tool counts from 0, another from 1
_FLOAT32 = 1e-6  # relative: TensorBoard keeps single precision, with 24 bits
_PRINTED = 15  # significant digits beyond which a float is not printed on purpose
_CHANCE = 6.0  # decimal digits that must agree in all: unrelated values of this spread do so once in a million
_NEAR = 2  # folders between a log and the folder that both logs share


def without_copies(runs: Sequence[Run]) -> list[Run]:
    """The runs in their order, without those that repeat another one. The one that knows most is kept; it learns the
    settings of its copies and names them (`Run.copies`)."""
    if len(runs) < 2:
        return list(runs)
    kept: dict[tuple[str, str], list[Run]] = {}  # by format and folder
    whole: dict[
        Hashable, Run
    ] = {}  # by everything a tool wrote: a folder that was copied is found without comparing curves
    left_out: set[int] = set()
    for run in sorted(runs, key=lambda run: (-len(run.series), -run.points)):
        key = _everything(run)
        original = whole.get(key)
        if original is None or original.source == run.source:
            original = next((other for other in _candidates(run, kept) if _same_training(run, other)), None)
        if original is not None:
            original.config = {**run.config, **original.config}
            original.copies.append(run.source)
            left_out.add(id(run))
            continue
        kept.setdefault((run.format, _folder(run)), []).append(run)
        if key is not None:
            whole.setdefault(key, run)
    return [run for run in runs if id(run) not in left_out]


def _folder(run: Run) -> str:
    return os.path.dirname(run.source) or "."


def _candidates(run: Run, kept: Mapping[tuple[str, str], Sequence[Run]]) -> Iterator[Run]:
    """Runs that may be the same training: a tool writes a training once, so what it wrote into two folders is two
    trainings unless it is a whole copy."""
    mine = _folder(run)
    for (format, folder), others in kept.items():
        if folder == mine or (format != run.format and _near(mine, folder)):
            yield from others


def _everything(run: Run) -> Hashable:
    """What two whole copies share: every objective value for value, with its steps and times. None where there is too
    little to tell."""
    stated = [series for series in run.of(*OBJECTIVES) if len(series)]
    if not any(len(series) >= _LEAST_POINTS and _varies(series.values) for series in stated):
        return None
    digest = hashlib.blake2b(digest_size=16)
    for series in sorted(stated, key=lambda series: series.name):
        digest.update(series.name.encode())
        for numbers in (series.steps, series.values, series.times):
            digest.update(b"none" if numbers is None else numbers.tobytes())
    return run.format, digest.digest()


def _varies(values: Floats) -> bool:
    finite = values[np.isfinite(values)]
    return len(finite) > 1 and bool(finite.max() > finite.min())


def _same_training(run: Run, other: Run) -> bool:
    """Whether the log of `other` holds all that this one tells of the training."""
    if run.source == other.source:
        return False
    if not run.points:  # a table without a number beside one that has some
        return not run.events and _folder(run) == _folder(other) and bool(other.points)
    longest = max((series for series in run.of(*OBJECTIVES) if len(series) >= _LEAST_POINTS), key=len, default=None)
    return longest is not None and any(_agree(longest, series) for series in other.of(*OBJECTIVES))


def _near(one: str, other: str) -> bool:
    if one == other:
        return True
    first, second = one.split(os.sep), other.split(os.sep)
    shared = next(
        (place for place, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        len(min(first, second, key=len)),
    )
    return max(len(first), len(second)) - shared <= _NEAR


def _agree(mine: Series, theirs: Series) -> bool:
    """Whether all of these values are in the other series, at the same steps; where one counts epochs and the other
    steps, whether both are the same values one after the other."""
    if len(theirs) < _LEAST_POINTS:
        return False
    if mine.axis != theirs.axis:
        return len(mine) == len(theirs) and _equal(mine.values, theirs.values)
    for shift in _SHIFTS:
        steps = mine.steps + shift
        place = np.minimum(np.searchsorted(theirs.steps, steps), len(theirs) - 1)
        found = theirs.steps[place] == steps
        if found.mean() >= _SHARED and _equal(mine.values[found], theirs.values[place[found]]):
            return True
    return False


def _equal(one: Floats, other: Floats) -> bool:
    """Whether the values are the same as far as the coarser ones are printed, and tell enough for that to be no
    accident."""
    finite = np.isfinite(one) & np.isfinite(other)
    if np.any(np.isfinite(one) != np.isfinite(other)):
        return False
    one, other = one[finite], other[finite]
    if len(one) < _LEAST_POINTS:
        return False
    few = np.unique(np.linspace(0, len(one) - 1, _COMPARED).astype(int))
    apart = np.abs(one[few] - other[few])
    if np.any(apart > 0.1 * np.maximum(np.abs(one[few]), np.abs(other[few]))):  # no rounding of a log is that coarse
        return False
    unit = np.maximum(_unit(one[few]), _unit(other[few]))
    if np.any(apart > 1.01 * unit):  # a whole unit: some loggers cut digits off instead of rounding
        return False
    with np.errstate(over="ignore"):  # what is infinitely many units apart tells enough
        distinct = np.log10(np.maximum(np.ptp(one) / unit, 1.0)).sum()
    return bool(one.max() > one.min() and distinct >= _CHANCE)


def _unit(values: Floats) -> Floats:
    """The last printed digit of each value, told from the values themselves: as many decimals, or as many significant
    digits, as any of them has."""
    decimals = digits = 0
    for value in values:
        mantissa, _, exponent = f"{abs(value):.{_PRINTED}g}".partition("e")
        after = len(mantissa.partition(".")[2])
        decimals = max(decimals, after - int(exponent or 0))
        digits = max(digits, len(mantissa.replace(".", "").strip("0")))
    size = np.floor(np.log10(np.maximum(np.abs(values), 1e-300)))
    return np.maximum(np.maximum(10.0**-decimals, 10.0 ** (size - digits + 1)), _FLOAT32 * np.abs(values))
