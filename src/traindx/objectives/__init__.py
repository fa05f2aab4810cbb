"""Objectives by meaning: what each trainer logs, one entry a file, registered by being there.

`understood(run)` is the one place that decides what the series of a run are. It recognises the trainer by the names in
its log and gives every series the meaning that this trainer has for it. A log of no known trainer keeps the meanings of
the general rules (`traindx.meaning`), and the page says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from traindx.bare_names import with_scores
from traindx.meaning import Meaning
from traindx.measurements import AdvantageSpread, EpisodeEnds, PolicyObjective
from traindx.objectives.base import TELLING, Trainer, match
from traindx.registry import load_units
from traindx.run import Run, Series

_EARNED = ("reward", "reward_std")  # what a recording measures of rewards
_MADE_OF_REWARDS = (PolicyObjective, AdvantageSpread, EpisodeEnds)


@cache
def trainers() -> dict[str, Trainer]:
    """Every entry by its id."""
    return load_units(__name__, __path__, "TRAINER", Trainer)


@dataclass(frozen=True)
class Understood:
    """A run whose series mean what its trainer means by them, and which trainer that is (None: general rules)."""

    run: Run
    trainer: Trainer | None

    @property
    def objective(self) -> Series | None:
        """The series the verdict rests on, as the entry names it: the one with most values among the splits."""
        if self.trainer is None:
            return None
        for pattern in self.trainer.objective:
            found = [s for s in self.run.series.values() if len(s) and _is(self.trainer, pattern, s.name)]
            if found:
                return max(found, key=lambda series: (series.meaning.split in ("", "train"), len(series)))
        return None


def _is(trainer: Trainer, pattern: str, name: str) -> bool:
    return match(pattern, name) is not None and trainer.meaning_of(name) is not None


def recognise(names: Iterable[str]) -> Trainer | None:
    """The trainer whose log has these names. Rewards and pairs tell more than a loss and a learning rate, which every
    log has; then the longest sign wins, then the entry that knows most of the names."""
    logged = tuple(names)
    signs = {entry.id: entry.recognises(logged) for entry in trainers().values()}

    def telling(entry: Trainer) -> tuple[bool, int, int, int, str]:
        known = sum(entry.meaning_of(name) is not None for name in logged)
        return not entry.general, TELLING.index(entry.task), signs[entry.id], known, entry.id

    return max((entry for entry in trainers().values() if signs[entry.id]), key=telling, default=None)


def understood(run: Run) -> Understood:
    """The run as its trainer means it. The run that was given is not changed."""
    run = _without_namesakes(run)
    trainer = recognise(tuple(name for name, series in run.series.items() if len(series)))
    if trainer is None:
        known = with_scores(run.series.values())
        same = all(new is old for new, old in zip(known, run.series.values(), strict=True))
        return Understood(run if same else replace(run, series=dict(zip(run.series, known, strict=True))), None)
    changed = {name: _meant(series, trainer) for name, series in run.series.items()}
    if all(changed[name] is series for name, series in run.series.items()):
        return Understood(run, trainer)
    return Understood(replace(run, series=changed), trainer)


def _without_namesakes(run: Run) -> Run:
    """A recording takes a variable called `r` for rewards until it sees what is made of them. Where nothing was, no
    objective of a policy, no advantages, no episodes, they are ratings, radii or shares of pairs."""
    if not run.measured or not all(name in run.series for name in _EARNED):
        return run
    if any(one.last(kind) is not None for one in run.measured for kind in _MADE_OF_REWARDS) and not _of_pairs(run):
        return run
    return replace(run, series={name: series for name, series in run.series.items() if name not in _EARNED})


def _of_pairs(run: Run) -> bool:
    """Whether the only objective that was seen compares two answers, and nobody was rewarded."""
    seen = {objective.family for one in run.measured for objective in one.latest(PolicyObjective)}
    return bool(seen) and seen <= {"preference", "reward-model"}


def _meant(series: Series, trainer: Trainer) -> Series:
    meant = trainer.meaning_of(series.name)
    if meant is None or series.meaning.part == "superseded":
        return series
    old = series.meaning
    full: Meaning = replace(meant, split=meant.split or old.split, scale=meant.scale or old.scale)
    return series if full == old else replace(series, meaning=full)
