"""From an answer to evidence: what somebody tells becomes observations, hints and settings."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from traindx.causes import causes
from traindx.diagnosis import Observation
from traindx.engine.context import Hint
from traindx.errors import TraindxError
from traindx.questions.base import UNSEEN, UNTICKED, Choice, Question, Value
from traindx.symptoms import symptoms

DONT_KNOW = frozenset({"", "?", "d", "dk", "unknown", "don't know", "dont know", "do not know", "no idea", "not sure"})

NONE = frozenset({"0", "no", "none", "nothing", "none of these", "none of them"})

# Of those who find a mistake in their own code nine in ten are right, and one in fifty of the others believes to see
# it: log odds of 3.8. An observation that is less clear than proof gives 2.9 of them.
READ_IN_CODE = 1.2


@dataclass(frozen=True)
class Reported:
    """Everything one or several answers say. `hand_overs` name problems that are none of learning."""

    observations: tuple[Observation, ...] = ()
    hints: tuple[Hint, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    hand_overs: tuple[str, ...] = ()


def parsed(question: Question, given: Any) -> Value:
    """The answer as the question takes it. Raises TraindxError for what is none of its choices."""
    if given is None or (isinstance(given, str) and given.strip().lower() in DONT_KNOW):
        return None
    if question.kind == "number":
        return _number(question, given)
    if question.kind == "one" and question.choice(str(given)) is None and str(given).strip().lower() in NONE:
        return None
    if question.kind == "one":
        if isinstance(given, Sequence) and not isinstance(given, str):
            if len(given) != 1:
                raise TraindxError(f"{question.id} takes one answer, not {len(given)}.", _offer(question))
            given = given[0]
        return _choice(question, given).id
    members = [given] if isinstance(given, str | int) else list(given) if isinstance(given, Sequence) else None
    if members is None:
        raise TraindxError(f"{question.id} takes a list of answers.", _offer(question))
    if len(members) == 1 and str(members[0]).strip().lower() in NONE:
        return ()
    ticked = {_choice(question, member).id for member in members}
    return tuple(choice.id for choice in question.choices if choice.id in ticked)


def reported(question: Question, value: Value) -> Reported:
    """What this answer says."""
    if value is None:
        return Reported()
    if question.kind == "number":
        return Reported(settings={question.setting: value})
    if question.kind == "one":
        choice = question.choice(str(value))
        return _of_choice(choice, question) if choice is not None else Reported()
    ticked = set(value) if isinstance(value, tuple) else set()
    parts = [_of_choice(choice, question) for choice in question.choices if choice.id in ticked]
    parts += [_lone(question, ticked)]
    seen = {observation.id for part in parts for observation in part.observations}
    parts += [
        Reported(tuple(_no(symptom, choice, _unticked(choice)) for symptom in choice.present if symptom not in seen))
        for choice in question.choices
        if choice.id not in ticked and not choice.overlooked
    ]
    return merged(parts)


def mentioned(question: Question, said: Sequence[str], clarity: float, *, whole: bool) -> Reported:
    """What a sentence says that was typed instead of an answer: its choices, less plainly than ticked ones. What it
    leaves out is open, but for what nobody would leave out. `whole`: nothing but this sentence was said."""
    parts = [_of_choice(replace(c, clarity=clarity), question) for c in question.choices if c.id in said]
    left_out = [c for c in question.choices if said and whole and c.unmissable and c.id not in said]
    parts += [
        Reported(tuple(Observation(i, "absent", f"You did not mention: {c.text}.", clarity=clarity) for i in c.present))
        for c in left_out
    ]
    return merged([*parts, _lone(question, said) if whole else Reported()])


def _lone(question: Question, ticked: Collection[str]) -> Reported:
    """What follows from a single tick: the trouble lies there and nowhere else."""
    choice = question.choice(next(iter(ticked))) if len(ticked) == 1 else None
    if choice is None or not choice.alone:
        return Reported()
    return Reported(
        hints=tuple(Hint(i, odds, f"you said nothing but: {choice.text}") for i, odds in choice.alone.items())
    )


def merged(parts: Iterable[Reported]) -> Reported:
    """Several answers together: of two about the same symptom the plainer one counts, a yes before a no; in whatever
    order they came."""
    best: dict[str, Observation] = {}
    found: list[Hint] = []
    settings: dict[str, Any] = {}
    hand_overs: list[str] = []
    for part in parts:
        for observation in part.observations:
            held = best.get(observation.id)
            if held is None or _plainness(observation) > _plainness(held):
                best[observation.id] = observation
        found += part.hints
        settings |= part.settings
        hand_overs += part.hand_overs
    return Reported(tuple(best.values()), tuple(dict.fromkeys(found)), settings, tuple(dict.fromkeys(hand_overs)))


def _plainness(observation: Observation) -> tuple[float, bool, str]:
    return observation.clarity, observation.state == "present", observation.evidence


def _of_choice(choice: Choice, question: Question) -> Reported:
    sentence = f"you said: {choice.text}"
    seen = tuple(Observation(i, "present", f"You said: {choice.text}.", clarity=choice.clarity) for i in choice.present)
    ruled_out = tuple(_no(i, choice, choice.clarity) for i in choice.absent)
    hints = tuple(Hint(cause, odds, sentence) for cause, odds in choice.leans.items())
    hints += named_outright(mistakes(choice), f"You said: {choice.text}.")  # as the observation says: shown once
    return Reported(seen + ruled_out, hints, dict(choice.settings), (choice.hand_over,) if choice.hand_over else ())


def in_words(question: Question, value: Value) -> str:
    """An answer as the page repeats it."""
    if value is None:
        return "don't know"
    if question.kind == "number":
        return f"{value:g}"
    ids = value if isinstance(value, tuple) else (str(value),)
    said = [choice.text for i in ids if (choice := question.choice(i)) is not None]
    return "; ".join(said) or "none of these"


def marks(choice: Choice) -> list[str]:
    """What people look for before they tick a choice: the mistake itself where it names one, else any of its
    symptoms."""
    return mistakes(choice) or list(choice.present)


def mistakes(choice: Choice) -> list[str]:
    """The symptoms of a choice that are a mistake itself rather than what follows from it."""
    known = symptoms()
    return [symptom for symptom in choice.present if known[symptom].direct]


def named_outright(seen: Iterable[str], sentence: str) -> tuple[Hint, ...]:
    """For the causes whose own mark is among the mistakes seen: something they always show and hardly any other run
    does."""
    known = symptoms()
    marks = [symptom for symptom in seen if known[symptom].direct]
    return tuple(
        Hint(cause.id, READ_IN_CODE, sentence)
        for cause in causes().values()
        if any(cause.predicts.get(mark) == "always" for mark in marks)
    )


def _unticked(choice: Choice) -> float:
    return UNSEEN if mistakes(choice) else UNTICKED


def _no(symptom: str, choice: Choice, clarity: float) -> Observation:
    said = f"You said: {choice.text}." if symptom in choice.absent else f"You did not tick: {choice.text}."
    return Observation(symptom, "absent", said, clarity=clarity)


def _number(question: Question, given: Any) -> float:
    try:
        value = float(str(given).replace(",", ".").strip()) if not isinstance(given, bool) else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise TraindxError(
            f"{given!r} is no number for {question.id}.", "Give one such as 0.001 or 1e-3, or d (don't know)."
        )
    return value


def _choice(question: Question, given: Any) -> Choice:
    """By id, by its number on the screen (from 1), or by its whole text."""
    text = str(given).strip().lower()
    if text.isdecimal() and 1 <= int(text) <= len(question.choices):
        return question.choices[int(text) - 1]
    for choice in question.choices:
        if text in (choice.id, choice.text.lower()):
            return choice
    raise TraindxError(f"{given!r} is no answer to {question.id}.", _offer(question))


def _offer(question: Question) -> str:
    return f"It takes {', '.join(choice.id for choice in question.choices)}, or null (don't know)."
