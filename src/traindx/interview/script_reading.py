"""What a training script says about itself, read and never run: its syntax tree gives settings and the usual wiring
mistakes.

A reading is a hint, not a measurement: the mistake may be undone elsewhere. So it counts like an answer, and a
recording that saw the opposite overrules it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from traindx.diagnosis import Observation, State
from traindx.engine.ways import ANSWERED
from traindx.interview.answers import Reported, named_outright
from traindx.interview.script_checks import CHECKS
from traindx.interview.script_facts import Facts, settings_of

LARGEST = 2 << 20  # characters of a script that are parsed


@dataclass(frozen=True)
class ScriptReading:
    """`settings` by name, `observations` with the line they were read from, `notes` on what could not be read."""

    name: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    observations: tuple[Observation, ...] = ()
    notes: tuple[str, ...] = ()
    hand_overs: tuple[str, ...] = ()

    def reported(self) -> Reported:
        seen = [observation for observation in self.observations if observation.state == "present"]
        hints = tuple(hint for one in seen for hint in named_outright([one.id], one.evidence))
        return Reported(self.observations, hints, dict(self.settings), self.hand_overs)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "settings": dict(self.settings), "notes": list(self.notes),
            "hand_overs": list(self.hand_overs),
            "observations": [observation.to_json() for observation in self.observations],
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ScriptReading:
        return cls(
            data.get("name", ""), data.get("settings") or {},
            tuple(Observation.from_json(one) for one in data.get("observations") or ()), tuple(data.get("notes") or ()),
            tuple(data.get("hand_overs") or ()),
        )  # fmt: skip


def read_script(text: str, name: str = "train.py") -> ScriptReading:
    """Settings and mistakes in the source of a script. One that cannot be parsed gives a note and nothing else."""
    if len(text) > LARGEST:
        return ScriptReading(name, notes=(f"{name} is too long to be a training script and was not read.",))
    try:
        facts = Facts.of(ast.parse(text))
        found, settings = _found(facts, name), settings_of(facts)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        note = f"{name} is no Python that can be parsed ({type(error).__name__}) and was not read."
        return ScriptReading(name, notes=(note,))
    return ScriptReading(name, settings, found)


def _found(facts: Facts, name: str) -> tuple[Observation, ...]:
    """What the checks say; where they disagree about a symptom, the mistake counts."""
    found: dict[str, Observation] = {}
    for check in CHECKS:
        for symptom, present, sentence, line in check(facts):
            where = f"{name}:{line}" if line else name
            state: State = "present" if present else "absent"
            if symptom not in found or present:
                found[symptom] = Observation(symptom, state, f"{where}: {sentence}.", where=where, clarity=ANSWERED)
    return tuple(found.values())
