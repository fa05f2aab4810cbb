"""Which question next: the one with the most expected information for the time it takes, if it can change the answer.

The same idea as `engine.next_evidence`, with answers in place of measurements: how probable each answer is under each
explanation follows from what the explanation predicts, and the best few questions are tried out on the ranking
itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from traindx.causes import causes
from traindx.engine.evidence import Evidence, entropy
from traindx.engine.next_evidence import bound
from traindx.engine.rank import expectation
from traindx.engine.words import STRENGTH
from traindx.interview.answers import marks
from traindx.questions.base import Choice, Question, Value
from traindx.symptoms import symptoms

SHORTLIST = 4  # questions that are tried out on the ranking
LEAST_BITS = 0.06  # a question that settles less is not worth anybody's time
GAIN = 0.03  # by which the leading cause must be expected to be right more often, or the question changes nothing
RARE = 0.004  # an answer less probable than this is not tried out
READING = 30.0  # seconds it takes to turn to any question, whatever it asks
HEARS = 0.9  # people answer what is so this often, and overlook or misjudge the rest
GUESSES = 0.4  # and this often where most could not know
IMAGINES = 0.01  # and tick what is not so
OFTEN = STRENGTH["often"]
EXPERIMENT = 60.0  # seconds from which a question wants something to be tried first
TRIED = 0.5  # of the people asked have tried it

Suppose = Callable[[Question, Value], Evidence]


@dataclass(frozen=True)
class Worth:
    """What a question is expected to settle, in bits, and how much more often the leading cause would then be right.
    Answers under which the same cause leads add nothing to the `gain`: a question without any cannot change the
    conclusion."""

    question: Question
    bits: float
    gain: float

    @property
    def per_second(self) -> float:
        return answered(self.question) * self.bits / (READING + self.question.seconds)


def best(
    evidence: Evidence,
    open_questions: Iterable[Question],
    suppose: Suppose,
    numbers: Callable[[Question], list[Mapping[str, float]]],
) -> Worth | None:
    """The question to ask now, or None where no question would change the answer."""
    probabilities = evidence.probabilities()
    rough = [Worth(question, bound_of(question, probabilities, numbers), 1.0) for question in open_questions]
    rough = sorted((worth for worth in rough if worth.bits >= LEAST_BITS), key=lambda worth: -worth.per_second)
    tried: list[Worth] = []
    for place in range(0, len(rough), SHORTLIST):
        tried = [
            tryout(worth.question, evidence, probabilities, suppose, numbers)
            for worth in rough[place : place + SHORTLIST]
        ]
        tried = [worth for worth in tried if worth.bits >= LEAST_BITS and worth.gain >= GAIN]
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
    raw = [{cause: plausibility(choice, cause) for cause in causes} for choice in question.choices]
    totals = {cause: sum(answer[cause] for answer in raw) for cause in causes}
    return [{cause: value / totals[cause] for cause, value in answer.items()} for answer in raw]


def own_settings(cause: str) -> frozenset[str]:
    """Settings that a cause often comes with."""
    known, table = symptoms(), causes()
    predicted = table[cause].predicts if cause in table else {}
    return frozenset(i for i, word in predicted.items() if known[i].kind == "setting" and STRENGTH[word] >= OFTEN)


def ticked(choice: Choice, cause: str) -> float:
    """P(the choice is ticked | cause)."""
    if choice.present:
        known = symptoms()
        there = max(expectation(cause, known[symptom]) for symptom in marks(choice))
        return (GUESSES if choice.overlooked else HEARS) * there + IMAGINES * (1 - there)
    odds = choice.usual / (1 - choice.usual) * math.exp(choice.leans.get(cause, 0.0))
    return odds / (1 + odds)


def answered(question: Question) -> float:
    """P(it gets an answer at all)."""
    return TRIED if question.seconds >= EXPERIMENT else HEARS


def tryout(
    question: Question,
    evidence: Evidence,
    probabilities: Mapping[str, float],
    suppose: Suppose,
    numbers: Callable[[Question], list[Mapping[str, float]]],
) -> Worth:
    """Rank again under every plausible answer."""
    now = entropy(probabilities.values())
    after = right = 0.0
    answers = possible(question, probabilities, numbers)
    total = sum(chance for _, chance in answers)
    for value, chance in answers:
        then = suppose(question, value).probabilities()
        after += chance / total * entropy(then.values())
        right += chance / total * max(then.values())
    return Worth(question, now - after, answered(question) * (right - max(probabilities.values())))


def possible(
    question: Question, probabilities: Mapping[str, float], numbers: Callable[[Question], list[Mapping[str, float]]]
) -> list[tuple[Value, float]]:
    """The answers to expect, with their probability. Of a list: each choice alone, or none; two at once are rare
    enough."""
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


def plausibility(choice: Choice, cause: str) -> float:
    """How readily a cause leads to this answer, up to a factor common to all answers."""
    known = symptoms()
    weight = choice.usual * math.exp(choice.leans.get(cause, 0.0))
    for symptom in choice.present:
        weight *= min(HEARS, expectation(cause, known[symptom])) / known[symptom].background
    for symptom in choice.absent:
        weight *= (1 - HEARS * expectation(cause, known[symptom])) / (1 - HEARS * known[symptom].background)
    return weight
