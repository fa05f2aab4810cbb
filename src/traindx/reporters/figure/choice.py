"""Which series of a run are worth a panel, on which axis they lie and where a symptom lies on it; the same in every
picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from traindx.diagnosis import Observation
from traindx.run import Floats, Run, Series
from traindx.signals import Settings, Signals
from traindx.signals.choose import usable

MAX_LAYERS = 4
COLORS = 10  # how many a palette has; a panel's colours are places in it
TRAIN, VALIDATION, RATE, NORM = range(4)
# What an optimisation of a policy or of preferences is watched by, in this order, beside its reward
OF_POLICIES = {
    "reward_spread": "spread of rewards", "margin": "margin", "length": "length", "entropy": "entropy",
    "kl": "KL", "clip_fraction": "clip fraction", "ratio": "ratio", "explained_variance": "explained variance",
}  # fmt: skip
MAX_OF_A_KIND = 4
OBJECTIVE_KINDS = ("loss", "perplexity", "error", "likelihood")


@dataclass(frozen=True)
class Panel:
    """Series drawn over each other under one axis label; the colours are places in the palette."""

    title: str
    series: tuple[Series, ...]
    colors: tuple[int, ...]


@dataclass(frozen=True)
class Clock:
    """The step axis of a picture; a series that counts otherwise (epochs) is laid over the same stretch."""

    axis: str
    first: float
    last: float

    def place(self, series: Series) -> Floats:
        if series.axis == self.axis or not len(series) or series.steps[-1] <= 0:
            return series.steps
        return series.steps / float(series.steps[-1]) * self.last


def panels_of(run: Run, settings: Settings) -> list[Panel]:
    """What is worth a panel, from the same choice of series the diagnosis rests on."""
    signals = Signals(run, settings)
    main = signals.main.series if signals.main is not None else None
    losses = distinct([main, *(curve.series if curve is not None else None for curve in (signals.train, signals.val))])
    if main is not None and main.meaning.kind not in OBJECTIVE_KINDS:
        losses = [main]
    panels: list[Panel] = []
    if losses:
        panels.append(Panel(main.meaning.kind if main is not None else "loss", tuple(losses), colors_of(losses)))
    curves = (signals.train, signals.train_score, signals.score, signals.reward)
    scores = distinct([curve.series if curve is not None else None for curve in curves], losses)
    for kind in ("loss", "score", "reward"):
        alike = [series for series in scores if series.meaning.kind == kind]
        if alike:
            panels.append(Panel(kind, tuple(alike), colors_of(alike)))
    if signals.kind == "rl" or signals.paired:
        panels += _of_policies(run)
    if signals.lr is not None and len(signals.lr):
        panels.append(Panel("learning rate", (signals.lr,), (RATE,)))
    norms = distinct([signals.grad_norm]) or signals.layer_grad_norms[:MAX_LAYERS]
    if norms:
        panels.append(Panel("gradient norm", tuple(norms), (NORM, *range(4, COLORS))[: len(norms)]))
    return panels


def _of_policies(run: Run) -> list[Panel]:
    panels = []
    for kind, title in OF_POLICIES.items():
        mine = distinct([one for one in usable(run, kind) if one.meaning.split in ("", "train")])[:MAX_OF_A_KIND]
        if mine:
            panels.append(Panel(title, tuple(mine), colors_of(mine)))
    return panels


def distinct(series: Sequence[Series | None], without: Sequence[Series] = ()) -> list[Series]:
    """Those that are there and hold something, each once."""
    known = {one.name for one in without}
    kept: list[Series] = []
    for one in series:
        if one is not None and len(one) and one.name not in known:
            known.add(one.name)
            kept.append(one)
    return kept


def colors_of(series: Sequence[Series]) -> tuple[int, ...]:
    """Validation has its own colour everywhere; what is not validation takes the first one first."""
    rest = [color for color in range(COLORS) if color != VALIDATION]
    return tuple(VALIDATION if one.meaning.split in ("val", "test") else rest.pop(0) for one in series)


def clock_of(panels: Sequence[Panel]) -> Clock:
    if not panels:
        return Clock("step", 0.0, 1.0)
    axis = panels[0].series[0].axis
    mine = [series for panel in panels for series in panel.series if series.axis == axis]
    return Clock(axis, min(float(s.steps[0]) for s in mine), max(float(s.steps[-1]) for s in mine))


def extent(symptom: Observation, run: Run, clock: Clock) -> tuple[float, float]:
    """Where the symptom lies on the picture's axis; the whole run where it has no place of its own."""
    if symptom.steps is None:
        return clock.first, clock.last
    first, last = symptom.steps
    series = run.series.get(symptom.where or "")
    if series is not None and series.axis != clock.axis and len(series) and series.steps[-1] > 0:
        stretch = clock.last / float(series.steps[-1])
        first, last = first * stretch, last * stretch
    first = min(max(first, clock.first), clock.last)
    return first, min(max(last, first), clock.last)
