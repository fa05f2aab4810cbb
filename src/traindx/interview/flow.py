"""The interview itself: a Session knows a run (or none), what a script says and what was answered; everything follows
from that."""

from __future__ import annotations

import copy
import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from traindx.diagnosis import ANSWERS, UNSURE, Diagnosis, Observation
from traindx.engine import diagnose
from traindx.engine.context import Hint
from traindx.engine.evidence import Evidence, measure, merge_evidence
from traindx.engine.rank import HEALTHY, OTHER
from traindx.errors import TraindxError
from traindx.interview import choosing
from traindx.interview.answers import Reported, in_words, mentioned, merged, mistakes, parsed, reported
from traindx.interview.pressure import Reply, recognise
from traindx.interview.script_reading import ScriptReading
from traindx.misdiagnoses import FIRST_LOOKS, HAND_OVERS
from traindx.questions import questions
from traindx.questions.base import Question, Value
from traindx.run import Run
from traindx.signals import Signals, lookup
from traindx.symptoms import symptoms

SCHEMA = "traindx.ask/1"
FIRST = "symptoms"
MOST_QUESTIONS = 10  # nobody answers more with care
SURE = 0.8  # a leading explanation this likely needs no further question
SAID = 0.6  # clarity of a symptom mentioned in passing
READ_OUT = 3  # mistakes of a script that are named on the page's last line
QUICK_SECONDS = 10.0  # seconds within which a setting is looked up
LEAST_LIKELY = 1e-12  # of a cause, so that nothing is divided by zero
PLAINLY = 0.5  # clarity from which a symptom need not be asked about again
# Log odds against 'healthy'. Of the logs that are looked at 45 % are healthy; of the people who ask for help far fewer,
# and of those who describe a problem perhaps one in fifteen.
ASKS, COMPLAINS = -1.8, -2.4


def start(
    run: Run | None = None, script: ScriptReading | None = None, settings: Mapping[str, Any] | None = None
) -> Session:
    """An interview about this run; without one it rests on answers alone."""
    return Session(run or Run("your answers", ANSWERS), script or ScriptReading(), dict(settings or {}))


@dataclass
class Session:
    """One interview. `answers` maps question ids to values in the order they were given (None: don't know); the order
    matters for `back` alone."""

    run: Run
    script: ScriptReading = field(default_factory=ScriptReading)
    settings: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Value] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    _measured: tuple[tuple[Any, ...], Signals, tuple[Observation, ...]] | None = field(
        default=None, repr=False, compare=False
    )

    # What an interviewer calls

    def question(self) -> Question | None:
        """The next question, or None when no further one would change the answer."""
        if self.handed_over():
            return None
        if FIRST not in self.answers and not self.shows_a_problem():
            return questions()[FIRST]
        if len(self.answers) >= MOST_QUESTIONS or self.settled():
            return None
        offered = self.open_questions()
        quick = self.own_setting(offered)
        if quick is not None:
            return quick
        found = choosing.best(self.evidence(), offered, self.suppose, self.number_likelihoods)
        return None if found is None else found.question

    def answer(self, identifier: str, value: Any) -> None:
        """Take an answer: a choice's id or number, a list of them, a number, or None (don't know)."""
        known = questions()
        if identifier not in known:
            raise TraindxError(f"there is no question {identifier!r}.", f"There are: {', '.join(known)}.")
        taken = parsed(known[identifier], value)
        self.answers.pop(identifier, None)
        self.answers[identifier] = taken

    def back(self) -> str | None:
        """Take the last answer back; its question's id, or None where there was none."""
        return self.answers.popitem()[0] if self.answers else None

    def says(self, text: str) -> Reply | None:
        """Free text: symptoms in it are noted, the rest is for the interviewer to show."""
        reply = recognise(text)
        if reply is not None:
            self.said = tuple(dict.fromkeys([*self.said, *reply.ticks]))
        return reply

    def diagnosis(self) -> Diagnosis:
        """What follows from everything known so far."""
        known = self.reported()
        page = diagnose(self._with(known.settings), None, known.observations, known.hints)
        notes = self.hand_overs()
        if self.handed_over():
            return dataclasses.replace(
                page, verdict="inconclusive", headline="This is not a problem of learning, so there is no diagnosis "
                                                       "for it here.",
                hypotheses=(), missing=(), notes=page.notes, next=" ".join(notes),
            )  # fmt: skip
        found = [o.evidence for o in self.script.observations if o.state == "present"]
        if found and page.verdict == "inconclusive":
            first = "; ".join(sentence.rstrip(".") for sentence in found[:READ_OUT])
            page = dataclasses.replace(
                page, next=f"Mend what stands in the script ({first}), then see what is left: traindx run "
                           f"{shlex.quote(self.script.name)}"
            )  # fmt: skip
        notes = tuple(dict.fromkeys([*notes, *self.first_looks(page), *page.notes]))
        return dataclasses.replace(page, notes=notes, asked=self.transcript())

    def transcript(self) -> tuple[tuple[str, str], ...]:
        """Every question that was put, in the order it was answered, and what was said."""
        return tuple((questions()[i].text, in_words(questions()[i], value)) for i, value in self.answers.items())

    def first_looks(self, page: Diagnosis) -> list[str]:
        """Where a symptom was only reported and no cause stands out: what to think of in which order."""
        if self.run.format != ANSWERS or any(
            h.confidence >= UNSURE and h.cause not in (HEALTHY, OTHER) for h in page.hypotheses
        ):
            return []
        there = {o.id for o in page.present()}
        return [
            f"First looks for {look.symptom}: {', '.join(look.causes)}. First thing to try: {look.fix}."
            for look in FIRST_LOOKS
            if look.symptom in there
        ]

    def handed_over(self) -> bool:
        """Out of scope: crashes and the like, where nothing else is wrong."""
        known = self.reported()
        problems = any(o.state == "present" and symptoms()[o.id].severity == "problem" for o in known.observations)
        return bool(known.hand_overs) and not problems and not self.shows_a_problem()

    def hand_overs(self) -> tuple[str, ...]:
        """Problems named so far that are none of learning, each with where to go."""
        return tuple(_pointer(what) for what in self.reported().hand_overs)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA, "run": None if self.run.format == ANSWERS else self.run.source,
            "script": self.script.to_json(),
            "settings": self.settings, "said": list(self.said),
            "answers": {i: list(v) if isinstance(v, tuple) else v for i, v in self.answers.items()},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any], run: Run | None = None) -> Session:
        """The session as it was. Answers to questions that no longer exist are left out."""
        if data.get("schema") != SCHEMA:
            raise TraindxError(
                f"this is no interview ({data.get('schema')!r} instead of {SCHEMA!r}).", "Start a new one: traindx ask"
            )
        session = start(run, ScriptReading.from_json(data.get("script") or {}), data.get("settings") or {})
        offered = {choice.id for choice in questions()[FIRST].choices}
        session.said = tuple(tick for tick in data.get("said") or () if tick in offered)
        for identifier, value in (data.get("answers") or {}).items():
            if identifier in questions():
                session.answer(identifier, value)
        return session

    # What it rests on

    def reported(self) -> Reported:
        """Script, passing remarks and answers together, in an order that does not depend on when they were given."""
        remarks = mentioned(questions()[FIRST], self.said, SAID, whole=self.answers.get(FIRST) is None)
        given = [reported(questions()[i], self.answers[i]) for i in sorted(self.answers)]
        return merged([remarks, Reported(hints=self._trouble()), *given, self.script.reported()])

    def evidence(self) -> Evidence:
        return self._evidence(self.reported())

    def settled(self) -> bool:
        """A fault is likely enough to act on; or a run that was measured is healthy."""
        probabilities = self.evidence().probabilities()
        lead = max(probabilities, key=lambda cause: probabilities[cause])
        return probabilities[lead] >= SURE and (lead != HEALTHY or self.run.format != ANSWERS)

    def shows_a_problem(self) -> bool:
        """The run itself shows what is wrong: nobody needs to be asked for symptoms."""
        _, measured = self._look(self._with({}))
        return any(o.state == "present" and symptoms()[o.id].severity == "problem" for o in measured)

    def open_questions(self) -> list[Question]:
        """Questions neither answered nor answered by the run, its settings or the script; of a list of mistakes in
        which one was seen already nothing more is asked."""
        observations = self.evidence().observations
        known = {o.id for o in observations if o.state != "unknown" and o.clarity >= PLAINLY}
        seen = {o.id for o in observations if o.state == "present" and o.clarity >= PLAINLY}
        ruled_out = {o.id for o in observations if o.state == "absent"}
        config = self._with(self.reported().settings).config
        return [
            question
            for question in questions().values()
            if question.id not in self.answers
            and not _is_set(question.setting, config)
            and not (question.symptoms and question.symptoms <= known)
            and not (question.about and ruled_out.issuperset(question.about))
            and not any(seen.intersection(mistakes(choice)) for choice in question.choices if question.kind == "many")
        ]

    def own_setting(self, offered: Sequence[Question]) -> Question | None:
        """The setting that would give the first suspect away, if it takes no longer than one look: a learning rate, the
        precision."""
        probabilities = self.evidence().probabilities()
        lead = max(probabilities, key=lambda cause: probabilities[cause])
        telling = choosing.own_settings(lead)
        for question in offered if telling else ():
            values: list[Value] = list(question.samples) or [choice.id for choice in question.choices]
            if question.setting and question.kind != "many" and question.seconds <= QUICK_SECONDS:
                shown = (o for value in values for o in self.suppose(question, value).observations)
                if any(o.state == "present" and o.id in telling for o in shown):
                    return question
        return None

    def suppose(self, question: Question, value: Value) -> Evidence:
        """The evidence if this were answered."""
        return self._evidence(merged([self.reported(), reported(question, value)]), again=False)

    def number_likelihoods(self, question: Question) -> list[Mapping[str, float]]:
        """P(value | cause) of a number's typical values: how usual each is, times how much likelier the engine takes
        the cause to be once it is reported."""
        now = self.evidence().probabilities()
        raw = []
        for value, usual in question.samples.items():
            then = self.suppose(question, value).probabilities()
            raw.append({cause: usual * then[cause] / max(now[cause], LEAST_LIKELY) for cause in now})
        totals = {cause: sum(sample[cause] for sample in raw) for cause in now}
        return [{cause: sample[cause] / totals[cause] for cause in now} for sample in raw]

    def _evidence(self, known: Reported, *, again: bool = True) -> Evidence:
        """`again` looks at the run anew where settings changed what can be measured in it; a supposition does so only
        where there is nothing to look at but settings."""
        if again or self._measured is None:
            signals, measured = self._look(self._with(known.settings))
        else:
            _, signals, measured = self._measured
            signals = Signals(self._with(known.settings)) if self.run.format == ANSWERS else copy.copy(signals)
            signals.run = self._with(known.settings)
            measured = measure(signals) if self.run.format == ANSWERS else measured
        return merge_evidence(signals, measured, known.observations, known.hints)

    def _look(self, run: Run) -> tuple[Signals, tuple[Observation, ...]]:
        key = tuple(sorted((name, repr(value)) for name, value in run.config.items()))
        if self._measured is None or self._measured[0] != key:
            signals = Signals(run)
            self._measured = (key, signals, measure(signals))
        return self._measured[1], self._measured[2]

    def _with(self, settings: Mapping[str, Any]) -> Run:
        """The run with everything known of its settings; its own come first, then files, then the script, then
        answers."""
        script = {"recording.script": self.script.name} if self.script.name else {}
        return dataclasses.replace(self.run, config={**settings, **script, **self.settings, **self.run.config})

    def _trouble(self) -> tuple[Hint, ...]:
        """That somebody asks is evidence, and more so what they complain of; a run speaks for itself."""
        ticked = self.answers.get(FIRST)
        if self.said or ticked:
            return (Hint(HEALTHY, COMPLAINS, "you describe a problem"),)
        return (Hint(HEALTHY, ASKS, "you are looking for a problem"),) if self.run.format == ANSWERS else ()


def _is_set(name: str, config: Mapping[str, Any]) -> bool:
    if name == "fp16":
        return lookup.half_precision(config) is not None
    return lookup.setting(config, name) is not None if name in lookup.ALIASES else name in config


def _pointer(what: str) -> str:
    problem = next(problem for problem in HAND_OVERS if problem.what == what)
    return f"{problem.what[0].upper()}{problem.what[1:]} is out of scope here. Go to: {problem.go_to}."
