"""Values that scatter so widely that no movement shows in them."""

from __future__ import annotations

import numpy as np

from traindx.signals.curve import Curve
from traindx.signals.stats import rank_sum

WIDE = 0.5  # of the middle value: the scatter of losses of single samples
FIRST = 5  # values, and a twentieth of them
SURE = 2.0  # standard deviations


def lost_in_noise(curve: Curve) -> bool:
    """Neither do the first values differ from the later ones, nor is there a trend, by their ranks. The level of a few values
    that scatter by their own size tells nothing, so it may seem to fall where nothing is learnt."""
    values = curve.y
    if len(values) < 2 * FIRST or curve.noise < WIDE * float(np.median(np.abs(values))):
        return False
    starts = {FIRST, max(FIRST, len(values) // 20)}
    moved = any(rank_sum(values[:start], values[start:]) > SURE for start in starts)
    return not moved and curve.tail_trend(1.0)[1] > -SURE
