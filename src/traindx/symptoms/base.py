"""What a symptom is. One module a symptom; a module that defines SYMPTOM is registered by being there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from traindx.diagnosis import Observation, State
from traindx.meaning import meaning_of
from traindx.measurements import Measured, Measurement
from traindx.run import Event, Fact, Floats, Run, Series
from traindx.signals import Signals

DOC_HEADINGS = ("## What is observed", "## How it is measured", "## Healthy range", "## What it usually means")

Kind = Literal["curve", "direct", "setting"]
DIRECT = 0.003  # background rate of what is seen directly: it hardly shows in any run without its cause

Values = Sequence[float] | Floats | tuple[Sequence[float] | Floats, Sequence[float] | Floats]


@dataclass(frozen=True)
class Case:
    """A synthetic run the contract suite holds the detector to. `series` gives logged names with their values, or with
    (steps, values); `state` is what must be observed."""

    story: str
    state: State
    series: Callable[[], Mapping[str, Values]] = dict
    config: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    facts: tuple[Fact, ...] = ()
    measured: tuple[Measurement, ...] = ()  # by the recorder

    def run(self) -> Run:
        """The run of this example."""
        run = Run("example", "memory", config=dict(self.config), events=list(self.events))
        run.facts = {fact.id: fact for fact in self.facts}
        run.measured = [Measured(self.measured)] if self.measured else []
        for name, given in self.series().items():
            steps, values = given if isinstance(given, tuple) else (range(len(given)), given)
            run.series[name] = Series(name, meaning_of(name), np.array(steps, float), np.array(values, float))
        return run


@dataclass(frozen=True)
class Symptom:
    """`severity`: a 'problem' can make a run unhealthy, a 'note' only informs (a run may be healthy and still
    improving). `background` is how often the symptom shows in runs that have another fault or none. `family`: symptoms
    of one family tell much the same story, so the engine lets only the strongest of them speak for a cause. `needs`
    names the evidence it is measured on, in words for the user. `kind`: 'curve', it shows in what was
    logged; 'direct', it is seen inside the training, which is what a background rate of a few in a thousand means where
    nothing else is said; 'setting', the run was asked to do it, which is harmless by itself and tells something beside
    a problem."""

    id: str
    title: str
    severity: Literal["problem", "note"]
    family: str
    background: float
    needs: tuple[str, ...]
    doc: str
    detect: Callable[[Signals], Observation]
    cases: tuple[Case, ...]
    kind: Kind | None = None

    def __post_init__(self) -> None:
        if self.kind is None:
            object.__setattr__(self, "kind", "direct" if self.background <= DIRECT else "curve")

    @property
    def direct(self) -> bool:
        """Seen inside the training: it proves rather than suggests."""
        return self.kind == "direct"


def clarity(measured: float, threshold: float, plain: float) -> float:
    """How clear a finding is: 0.3 at its threshold, 1 where it is plain, in between on a straight line."""
    if plain == threshold:
        return 1.0
    share = (measured - threshold) / (plain - threshold)
    return float(min(1.0, max(0.3, 0.3 + 0.7 * share)))


def num(value: float) -> str:
    """A number for a sentence: three significant digits, no trailing zeros."""
    if value != value:
        return "NaN"
    if 1e4 <= abs(value) < 1e9 and value.is_integer():
        return f"{value:.0f}"
    if abs(value) >= 1e6 or (value != 0 and abs(value) < 1e-4):
        return f"{value:.2e}"
    return f"{value:.3g}" if abs(value) < 1e3 else f"{value:.0f}"


def times(factor: float) -> str:
    """How many times, as people say it: 2.4, 29, 290."""
    return f"{factor:.2g}" if factor < 100 else f"{float(f'{factor:.2g}'):.0f}" if factor < 1e6 else f"{factor:.0e}"


def apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers for one sentence, with as many digits as it takes to tell them apart."""
    for digits in range(3, 8):
        texts = f"{one:.{digits}g}", f"{other:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return (num(one), num(other)) if digits == 3 or one == other else texts


ROUNDS_UP, ALMOST_ALL = 0.995, 0.9995  # from where a share rounds to the whole, in percent and in tenths of it


def percent(share: float) -> str:
    if abs(share) >= 1e4:
        return f"{share * 100:.2g} %"
    if ROUNDS_UP <= abs(share) < 1:  # what is left is said: a loss that fell by 100 % is zero
        return f"{share * 100:.1f} %" if abs(share) < ALMOST_ALL else f"{'more than ' * (share > 0)}99.9 %"
    return f"{share * 100:.0f} %" if abs(share) >= 0.095 else f"{share * 100:.1f} %"
