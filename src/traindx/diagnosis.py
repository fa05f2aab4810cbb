"""What traindx says: observations, hypotheses and the diagnosis made of them. Frozen; JSON in and out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # the help of the command line loads no schema
    from traindx.meaning import Goal
    from traindx.measurements import RewardedAnswers, ShownSamples, TokenSamples

SCHEMA = "traindx.diagnosis/1"
ANSWERS = "answers"  # the format of a run nobody measured: all that is known of it was reported
STANDS_OUT = 0.25  # an explanation less likely than this is no answer: the cause is unclear
WORTH_NAMING, WORTH_A_LINE = 0.1, 0.05  # a candidate of a run that is rather well than not; any other one
UNSURE = 0.4  # below this probability an explanation asks for more evidence, not for a change

State = Literal["present", "absent", "unknown"]
Verdict = Literal["healthy", "unhealthy", "inconclusive"]
Safety = Literal["safe", "caution", "disruptive"]


@dataclass(frozen=True, slots=True)
class Observation:
    """One symptom looked for in one run. `evidence` is a sentence with the measured number; `clarity` says how far the
    number is beyond its threshold, from 0.3 (just so) to 1 (plain). `noted`: absent for a reason that belongs on the
    page, since somebody who looks at the numbers would ask. `conclusive`: whatever the cause and however few rows there
    are, a training that shows this has failed; no further row would change it."""

    id: str
    state: State
    evidence: str
    steps: tuple[float, float] | None = None
    where: str | None = None
    clarity: float = 1.0
    noted: bool = False
    conclusive: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "state": self.state,
            "evidence": self.evidence,
            "steps": None if self.steps is None else [_number(step) for step in self.steps],
            "where": self.where,
            "clarity": round(self.clarity, 2),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Observation:
        steps = data.get("steps")
        place = (float(steps[0]), float(steps[1])) if steps else None
        return cls(data["id"], data["state"], data["evidence"], place, data.get("where"), data.get("clarity", 1.0))


@dataclass(frozen=True, slots=True)
class FixProposal:
    """A fix as proposed for this run: its code already carries the run's own numbers where they are known."""

    id: str
    title: str
    code: str
    safety: Safety
    change: str = ""  # the same as `traindx trial --set` takes it; '' for a fix that is made by hand
    diff: str = ""  # the same as a patch of the user's own script, where the script is at hand and the place is sure

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "title": self.title, "code": self.code, "safety": self.safety,
            "change": self.change, "diff": self.diff,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One exclusive explanation with its probability; `healthy` and `other` are explanations too."""

    cause: str
    title: str
    confidence: float
    supports: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    fix: FixProposal | None = None
    alternatives: tuple[FixProposal, ...] = ()
    do_not: tuple[str, ...] = ()
    reference: str = ""
    where: str | None = None  # the line of the user's code to change, as file:line, where it is known
    category: str = ""  # the group of causes it belongs to

    def to_json(self) -> dict[str, Any]:
        return {
            "cause": self.cause,
            "title": self.title,
            "category": self.category,
            "confidence": round(self.confidence, 4),
            "where": self.where,
            "for": list(self.supports),
            "against": list(self.contradicts),
            "fix": None if self.fix is None else self.fix.to_json(),
            "alternatives": [fix.to_json() for fix in self.alternatives],
            "do_not": list(self.do_not),
            "reference": self.reference,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Hypothesis:
        fix = data.get("fix")
        return cls(
            data["cause"], data.get("title", data["cause"]), data["confidence"], tuple(data["for"]),
            tuple(data["against"]), FixProposal(**fix) if fix else None,
            tuple(FixProposal(**alternative) for alternative in data["alternatives"]), tuple(data["do_not"]),
            data["reference"], data.get("where"), data.get("category", ""),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Missing:
    """Evidence that is not there, what it would decide and the command that gathers it."""

    evidence: str
    would_decide: tuple[str, ...]
    how: str

    def to_json(self) -> dict[str, Any]:
        return {"evidence": self.evidence, "would_decide": list(self.would_decide), "how": self.how}


@dataclass(frozen=True, slots=True)
class Curve:
    """A small picture of the series the verdict rests on: at most a few dozen points, spikes kept."""

    name: str
    steps: tuple[float, ...]
    values: tuple[float, ...]
    # what `steps` counts, where it is not what the run counts: validation may be logged by the epoch in a run that
    # counts steps
    axis: str = ""
    goal: Goal = ""  # which end is its best, as the run means it

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "axis": self.axis,
            "goal": self.goal,
            "steps": [_number(step) for step in self.steps],
            "values": [_number(value) for value in self.values],
        }


@dataclass(frozen=True, slots=True)
class KnownIssueNote:
    """A known issue of library versions that the run shows. `versions` are those the run is known to have; where none
    is known, `affects` says for which it would hold."""

    id: str
    title: str
    versions: Mapping[str, str]
    affects: str
    happens: str
    do: str
    source: str

    @property
    def certain(self) -> bool:
        return bool(self.versions)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "title": self.title, "versions": dict(self.versions), "affects": self.affects,
            "happens": self.happens, "do": self.do, "source": self.source,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Which run the diagnosis speaks of."""

    source: str
    format: str
    name: str
    steps: int
    metrics: tuple[str, ...]
    config: Mapping[str, Any]
    objective: str | None = None  # the series the verdict rests on
    lost: tuple[str, ...] = ()
    axis: str = "step"  # what `steps` counts: step, epoch or row
    chosen_by: str = ""  # why the objective is the objective: the entry of a trainer, or general rules

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source, "format": self.format, "name": self.name, "steps": self.steps,
            "metrics": list(self.metrics), "config": {key: _number(value) for key, value in self.config.items()},
            "objective": self.objective, "lost": list(self.lost), "axis": self.axis,
            "chosen_by": self.chosen_by,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The one page. Every reporter shows this and computes nothing of its own."""

    verdict: Verdict
    headline: str
    run: RunSummary
    symptoms: tuple[Observation, ...]
    hypotheses: tuple[Hypothesis, ...]
    missing: tuple[Missing, ...]
    next: str
    version: str
    notes: tuple[str, ...] = ()  # out of scope, objective recognised, what was lost
    curves: tuple[Curve, ...] = field(default=())
    also: tuple[Hypothesis, ...] = ()  # causes at work beside the first, not exclusive with it
    known_issues: tuple[KnownIssueNote, ...] = ()  # of library versions; they move no probability
    figures: tuple[str, ...] = ()  # data, gap and gradient norms in numbers; they move no probability
    asked: tuple[tuple[str, str], ...] = ()  # questions of an interview and their answers
    batches: tuple[TokenSamples, ...] = ()  # of a language model: what its loss saw first, and its evaluation
    answers: tuple[RewardedAnswers, ...] = ()  # of a policy: what it wrote first and last, and what that earned
    samples: tuple[ShownSamples, ...] = ()  # the worst of a training batch and some at random, by loss

    def present(self) -> tuple[Observation, ...]:
        return tuple(symptom for symptom in self.symptoms if symptom.state == "present")

    def to_json(self, *, texts: bool = False) -> dict[str, Any]:
        """`texts`: with what the user's data holds. Without, classes and losses only: what is kept or posted."""
        from traindx.shown_samples import to_json as samples_to_json
        from traindx.token_samples import answers_to_json
        from traindx.token_samples import to_json as batch_to_json

        return {
            "schema": SCHEMA, "traindx": self.version, "verdict": self.verdict, "headline": self.headline,
            "run": self.run.to_json(), "symptoms": [symptom.to_json() for symptom in self.symptoms],
            "hypotheses": [hypothesis.to_json() for hypothesis in self.hypotheses],
            "missing": [missing.to_json() for missing in self.missing], "next": self.next, "notes": list(self.notes),
            "curves": [curve.to_json() for curve in self.curves],
            "also": [hypothesis.to_json() for hypothesis in self.also],
            "known_issues": [note.to_json() for note in self.known_issues],
            "figures": list(self.figures),
            "asked": [{"question": question, "answer": answer} for question, answer in self.asked],
            "batches": [batch_to_json(batch, texts) for batch in self.batches],
            "answers": [answers_to_json(one, texts) for one in self.answers],
            "samples": [samples_to_json(one, texts) for one in self.samples],
        }  # fmt: skip

    def __repr__(self) -> str:
        """One line: the fields have a page of their own, and JSON."""
        first = self.hypotheses[0] if self.hypotheses else None
        sure = first is not None and first.confidence >= UNSURE
        named = f": {first.cause}" if first is not None and self.verdict != "healthy" else ""
        cause = f"{named} {first.confidence:.0%}" if first is not None and sure else ""
        where = f"{self.run.source} ({self.run.name})" if self.run.name else self.run.source
        return f"<Diagnosis {self.verdict}{cause}, {where}, {self.run.steps} {self.run.axis}s>"

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        from traindx.reporters.html.fragment import of_diagnosis

        return of_diagnosis(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Diagnosis:
        if data.get("schema") != SCHEMA:
            raise ValueError(f"schema is {data.get('schema')!r}, expected {SCHEMA!r}")
        from traindx.shown_samples import from_json as samples_from_json
        from traindx.token_samples import answers_from_json
        from traindx.token_samples import from_json as batch_from_json

        run = data["run"]
        return cls(
            verdict=data["verdict"], headline=data["headline"],
            run=RunSummary(run["source"], run["format"], run["name"], run["steps"], tuple(run["metrics"]),
                           run["config"], run["objective"], tuple(run["lost"]), run.get("axis", "step"),
                           run.get("chosen_by", "")),
            symptoms=tuple(Observation.from_json(symptom) for symptom in data["symptoms"]),
            hypotheses=tuple(Hypothesis.from_json(hypothesis) for hypothesis in data["hypotheses"]),
            missing=tuple(Missing(m["evidence"], tuple(m["would_decide"]), m["how"]) for m in data["missing"]),
            next=data["next"], version=data["traindx"], notes=tuple(data["notes"]),
            curves=tuple(
                Curve(c["name"], _floats(c["steps"]), _floats(c["values"]), c.get("axis", ""), c.get("goal", ""))
                for c in data["curves"]
            ),
            also=tuple(Hypothesis.from_json(hypothesis) for hypothesis in data.get("also", ())),
            known_issues=tuple(KnownIssueNote(**note) for note in data.get("known_issues", ())),
            figures=tuple(data.get("figures", ())),
            asked=tuple((one["question"], one["answer"]) for one in data.get("asked", ())),
            batches=tuple(batch_from_json(batch) for batch in data.get("batches", ())),
            answers=tuple(answers_from_json(one) for one in data.get("answers", ())),
            samples=tuple(samples_from_json(one) for one in data.get("samples", ())),
        )  # fmt: skip


def _number(value: Any) -> Any:
    """JSON has no NaN or Inf: they are written as strings, and whole floats as integers."""
    if not isinstance(value, float):
        return value
    if math.isnan(value) or math.isinf(value):
        return str(value)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _floats(values: list[Any]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
