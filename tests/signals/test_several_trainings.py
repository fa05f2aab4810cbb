"""Several trainings in one recording: the last one is judged."""

from __future__ import annotations

import numpy as np

from traindx.meaning import meaning_of
from traindx.measurements import Measured, TrainingEnd
from traindx.run import Run, Series
from traindx.signals import Signals
from traindx.signals.phases import last_phase


def recorded(*spans: tuple[int, int], held_out: tuple[int, ...] = ()) -> Run:
    """A recording with an optimiser a span of updates."""
    run = Run("example", "memory", measured=[Measured((TrainingEnd(updates=spans[-1][1], cut_short=False),))])
    for number, (first, last) in enumerate(spans):
        suffix = f"/optimizer{number}" if number else ""
        steps = np.arange(first, last, dtype=float)
        for name, value in (("train_loss", 10.0 * number + 1), ("lr", 0.1 / (number + 1))):
            run.series[name + suffix] = Series(name + suffix, meaning_of(name), steps, np.full(len(steps), value))
    if held_out:
        steps = np.array(held_out, float)
        run.series["val_loss"] = Series("val_loss", meaning_of("val_loss"), steps, steps)
    return run


def test_the_training_after_another_is_judged_with_what_was_held_out_of_it() -> None:
    signals = Signals(recorded((0, 100), (100, 250), held_out=(50, 99, 150, 240)))
    assert signals.train is not None
    assert (signals.train.name, len(signals.train), float(signals.train.y[0])) == ("train_loss", 150, 11.0)
    assert signals.lr is not None
    assert float(signals.lr.values[0]) == 0.05
    assert signals.val is not None
    assert signals.val.x.tolist() == [150.0, 240.0]


def test_optimisers_that_take_turns_are_one_training() -> None:
    run = recorded((0, 100), (50, 250))
    assert last_phase(run) is run


def test_a_few_updates_at_the_end_are_not_the_training() -> None:
    run = recorded((0, 1000), (1000, 1030))
    assert last_phase(run) is run
