"""What came of a training: how far its loss left what guessing costs behind, and whether what was held out went along.
A fault that does harm shows there, whatever else was seen of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traindx.signals import Signals
from traindx.signals.chance import BY_VARIANCE, variance_of_targets
from traindx.signals.curve import Curve
from traindx.signals.progress import Progress
from traindx.signals.score import Score
from traindx.thresholds import Threshold

VALUES = Threshold(8, "values of the training loss", "fewer show no course")
KEPT = Threshold(0.2, "of what was gained lost again at the end", "chosen by hand; not fitted", side="below")
HALF = 0.5  # of what guessing costs left, from which learning is plain,
TENTH = 0.1  # and of the first value, where what guessing costs is not known
ALONG = Threshold(
    1.25, "times its own best, held-out loss at the end", "chosen by hand; a usual gap grows less", side="below"
)
GAP = Threshold(0.5, "of what training gained, gained on held-out data", "chosen by hand; not fitted")
GAINED = Threshold(0.3, "of what a score lacks above guessing", "chosen by hand; not fitted")
NOTHING_HELD_OUT = 0.6  # of the weight where nothing tells whether more than the training data was learnt


@dataclass(frozen=True)
class Outcome:
    """`learnt`: 0, nothing that can be told, to 1, plainly. `held_out`: whether held-out data went along, None where
    there are none. `text`: what was seen, for a page."""

    learnt: float
    held_out: bool | None
    text: str


def outcome(signals: Signals) -> Outcome | None:
    """What came of it, where the training loss is one that is made small and can be compared with something."""
    train = signals.train
    if train is None or signals.kind != "supervised" or not signals.ordinary or not VALUES.reached(len(train)):
        return None
    if not np.isfinite(train.series.values).all() or train.sign < 0 or train.now < 0:
        return None
    progress = Progress(train)
    if not progress.moved or not KEPT.reached(progress.lost):
        return None
    level, name, plain = _reference(signals, train)
    if not level > 0:
        return None
    left = train.now / level
    learnt = min(1.0, max(0.0, (1 - left) / (1 - plain)))
    held_out = _went_along(signals, train, level if plain == HALF else None)
    if held_out is False:
        return Outcome(0.0, False, f"{train.name} fell to {left:.2g} of {name}, held-out data did not go along")
    text = f"{train.name} fell to {left:.2g} of {name}"
    text += ", and held-out data went along" if held_out else ""
    return Outcome(learnt * (1.0 if held_out else NOTHING_HELD_OUT), held_out, text)


def _reference(signals: Signals, train: Curve) -> tuple[float, str, float]:
    """The loss of a guess where it is known, else where the loss began; and the share of it that is plainly good."""
    ratio = signals.run.config.get(BY_VARIANCE)
    if isinstance(ratio, float) and ratio > 0:
        return train.now / ratio, "what one answer for everything costs", HALF
    variance = variance_of_targets(signals)
    if variance is not None:
        return variance, "what one answer for everything costs", HALF
    if signals.classes is not None:
        return float(np.log(max(2, signals.classes[0]))), "what guessing costs", HALF
    return train.initial, "its first value", TENTH


def _went_along(signals: Signals, train: Curve, level: float | None) -> bool | None:
    """Whether held-out data were learnt too: by their loss, else by a score; None where neither tells."""
    val, score = signals.val, signals.score
    if val is not None and len(val) >= 2 and val.sign > 0 and np.isfinite(val.series.values).all():
        start = level if level is not None else max(val.initial, train.initial)
        gained, wanted = start - val.now, start - train.now
        return ALONG.reached(val.now / max(val.best, 1e-300)) and GAP.reached(gained / max(wanted, 1e-300))
    if score is not None and len(score) >= 2 and score.series.meaning.split in ("val", "test", ""):
        seen = Score(score)
        if seen.bounded:
            classes = signals.classes[0] if signals.classes is not None else 2
            gained = seen.above_chance(classes)
            return False if gained <= 0 else True if GAINED.reached(gained) and seen.at_its_best else None
    return None
