"""How much of a change: when a tenth of the rate helped, whether a hundredth or a third helps more. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from traindx.trials.setting import Setting

# settings whose strength is worth finding, and how far apart two strengths are tried first (powers of ten)
REACH = {"lr": 1.0, "batch_size": math.log10(4.0), "clip": 2.0}
HALVED = 0.9  # powers of ten between two strengths, from which the middle is worth an arm
FURTHEST = 6.0
_SAME = 0.05


def strength(settings: Sequence[Setting]) -> float | None:
    """The power of ten by which a change scales what the script has; None where it is no such change."""
    if len(settings) != 1 or settings[0].name not in REACH or not settings[0].scales:
        return None
    factor = settings[0].number(1.0)
    return math.log10(factor) if factor > 0 and factor != 1.0 else None


def at(settings: Sequence[Setting], power: float) -> tuple[Setting, ...]:
    """The same change with this strength."""
    return (Setting(settings[0].name, f"x{float(f'{10**power:.2g}'):g}"),)


def neighbours(name: str, best: float, tried: Sequence[float]) -> Iterator[float]:
    """Strengths not tried yet around the best one, on its side of no change at all: further on where nothing stronger
    was tried, and half way to what was. No change is strength 0, and counts as tried."""
    way = math.copysign(1.0, best)
    known = sorted({0.0, *(abs(one) for one in tried if one * way > 0)})
    place = min(range(len(known)), key=lambda index: abs(known[index] - abs(best)))
    if place == len(known) - 1 and known[place] + REACH[name] <= FURTHEST:
        yield way * (known[place] + REACH[name])
    for other in (place + 1, place - 1):
        if 0 <= other < len(known) and abs(known[other] - known[place]) >= HALVED:
            middle = (known[other] + known[place]) / 2
            if all(abs(middle - one) > _SAME for one in known):
                yield way * middle
