"""The learning rate as the settings and the log tell it, and what its optimiser usually bears."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from traindx.signals import Signals, lookup

# Rates at which an optimiser usually trains: below and above, the rate itself is a suspect. Defaults of the libraries
# and of published recipes lie inside.
USUAL_LR: Mapping[str, tuple[float, float]] = {"adam": (1e-6, 3e-3), "sgd": (1e-4, 0.5), "": (1e-7, 0.5)}
CALLED: Mapping[str, str] = {"adam": "Adam-like optimisers", "sgd": "SGD", "": "any usual optimiser"}

RATES = 8  # logged rates that show a course
RISES = 4  # of them that only ever rose, as in a warm-up
DOUBLED = 2.0  # its first value, at least, where a rate only rose
SOON = 0.2  # of the rows, by which a warm-up is over


def peak_lr(signals: Signals) -> float | None:
    """The learning rate the run used at most: from the log, else from the settings."""
    stated = lookup.number(signals.run.config, "lr")
    if signals.lr is not None and np.isfinite(signals.lr.values).any():
        logged = float(np.nanmax(signals.lr.values))
        # a log that begins after a steep decay has not seen its peak
        return logged if stated is None else max(logged, stated)
    return stated


def family_of(signals: Signals) -> str:
    """adam, sgd or '' (not known)."""
    name = str(lookup.setting(signals.run.config, "optimizer") or "").lower()
    if not name and signals.lr is not None:
        name = signals.lr.name.lower()  # Lightning's LearningRateMonitor writes 'lr-Adam'
    return "adam" if "adam" in name or "lion" in name else "sgd" if "sgd" in name else ""


def decoupled(signals: Signals) -> bool:
    """AdamW and its kin shrink weights apart from the gradient, so that a decay of 0.1 is ordinary there; added to the
    gradient it is about six times as strong."""
    return "adamw" in str(lookup.setting(signals.run.config, "optimizer") or "adamw").lower()


def still_warming_up(signals: Signals) -> str:
    """Small steps by plan: the rate only ever rose, and is highest where the log ends."""
    lr = signals.lr
    if lr is None or len(lr) < RISES:
        return ""
    rates = lr.values[np.isfinite(lr.values)]
    rises = np.diff(rates)
    few = len(rates) >= RISES and lr.axis == "step" and bool(np.all(rises > 0))  # a row of epochs is long
    steadily = len(rates) >= RATES or few
    rests = rates[-1] == rates[-1 - len(rates) // 4]  # a second phase at a higher rate, or a warm-up that is over
    if not steadily or np.any(rises < 0) or not rates[-1] > DOUBLED * rates[0] or rests:
        return ""
    return f"{lr.name} has risen all through the log: its warm-up is not over."


def warms_up_at_first(signals: Signals) -> bool:
    """Whether the log shows a warm-up in its first rows: then the run begins there, whatever its counter says."""
    lr = signals.lr
    rates = lr.values[np.isfinite(lr.values)] if lr is not None else np.empty(0)
    return len(rates) >= RATES and rates.max() > DOUBLED * rates[0] and int(np.argmax(rates)) <= SOON * len(rates)
