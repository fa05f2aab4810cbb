"""Which past cases resemble a new one: by the symptoms that were looked for in both, and by the settings both tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from traindx.casebook.case import Case
from traindx.symptoms import symptoms

NEAR = 0.6  # likeness from which a case is worth a line
SETTINGS_SHARE = 0.25  # of the likeness: symptoms say what is wrong, settings only under which circumstances
DECADE = 1.0  # settings that are a factor of ten apart are alike no more


@dataclass(frozen=True, slots=True)
class Likeness:
    """A past case and how much it resembles the new one, 0 to 1."""

    case: Case
    share: float


def similar(new: Case, cases: Sequence[Case], most: int = 5, least: float = NEAR) -> list[Likeness]:
    """The cases most like the new one, the likest first; the run itself is not among them."""
    found = [
        Likeness(case, likeness(new, case))
        for case in cases
        if case.present and (case.source, case.name) != (new.source, new.name)
    ]
    return sorted((one for one in found if one.share >= least), key=lambda one: -one.share)[:most]


def likeness(one: Case, two: Case) -> float:
    """Shared symptoms over all that either shows, each weighed by how rare it is; what only one side could see counts
    half."""
    known = symptoms()
    first, second = set(one.present), set(two.present)
    ruled_out = {"one": set(one.absent), "two": set(two.absent)}
    shared = total = 0.0
    for identifier in first | second:
        symptom = known.get(identifier)
        if symptom is None or symptom.severity != "problem":
            continue
        weight = -math.log(max(symptom.background, 1e-4))
        if identifier in first and identifier in second:
            shared += weight
            total += weight
        else:
            seen_elsewhere = ruled_out["two"] if identifier in first else ruled_out["one"]
            total += weight if identifier in seen_elsewhere else weight / 2
    if total == 0:
        return 0.0
    alike = _settings(one, two)
    symptoms_alike = shared / total
    return symptoms_alike if alike is None else (1 - SETTINGS_SHARE) * symptoms_alike + SETTINGS_SHARE * alike


def _settings(one: Case, two: Case) -> float | None:
    """How alike the settings are that both tell; None where they tell none in common."""
    marks = []
    for name in set(one.settings) & set(two.settings):
        a, b = one.settings[name], two.settings[name]
        if isinstance(a, float) and isinstance(b, float) and a > 0 and b > 0:
            marks.append(max(0.0, 1 - abs(math.log10(a / b)) / DECADE))
        else:
            marks.append(float(str(a).lower() == str(b).lower()))
    return sum(marks) / len(marks) if marks else None
