"""Signals: derived quantities of a Run, each computed once and only when a symptom asks for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from traindx.errors import TraindxError
from traindx.objectives import understood
from traindx.run import Floats, Run, Series
from traindx.signals import choose, lookup
from traindx.signals.curve import Curve
from traindx.signals.phases import last_phase
from traindx.signals.progress import Progress

if TYPE_CHECKING:
    from traindx.signals.disguise import Hidden


@dataclass(frozen=True)
class Settings:
    """What the user gave on the command line; None means: find out."""

    classes: int | None = None
    metric: str | None = None
    goal: Literal["min", "max"] | None = None


ENOUGH = 5  # values that can show a trend


class Signals:
    """The curves of one run by their part in the training: `main` is what the verdict rests on."""

    def __init__(self, run: Run, settings: Settings | None = None) -> None:
        self.understood = understood(last_phase(run))
        self.trainer = self.understood.trainer
        self.run = self.understood.run  # its series mean what the trainer means by them
        self.settings = settings or Settings()
        self.hidden: Hidden | None = None  # a NaN that was written as a number, and is NaN here (signals/disguise.py)

    @cached_property
    def kind(self) -> Literal["supervised", "rl", "gan"]:
        if self.paired:
            return "supervised"
        if self.trainer is not None:
            return "rl" if self.trainer.task == "rl" else "supervised"
        if choose.is_reinforcement(self.run):
            return "rl"
        return "gan" if choose.is_adversarial(self.run) else "supervised"

    @cached_property
    def paired(self) -> bool:
        """A recording saw a loss over pairs of answers."""
        return choose.seen_objective(self.run) in choose.PAIRED

    @property
    def ordinary(self) -> bool:
        """The training loss is one that is made small: not that of a policy or of preferences, as a recording saw."""
        return not choose.seen_objective(self.run)

    @cached_property
    def train(self) -> Curve | None:
        """The training loss at its finest."""
        if self.kind == "gan":
            series = choose.reconstruction_loss(self.run)
        else:
            series = choose.total_loss(self.run, ("train", ""))
        return self._curve(series)

    @cached_property
    def train_epochs(self) -> Curve | None:
        """The training loss as epoch averages where the log has them, else as it is."""
        return self._curve(choose.total_loss(self.run, ("train", ""), "epoch")) if self.kind != "gan" else self.train

    @cached_property
    def val(self) -> Curve | None:
        return self._curve(choose.total_loss(self.run, ("val", "test"), "epoch"))

    @cached_property
    def score(self) -> Curve | None:
        """The validation score; scores that do not name their split count as such."""
        return self._curve(choose.best_score(self.run, ("val", "test", "")))

    @cached_property
    def train_score(self) -> Curve | None:
        """The training score; beside one of validation, a score that does not name its split is it (Keras)."""
        named = choose.best_score(self.run, ("train",))
        held_out = choose.best_score(self.run, ("val", "test"))
        if named is None and held_out is not None:
            plain = choose.best_score(self.run, ("",))
            alike = plain is not None and plain.meaning.part == held_out.meaning.part
            named = plain if alike and self.kind == "supervised" else None
        return self._curve(named)

    @cached_property
    def progress(self) -> Progress | None:
        """How what the verdict rests on moves."""
        return Progress(self.main) if self.main is not None and len(self.main) else None

    @cached_property
    def reward(self) -> Curve | None:
        named = self.understood.objective
        if named is not None and named.meaning.kind == "reward":
            return self._curve(named)
        return self._curve(choose.best_reward(self.run))

    @cached_property
    def main(self) -> Curve | None:
        """What the verdict rests on: the metric the user named, the reward in reinforcement learning, else the training
        loss, else whatever objective there is."""
        if self.settings.metric:
            chosen: Curve | None = self._named(self.settings.metric)
        elif self.kind == "rl":
            still = self.reward is not None and self.reward.constant  # zero-sum games add up to nothing
            counted = self.score is not None and len(self.score) >= ENOUGH
            chosen = self.score if still and counted else self.reward or self.score
        else:
            curves = [one for one in (self.train, self.val, self.score, self.train_score) if one is not None]
            # two training losses beside a hundred evaluations tell nothing
            chosen = next((one for one in curves if len(one) >= ENOUGH), curves[0] if curves else None)
        if chosen is not None and self.settings.goal is not None:
            return Curve(chosen.series, -1.0 if self.settings.goal == "max" else 1.0)
        return chosen

    @cached_property
    def lr(self) -> Series | None:
        return choose.first_group(choose.usable(self.run, "lr"))

    @cached_property
    def grad_norm(self) -> Series | None:
        norms = [series for series in choose.usable(self.run, "grad_norm") if not series.meaning.where]
        # Megatron prints 0.000 where it does not measure: a norm that is always zero is no measurement
        measured = [series for series in norms if np.any(series.values != 0)]
        return max(measured, key=len, default=None)

    @cached_property
    def layer_grad_norms(self) -> list[Series]:
        return [series for series in choose.usable(self.run, "grad_norm") if series.meaning.where]

    @cached_property
    def classes(self) -> tuple[int, str] | None:
        """How many classes (or tokens) there are, and how that is known."""
        if self.settings.classes:
            return self.settings.classes, "given"
        if self._added_up:
            return None  # several losses added up have no chance level
        for name in ("classes", "vocabulary"):
            stated = lookup.number(self.run.config, name)
            if stated is not None and stated >= 2 and stated == int(stated):
                return int(stated), "config"
        return None

    @property
    def _added_up(self) -> bool:
        """Whether the training loss is a sum: by its name, or because a recording saw it far above what one loss
        function gave for it."""
        by_one_term = self.run.config.get(choose.BY_ONE_TERM)
        several = isinstance(by_one_term, float) and by_one_term > choose.SEVERAL_TERMS
        return several or (self.train is not None and self.train.name.startswith(choose.SUM))

    @cached_property
    def planned(self) -> tuple[float, Literal["step", "epoch"]] | None:
        """How long the run was meant to be, and in what unit."""
        steps = lookup.number(self.run.config, "steps")
        if steps is not None and steps > 1:
            return steps, "step"
        epochs = lookup.number(self.run.config, "epochs")
        if epochs is not None and epochs >= 1:
            return epochs, "epoch"
        return None

    @cached_property
    def lowest_loss(self) -> float:
        return math.nan if self.train is None or not len(self.train) else float(self.train.y.min())

    def train_at(self, steps: Floats) -> Floats | None:
        """The training loss level at these validation steps; where the two count differently (steps, epochs), both are
        laid over the same stretch of time."""
        train, val = self.train_epochs, self.val
        if train is None or val is None or not len(train) or not len(val):
            return None
        place = steps
        if train.series.axis != val.series.axis:
            span = max(float(val.x[-1] - val.x[0]), 1e-12)
            place = train.x[0] + (steps - val.x[0]) / span * (train.x[-1] - train.x[0])
        return np.interp(place, train.bins.x, train.bins.median)

    def better_after(self, share: float) -> Curve | None:
        """The validation score or loss that stands better at the end than it ever did in this first share of the run:
        what the training loss did there was no harm, or it measures something else since."""
        for curve in (self.score, self.val):
            if curve is None or not len(curve):
                continue
            passed = curve.x - curve.x[0] > share * (curve.x[-1] - curve.x[0])
            before, after = curve.y[~passed], curve.y[passed]
            if len(before) >= 3 and len(after) >= 3 and np.median(after[-max(1, len(after) // 3) :]) < before.min():
                return curve
        return None

    def _named(self, name: str) -> Curve:
        wanted = name.lower()
        series = self.run.series.get(name) or next(
            (series for key, series in self.run.series.items() if wanted in key.lower()), None
        )
        if series is None:
            known = ", ".join(list(self.run.series)[:12])
            raise TraindxError(f"No metric called {name!r} in {self.run.source}.", f"It has: {known}.")
        curve = self._curve(series)
        assert curve is not None
        return curve

    def _curve(self, series: Series | None) -> Curve | None:
        if series is None:
            return None
        return Curve(series, -1.0 if series.meaning.goal == "max" else 1.0)
