"""A case: one diagnosis as it is remembered, in a form that travels as JSON."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from traindx.diagnosis import Diagnosis
from traindx.signals import lookup

SCHEMA = "traindx.case/1"
Status = Literal["open", "confirmed", "rejected"]
STATUSES: tuple[Status, ...] = ("open", "confirmed", "rejected")
TRIAL_VERDICTS = ("helped", "no-effect", "worse", "failed")
SETTINGS = (
    "lr",
    "optimizer",
    "batch_size",
    "weight_decay",
    "dropout",
    "clip",
    "momentum",
    "warmup",
    "classes",
    "parameters",
)
YOURS = "your-change"  # the fix of a trial that somebody thought of
MOST_HYPOTHESES = 5
MOST_TRIALS = 50
MOST_SYMPTOMS = 400
LONGEST = 400  # characters of a sentence, a path or a note
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trial of one fix found; `effect` is its sentence with the numbers."""

    fix: str
    cause: str
    verdict: str
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """`id` is its number in this book, `uid` the hash of what was diagnosed, the same in every book it travels to."""

    created: str
    source: str
    name: str
    made_by: str  # diagnose, run, probe, fix, trial
    verdict: str
    headline: str
    steps: int
    present: tuple[str, ...]
    absent: tuple[str, ...]
    hypotheses: tuple[tuple[str, float], ...]
    settings: Mapping[str, str | float]
    status: Status = "open"
    cause: str = ""  # the confirmed one
    fix: str = ""  # that was proposed first
    note: str = ""
    trials: tuple[Trial, ...] = ()
    origin: str = ""  # the file it was imported from
    key: str = ""  # stands for the path where that is not kept
    id: int = 0
    seen: int = field(default=1)

    @property
    def uid(self) -> str:
        """What was diagnosed, not what was said of it since: two books that exchange cases find the same ones by it."""
        reported = [self.created, self.key or key_of(self.source), self.name, self.verdict, self.headline, self.steps,
                sorted(self.present), sorted(self.absent), [[c, round(p, 4)] for c, p in self.hypotheses],
                sorted(self.settings.items())]  # fmt: skip
        return hashlib.sha256(json.dumps(reported, ensure_ascii=True).encode()).hexdigest()[:32]

    @property
    def likeliest(self) -> str:
        """The confirmed cause, else the likeliest explanation that names a fault, which a healthy run has none of."""
        if self.verdict == "healthy":
            return self.cause
        return self.cause or next((c for c, _ in self.hypotheses if c not in ("healthy", "other")), "")

    @property
    def proven(self) -> str:
        """The cause that counts for the prior: confirmed by the user, or by a trial that helped; nothing once
        rejected."""
        if self.status == "rejected":
            return ""
        if self.status == "confirmed":
            return self.cause
        return next((trial.cause for trial in self.trials if trial.verdict == "helped"), "")

    def to_json(self) -> dict[str, Any]:
        """As a team sees it: without directories, and without its number in this book."""
        return {
            "schema": SCHEMA, "uid": self.uid, "created": self.created, "source": os.path.basename(self.source),
            "key": self.key or key_of(self.source),
            "name": self.name, "made_by": self.made_by, "verdict": self.verdict, "headline": self.headline,
            "steps": self.steps, "present": list(self.present), "absent": list(self.absent),
            "hypotheses": [[cause, round(p, 4)] for cause, p in self.hypotheses], "settings": dict(self.settings),
            "status": self.status, "cause": self.cause, "fix": self.fix, "note": self.note,
            "trials": [{"fix": t.fix, "cause": t.cause, "verdict": t.verdict, "effect": t.effect} for t in self.trials],
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Any) -> Case:
        """Raises ValueError, with a reason for people, for anything that is not exactly a case."""
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        case = cls(
            created=_date(data.get("created")), source=os.path.basename(_text(data, "source")),
            name=_text(data, "name"),
            made_by=_text(data, "made_by", 20), verdict=_one_of(data, "verdict",
                                                                ("healthy", "unhealthy", "inconclusive")),
            headline=_text(data, "headline"), steps=_whole(data.get("steps")), present=_ids(data, "present"),
            absent=_ids(data, "absent"), hypotheses=_hypotheses(data.get("hypotheses")),
            settings=_settings(data.get("settings")),
            status=_one_of(data, "status", STATUSES), cause=_identifier(data.get("cause"), empty=True),
            fix=_identifier(data.get("fix"), empty=True), note=_text(data, "note"), trials=_trials(data.get("trials")),
            key=_identifier(data.get("key")),
        )  # fmt: skip
        if data.get("uid") != case.uid:
            raise ValueError("its hash does not fit its content")
        return case


def key_of(source: str) -> str:
    """A short stand-in for a path: the same run has the same in every export, and nobody learns where it lies."""
    return hashlib.sha256(source.encode(errors="replace")).hexdigest()[:12]


def case_of(diagnosis: Diagnosis, made_by: str, now: datetime | None = None) -> Case:
    """The case of a diagnosis made just now."""
    run = diagnosis.run
    settings: dict[str, str | float] = {}
    for name in SETTINGS:
        value = lookup.number(run.config, name)
        reported = value if value is not None else lookup.setting(run.config, name)
        if reported is not None:
            settings[name] = reported if isinstance(reported, float) else str(reported)[:80]
    first = next((h for h in diagnosis.hypotheses if h.fix is not None), None)
    return Case(
        created=(now or datetime.now(UTC)).isoformat(timespec="seconds"), source=os.path.abspath(run.source)[-LONGEST:],
        name=run.name[:LONGEST], made_by=made_by, verdict=diagnosis.verdict, headline=diagnosis.headline[:LONGEST],
        steps=int(run.steps), present=tuple(s.id for s in diagnosis.symptoms if s.state == "present"),
        absent=tuple(s.id for s in diagnosis.symptoms if s.state == "absent"),
        hypotheses=tuple((h.cause, round(h.confidence, 4)) for h in diagnosis.hypotheses[:MOST_HYPOTHESES]),
        settings=settings, fix=first.fix.id if first is not None and first.fix is not None else "",
    )  # fmt: skip


def with_trial(case: Case, trial: Trial) -> Case:
    """The case with this trial; a second trial of the same fix replaces the first. Changes of one's own are the same
    where they set the same, which stands before the colon."""
    others = tuple(one for one in case.trials if _tried(one) != _tried(trial))
    return replace(case, trials=(*others, trial)[-MOST_TRIALS:])


def _tried(trial: Trial) -> tuple[str, str]:
    return trial.fix, trial.effect.partition(":")[0] if trial.fix == YOURS else ""


def _text(data: Mapping[str, Any], key: str, most: int = LONGEST) -> str:
    value = data.get(key)
    if not isinstance(value, str) or len(value) > most:
        raise ValueError(f"{key!r} is no text of at most {most} characters")
    return value


def _identifier(value: Any, *, empty: bool = False) -> str:
    if empty and value == "":
        return ""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError("an id in it is none")
    return value


def _ids(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = data.get(key)
    if not isinstance(value, list) or len(value) > MOST_SYMPTOMS:
        raise ValueError(f"{key!r} is no list of symptoms")
    return tuple(_identifier(item) for item in value)


def _one_of(data: Mapping[str, Any], key: str, allowed: tuple[Any, ...]) -> Any:
    if data.get(key) not in allowed:
        raise ValueError(f"{key!r} is none of {', '.join(allowed)}")
    return data[key]


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise ValueError("'steps' is no count")
    return value


def _date(value: Any) -> str:
    try:
        return datetime.fromisoformat(value).isoformat(timespec="seconds")
    except (TypeError, ValueError):
        raise ValueError("'created' is no date") from None


def _hypotheses(value: Any) -> tuple[tuple[str, float], ...]:
    if not isinstance(value, list) or len(value) > MOST_HYPOTHESES:
        raise ValueError("'hypotheses' is no short list")
    found = []
    for item in value:
        if (
            not isinstance(item, list)
            or len(item) != 2
            or not isinstance(item[1], int | float)
            or not 0 <= item[1] <= 1
        ):
            raise ValueError("a hypothesis in it is none")
        found.append((_identifier(item[0]), float(item[1])))
    return tuple(found)


def _settings(value: Any) -> dict[str, str | float]:
    if not isinstance(value, dict) or not set(value) <= set(SETTINGS):
        raise ValueError("'settings' has names that no case has")
    for reported in value.values():
        sound = (
            len(reported) <= 80
            if isinstance(reported, str)
            else isinstance(reported, int | float) and math.isfinite(reported)
        )
        if not sound:
            raise ValueError("a setting in it is neither a number nor a short text")
    return {name: reported if isinstance(reported, str) else float(reported) for name, reported in value.items()}


def _trials(value: Any) -> tuple[Trial, ...]:
    if not isinstance(value, list) or len(value) > MOST_TRIALS:
        raise ValueError("'trials' is no short list")
    found = []
    for item in value:
        if not isinstance(item, dict):
            raise ValueError("a trial in it is none")
        verdict = _one_of(item, "verdict", TRIAL_VERDICTS)
        found.append(
            Trial(
                _identifier(item.get("fix")), _identifier(item.get("cause"), empty=True), verdict, _text(item, "effect")
            )
        )
    return tuple(found)
