"""Values that scatter so widely that no movement shows in them."""

from __future__ import annotations

import numpy as np

from traindx.signals.curve import Curve
from traindx.signals.stats import rank_sum

WIDE = 0.5  # of the middle value: the scatter of losses of single samples
FIRST = 5  # values, and a twentieth of them
SURE = 2.0  # standard deviations


def scatters(curve: Curve) -> bool:
    """The values scatter by their own size, so that the level of a few of them tells nothing: it may seem to fall where
    nothing is learnt, or to rest where much is."""
    return len(curve) >= 2 * FIRST and 0 < curve.noise >= WIDE * float(np.median(np.abs(curve.y)))


def lost_in_noise(curve: Curve) -> bool:
    """They scatter like that, the first of them do not differ from the later ones, and there is no trend, by their
    ranks."""
    if not scatters(curve):
        return False
    values = curve.y
    starts = {FIRST, max(FIRST, len(values) // 20)}
    moved = any(rank_sum(values[:start], values[start:]) > SURE for start in starts)
    return not moved and curve.tail_trend(1.0)[1] > -SURE
