"""From the arms of a trial to a verdict. Pure: numbers in, verdict out.

An effect is the logarithm of how many times smaller the error became, pair by pair: both arms of a pair share their
seed and their data. Seeds are the unit, since what differs from seed to seed is what a single curve cannot show; the
interval is Student's over pairs. A single pair is never called 'helped'.

Something helped if the error became smaller beyond doubt; or if a fault that was seen itself is gone and the error has
not grown, neither beyond doubt nor by a twentieth on average: a softmax too many on an easy task costs little, and is a
fault all the same. The two are not the same claim, so `basis_of` tells them apart wherever a verdict is shown. Which
symptoms went is said beside it, and decides between changes that help alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Verdict = Literal["helped", "no-effect", "worse", "failed"]
Basis = Literal["error", "fault"]

MAX_EFFECT = math.log(100.0)  # an effect beyond this, or from NaN to a number, counts as this much
LOST = 2.0
MIN_EFFECT = math.log(1.1)  # an error that is a tenth smaller: less is not worth a change
SCREEN = math.log(1.05)  # from which a fix is worth more seeds
SCATTER = 0.05  # between pairs, at least: three pairs that agree by chance are not certainty
STUDENT = {
    2: 12.71,
    3: 4.303,
    4: 3.182,
    5: 2.776,
    6: 2.571,
    7: 2.447,
    8: 2.365,
    9: 2.306,
    10: 2.262,
}  # 97.5 %, by pairs
TOLERATED = math.log(1.25)  # in one pair, where a fault is gone: chance decides between close errors
GROWN = math.log(1.05)  # and on average over several
LEAST_SPEED = math.log(1.2)  # clocks of busy machines are worse judges


@dataclass(frozen=True)
class Effect:
    """Before and after are means over the pairs; `interval` bounds after ÷ before (95 %)."""

    metric: str
    before: float
    after: float
    interval: tuple[float, float] | None
    size: float  # mean logarithm of before ÷ after: positive is better
    low: float
    high: float
    pairs: int


def effect_of(metric: str, floor: float, pairs: Sequence[tuple[float, float]], chance: float = math.nan) -> Effect:
    """Pairs of (before, after); infinite where a training was lost. That counts as LOST times what chance reaches,
    where that is known: a fix that only keeps the numbers finite has not made it learn."""
    sizes = np.array([_size(before, after, floor, chance) for before, after in pairs])
    size, count = float(sizes.mean()), len(sizes)
    if count == 1:
        low, high = -math.inf, math.inf
    else:
        scatter = max(float(sizes.std(ddof=1)), SCATTER)
        half = STUDENT.get(count, 2.26) * scatter / math.sqrt(count)
        low, high = size - half, size + half
    interval = None if count == 1 else (math.exp(-high), math.exp(-low))
    return Effect(
        metric, _mean([b for b, _ in pairs]), _mean([a for _, a in pairs]), interval, size, low, high, count
    )  # fmt: skip


def _size(before: float, after: float, floor: float, chance: float) -> float:
    if math.isfinite(chance):
        before, after = min(before, LOST * chance), min(after, LOST * chance)
    if not math.isfinite(after):
        return 0.0 if not math.isfinite(before) else -MAX_EFFECT
    if not math.isfinite(before):
        return MAX_EFFECT
    if min(before, after) < 0:  # a loss that has no zero: its distance, in units of its size
        return float(np.clip((before - after) / (abs(before) + abs(after) + 1e-12), -MAX_EFFECT, MAX_EFFECT))
    tiny = max(floor, 1e-12)
    return float(np.clip(math.log((before + tiny) / (after + tiny)), -MAX_EFFECT, MAX_EFFECT))


def _mean(values: Sequence[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return sum(finite) / len(finite) if 2 * len(finite) > len(values) else math.inf


def verdict_of(
    effect: Effect | None,
    wanted: Sequence[str],
    cleared: Sequence[str],
    broke: Sequence[str],
    *,
    speed: bool = False,
    repaired: bool = False,
    pairs: int = 1,
) -> Verdict:
    """`wanted`: symptoms that were there and should go; `cleared`: those that went; `broke`: grave ones that came.
    `repaired`: a fault that the recording had seen itself is gone in every pair; then it is enough that the error has
    not grown. `pairs` counts where there is no effect to count them."""
    if broke:
        return "worse"
    if effect is None:
        gone = repaired or (bool(wanted) and set(cleared) == set(wanted))
        return "helped" if gone and pairs > 1 else "no-effect"
    least = LEAST_SPEED if speed else MIN_EFFECT
    # a training that is lost with the change as without it has more wrong with it than the fault that is gone
    grown = effect.size <= -(TOLERATED if effect.pairs == 1 else GROWN) or effect.high < 0
    bearable = repaired and not grown and math.isfinite(effect.after)
    if effect.pairs == 1:
        return "worse" if effect.size < -least and not bearable else "no-effect"
    if effect.high < -least / 2:
        return "worse"
    return "helped" if smaller(effect, speed=speed) or bearable else "no-effect"


def smaller(effect: Effect, *, speed: bool = False) -> bool:
    """Beyond doubt, and by enough to be worth a change."""
    return effect.pairs > 1 and effect.low > 0 and effect.size >= (LEAST_SPEED if speed else MIN_EFFECT)


def basis_of(verdict: Verdict, effect: Effect | None, *, speed: bool = False) -> Basis | None:
    """What 'helped' rests on: a smaller error, or a fault that is gone while the error is much the same or says
    nothing."""
    if verdict != "helped":
        return None
    return "error" if effect is not None and smaller(effect, speed=speed) else "fault"


def promising(effect: Effect | None, wanted: Sequence[str], cleared: Sequence[str]) -> bool:
    """Worth more seeds."""
    if effect is None:
        return bool(cleared)
    return effect.size >= SCREEN or (bool(cleared) and effect.size > -TOLERATED)


def undecided(effect: Effect) -> bool:
    """A change on average, but not a sure one: more seeds may tell."""
    return abs(effect.size) >= MIN_EFFECT and effect.low <= 0 <= effect.high


def doubtful(effect: Effect | None) -> bool:
    """An error that grew a little where a fault is gone: with more seeds it is either chance or the price of the
    change."""
    return effect is not None and -TOLERATED < effect.size < 0
