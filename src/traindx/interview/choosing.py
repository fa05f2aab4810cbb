"""Which question next: the one with the most expected information for the time it takes, if it can change the answer.

The same idea as `engine.next_evidence`, with answers in place of measurements: how probable each answer is under each
explanation follows from what the explanation predicts, and the best few questions are tried out on the ranking itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from traindx.engine.evidence import Evidence, entropy
from traindx.engine.next_evidence import bound
from traindx.engine.rank import expectation
from traindx.engine.words import DIRECT
from traindx.questions.base import Choice, Question, Value
from traindx.symptoms import symptoms

SHORTLIST = 4  # questions that are tried out on the ranking
LEAST_BITS = 0.06  # a question that settles less is not worth anybody's time
PLAUSIBLE = 0.05  # answers that change the conclusion must be this probable together to justify a question
RARE = 0.004  # an answer less probable than this is not tried out
READING = 30.0  # seconds it takes to turn to any question, whatever it asks
WEIGHTY = 0.1  # probability by which the leading explanation must move to count as another answer
HEARS = 0.9  # people answer what is so this often, and overlook or misjudge the rest

Suppose = Callable[[Question, Value], Evidence]


@dataclass(frozen=True)
class Worth:
    """What a question is expected to settle, in bits, and whether any plausible answer would change the conclusion."""

    question: Question
    bits: float
    changes: bool

    @property
    def per_second(self) -> float:
        return self.bits / (READING + self.question.seconds)


def best(
    evidence: Evidence,
    open_questions: Iterable[Question],
    suppose: Suppose,
    numbers: Callable[[Question], list[Mapping[str, float]]],
) -> Worth | None:
    """The question to ask now, or None where no question would change the answer."""
    probabilities = evidence.probabilities()
    rough = [Worth(question, bound_of(question, probabilities, numbers), True) for question in open_questions]
    rough = sorted((worth for worth in rough if worth.bits >= LEAST_BITS), key=lambda worth: -worth.per_second)
    tried: list[Worth] = []
    for place in range(0, len(rough), SHORTLIST):
        tried = [
            tryout(worth.question, evidence, probabilities, suppose, numbers)
            for worth in rough[place : place + SHORTLIST]
        ]
        tried = [worth for worth in tried if worth.bits >= LEAST_BITS and worth.changes]
        if tried:
            break
    return max(tried, key=lambda worth: worth.per_second, default=None)


def bound_of(
    question: Question, probabilities: Mapping[str, float], numbers: Callable[[Question], list[Mapping[str, float]]]
) -> float:
    """An upper estimate of the information in a question, without ranking anything."""
    if question.kind == "many":
        bits = 0.0
        for choice in question.choices:
            ticks = {cause: ticked(choice, cause) for cause in probabilities}
            bits += bound(probabilities, [ticks, {cause: 1 - chance for cause, chance in ticks.items()}])
        return min(bits, entropy(probabilities.values()))
    return bound(probabilities, likelihoods(question, probabilities, numbers))


def likelihoods(
    question: Question, causes: Iterable[str], numbers: Callable[[Question], list[Mapping[str, float]]]
) -> list[Mapping[str, float]]:
    """P(answer | cause) of every answer to a question that has one; they sum to one under every cause."""
    if question.kind == "number":
        return numbers(question)
    raw = [{cause: _plausibility(choice, cause) for cause in causes} for choice in question.choices]
    totals = {cause: sum(answer[cause] for answer in raw) for cause in causes}
    return [{cause: value / totals[cause] for cause, value in answer.items()} for answer in raw]


def ticked(choice: Choice, cause: str) -> float:
    """P(the choice is ticked | cause)."""
    if choice.present:
        known = symptoms()
        return min(HEARS, max(expectation(cause, known[symptom]) for symptom in marks(choice)))
    odds = choice.usual / (1 - choice.usual) * math.exp(choice.leans.get(cause, 0.0))
    return odds / (1 + odds)


def marks(choice: Choice) -> list[str]:
    """What people look for before they tick a choice: the mistake itself where it names one, else any of its symptoms."""
    known = symptoms()
    return [i for i in choice.present if known[i].background <= DIRECT] or list(choice.present)


def tryout(
    question: Question,
    evidence: Evidence,
    probabilities: Mapping[str, float],
    suppose: Suppose,
    numbers: Callable[[Question], list[Mapping[str, float]]],
) -> Worth:
    """Rank again under every plausible answer."""
    now = entropy(probabilities.values())
    lead = max(probabilities, key=lambda cause: probabilities[cause])
    after, changed = 0.0, 0.0
    answers = possible(question, probabilities, numbers)
    total = sum(chance for _, chance in answers)
    for value, chance in answers:
        then = suppose(question, value).probabilities()
        after += chance / total * entropy(then.values())
        moved = max(then, key=lambda cause: then[cause]) != lead or abs(then[lead] - probabilities[lead]) > WEIGHTY
        changed += chance / total if moved else 0.0
    return Worth(question, now - after, changed >= PLAUSIBLE)


def possible(
    question: Question, probabilities: Mapping[str, float], numbers: Callable[[Question], list[Mapping[str, float]]]
) -> list[tuple[Value, float]]:
    """The answers to expect, with their probability. Of a list: each choice alone, or none; two at once are rare enough."""
    if question.kind == "many":
        ticks: list[tuple[Value, float]] = [
            ((choice.id,), sum(p * ticked(choice, cause) for cause, p in probabilities.items()))
            for choice in question.choices
        ]
        none = math.prod(1 - chance for _, chance in ticks)
        return [((), none), *(pair for pair in ticks if pair[1] > RARE)]
    values: Sequence[Value] = list(question.samples) if question.kind == "number" else [c.id for c in question.choices]
    chances = [
        sum(p * answer[cause] for cause, p in probabilities.items())
        for answer in likelihoods(question, probabilities, numbers)
    ]
    return [(value, chance) for value, chance in zip(values, chances, strict=True) if chance > RARE]


def _plausibility(choice: Choice, cause: str) -> float:
    """How readily a cause leads to this answer, up to a factor common to all answers."""
    known = symptoms()
    weight = choice.usual * math.exp(choice.leans.get(cause, 0.0))
    for symptom in choice.present:
        weight *= min(HEARS, expectation(cause, known[symptom])) / known[symptom].background
    for symptom in choice.absent:
        weight *= (1 - HEARS * expectation(cause, known[symptom])) / (1 - HEARS * known[symptom].background)
    return weight
