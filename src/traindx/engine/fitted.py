"""What the fault zoo measured: how often each symptom showed under each cause, and how far confidences had to be
corrected.

The words of the cause pages are the prior, these counts the data: a word speaks like a handful of runs, so that a pair
the zoo never produced keeps its word and a pair it produced often is known by its frequency. `fitted.json` is
generated; the command that made it stands in it. Logs and recordings see differently, so each level of evidence has
numbers of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from traindx.diagnosis import Observation
from traindx.engine import words
from traindx.engine.health import Counted
from traindx.symptoms import symptoms
from traindx.symptoms.base import Symptom

DATA = "fitted.json"
TASKS = "fitted_tasks.json"  # what trainings of language models and policies showed (benchmarks/lm_zoo/fit.py)
SCHEMA = "traindx.fitted/1"
CURVE, INSIDE = "curve", "inside"
HEALTHY = "healthy"
NOT_INJECTED = frozenset({"truncated"})  # trainings of the zoo go to their end, those of people are often stopped
INSIDE_FROM = 5  # things looked at directly from which the evidence comes from inside the training


@dataclass(frozen=True)
class FalseAlarms:
    """How often symptoms showed in sound programs of other people (`benchmarks/wild/fit.py`). `counts`: programs in
    which it could be measured, programs in which it was there. `share`: of a symptom's background rate, what all
    symptoms of a kind showed together; what a symptom of which little was counted is taken for."""

    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    share: Mapping[str, float] = field(default_factory=dict)
    weight: float = words.AS_PROGRAMS  # what is expected weighs as much as so many counted programs

    def rate(self, symptom: Symptom, elsewhere: float) -> float:
        """P(symptom | sound). `elsewhere`: the same in trainings that were written for the zoo. No problem is
        evidence of health, so that it is not above the background rate."""
        share = self.share.get(symptom.kind or "", 0.0)
        expected = max(elsewhere, share * symptom.background)
        known, present = self.counts.get(symptom.id, (0, 0))
        return min((present + self.weight * expected) / (known + self.weight), symptom.background)

    def to_json(self) -> dict[str, Any]:
        names = sorted(self.counts)
        return {
            "weight": self.weight,
            "share": {kind: round(value, 4) for kind, value in sorted(self.share.items())}, "symptoms": names,
            "known": [self.counts[name][0] for name in names], "present": [self.counts[name][1] for name in names],
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FalseAlarms:
        counts = {n: (k, p) for n, k, p in zip(data["symptoms"], data["known"], data["present"], strict=True)}
        return cls(counts, data["share"], data.get("weight", words.AS_PROGRAMS))


def _counts_of(data: Mapping[str, Any]) -> dict[str, dict[str, tuple[int, int]]]:
    """Runs in which a symptom could be told and in which it was there, by cause and symptom."""
    return {
        cause: {
            name: (known, present)
            for name, known, present in zip(data["symptoms"], row, data["present"][cause], strict=True)
            if known
        }
        for cause, row in data["known"].items()
    }


@dataclass(frozen=True)
class Level:
    """One level of evidence: counts by cause and symptom (runs in which it could be measured, runs in which it was
    there), the calibration of what is made of them, and how often it errs about sound programs of other people."""

    counts: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    temperature: float = 1.0
    healthy: float = 0.0  # added to the log weight of health
    silence: float = math.log(words.SILENT_FAULT)  # log share of faults that show nothing at all
    ceiling: float = words.CEILING
    false_alarms: FalseAlarms | None = None
    inferred: float = words.CEILING  # what a cause that was not seen itself may have at most
    health: Counted | None = None  # what the ranking's probability of health meant

    def rate(self, cause: str, symptom: Symptom, reported: float | None) -> float | None:
        """P(symptom | cause): the page's word, moved by what the zoo saw."""
        if symptom.id in NOT_INJECTED:
            return reported
        known, present = self.counts.get(cause, {}).get(symptom.id, (0, 0))
        if not known:
            return reported
        prior = symptom.background if reported is None else reported
        return (present + words.AS_RUNS * prior) / (known + words.AS_RUNS)

    def to_json(self) -> dict[str, Any]:
        names = sorted({name for row in self.counts.values() for name in row})
        sound = {} if self.false_alarms is None else {"false_alarms": self.false_alarms.to_json()}
        health = {} if self.health is None else {"health": self.health.to_json()}
        return sound | health | {
            "inferred": round(self.inferred, 3),
            "temperature": round(self.temperature, 3), "healthy": round(self.healthy, 3),
            "silence": round(self.silence, 3),
            "ceiling": round(self.ceiling, 3), "symptoms": names,
            "known": {cause: [row.get(name, (0, 0))[0] for name in names] for cause,
                      row in sorted(self.counts.items())},
            "present": {cause: [row.get(name, (0, 0))[1] for name in names] for cause,
                        row in sorted(self.counts.items())},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Level:
        counts = _counts_of(data)
        sound = FalseAlarms.from_json(data["false_alarms"]) if "false_alarms" in data else None
        health = Counted.from_json(data["health"]) if "health" in data else None
        inferred = data.get("inferred", data["ceiling"])
        calibration = (data["temperature"], data["healthy"], data["silence"], data["ceiling"])
        return cls(counts, *calibration, sound, inferred, health)


@cache
def levels() -> Mapping[str, Level]:
    """The fitted levels that come with the package."""
    found = dict(untasked())
    return found | {INSIDE: with_tasks(found[INSIDE], _counts_of(_tasks()))}


@cache
def _tasks() -> dict[str, Any]:
    import msgspec

    data: dict[str, Any] = msgspec.json.decode(files(__package__).joinpath(TASKS).read_bytes())
    return data


def health_without_outcome() -> float:
    """What health of a language model may be at most as long as nobody measured whether its answers are right: how many
    recordings that look sound are."""
    share: float = _tasks()["healthy_without_outcome"]
    return share


@cache
def untasked() -> Mapping[str, Level]:
    """The same without what language models and policies showed."""
    import msgspec

    data = msgspec.json.decode(files(__package__).joinpath(DATA).read_bytes())
    return {name: Level.from_json(level) for name, level in data["levels"].items()}


def with_tasks(level: Level, counts: Mapping[str, Mapping[str, tuple[int, int]]]) -> Level:
    """A level with further counts. Those of sound programs stand beside those of other people's: the zoo's own sound
    trainings are many and alike."""
    together = {cause: dict(row) for cause, row in level.counts.items()}
    for cause, row in counts.items():
        if cause != HEALTHY:
            together[cause] = _added(together.get(cause, {}), row)
    alarms = level.false_alarms or FalseAlarms()
    sound = replace(alarms, counts=_added(alarms.counts, counts.get(HEALTHY, {})))
    return replace(level, counts=together, false_alarms=sound)


def _added(row: Mapping[str, tuple[int, int]], more: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    none = (0, 0)
    return {
        name: (row.get(name, none)[0] + more.get(name, none)[0], row.get(name, none)[1] + more.get(name, none)[1])
        for name in row.keys() | more.keys()
    }


def level_of(observations: Sequence[Observation]) -> str:
    """Evidence from inside the training, or a curve and perhaps settings. What somebody merely reported (less clear
    than what proves) was not looked at."""
    known = symptoms()
    looked = [
        o
        for o in observations
        if o.state != "unknown" and o.clarity >= words.PROVES and o.id in known and known[o.id].direct
    ]
    # a single one that is there is enough: no log shows any
    return INSIDE if len(looked) >= INSIDE_FROM or any(o.state == "present" for o in looked) else CURVE
