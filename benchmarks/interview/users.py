"""Simulated users: people whose training has a known fault, and what they answer.

A user answers from the truth about a run. The mistake that was put into it is there, whether or not the recorder
noticed it (`as_recorded`: only where it did). Where the zoo knows a setting (rate, batch, optimiser, task, schedule)
the answer is that setting; where a symptom was looked for, it is what was found; what was never measured is not known.
Only what no recording holds (how large the model is against the data, say) is drawn as the interview itself assumes it.

Nobody is perfect: DONT_KNOW of all questions get no answer, UNTRIED of those that want an experiment. A `fallible` user
also overlooks some of what is there (more where most people could not know) and now and then believes to see what is
not."""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from traindx.causes import causes
from traindx.engine.rank import HEALTHY, expectation
from traindx.interview import start
from traindx.interview.answers import marks
from traindx.questions import questions
from traindx.questions.base import Choice, Question, Value
from traindx.symptoms import symptoms

ZOO = Path(__file__).resolve().parents[1] / "zoo"
DONT_KNOW = 0.1
EXPERIMENT = 60.0  # seconds from which a question wants something to be tried out first
UNTRIED = 0.5
OVERLOOKS = 0.1  # of what is there
HIDDEN = 0.6  # of what most people could not know
IMAGINES = 0.01  # of what is not there, for each thing to tick
DRAWS = 50
LEARNT = {"digits-copy": "regression", "diabetes": "regression", "friedman": "regression", "text-lm": "tokens",
          "text-classes": "tokens", "cancer": "table", "rings": "table", "wine": "table",
          "tastes": "table"}  # fmt: skip
RECURRENT = ("digits-lstm", "digits-rnn")


@dataclass(frozen=True)
class Truth:
    """What is so: the fault, the answers that are as right, what shows, and the settings as answers to questions."""

    cause: str
    right: frozenset[str]
    states: Mapping[str, bool]
    settings: Mapping[str, Value] = field(default_factory=dict)
    task: str = ""


@dataclass(frozen=True)
class User:
    """Somebody with such a run. The answers are drawn once, so that every order of questions meets the same person."""

    truth: Truth
    answers: Mapping[str, Value]


def from_expectations(count: int, chance: random.Random, *, fallible: bool) -> Sequence[User]:
    """`count` users a cause, whose runs show what the engine expects of it."""
    return [
        user_of(Truth(cause, frozenset({cause}), _sampled(cause, chance)), chance, fallible=fallible)
        for cause in causes()
        for _ in range(count if cause != HEALTHY else 0)
    ]


def from_zoo(
    places: Sequence[Path], count: int, chance: random.Random, *, fallible: bool, as_recorded: bool = False
) -> Sequence[User]:
    """`count` users a cause, from single faults of the zoo that did damage and show something."""
    by_cause: dict[str, list[Truth]] = {}
    for truth in recorded(places):
        if complains(truth.states):
            if not as_recorded:
                truth = replace(truth, states={**truth.states, **dict.fromkeys(_put_in(truth.cause), True)})
            by_cause.setdefault(truth.cause, []).append(truth)
    return [
        user_of(truth, chance, fallible=fallible)
        for _, truths in sorted(by_cause.items())
        for truth in chance.sample(truths, min(count, len(truths)))
    ]


def _put_in(cause: str) -> list[str]:
    """The mistake itself: what a cause always shows and hardly any other run does."""
    known = symptoms()
    return [s for s, word in causes()[cause].predicts.items() if word == "always" and known[s].direct]


def complains(states: Mapping[str, bool]) -> bool:
    """Something shows that makes people ask."""
    shown = {s for choice in questions()["symptoms"].choices for s in choice.present if s != "still-improving"}
    return any(states.get(symptom, False) for symptom in shown)


def recorded(places: Sequence[Path]) -> Iterator[Truth]:
    """Every labelled single fault, with everything the zoo recorded of it; a directory holds *.json files {"cause",
    "observations"} instead."""
    for place in places:
        for path in sorted(place.rglob("*.json")) if place.is_dir() else ():
            data = json.loads(path.read_text(encoding="utf-8"))
            seen = {o["id"]: o["state"] == "present" for o in data["observations"] if o["state"] != "unknown"}
            yield Truth(data["cause"], frozenset({data["cause"]}), seen)
    if str(ZOO) not in sys.path:
        sys.path.insert(0, str(ZOO))
    from labels import specimens

    for specimen in specimens([place for place in places if not place.is_dir()]):
        if specimen.kind == "fault":
            levels = [
                specimen.evidence[name]["observations"]
                for name in ("curve", "live", "probes")
                if name in specimen.evidence
            ]
            states = {name: present for level in levels for name, present, _ in level}
            told = _settings(specimen.task, specimen.trace, states, specimen.causes[0])
            yield Truth(specimen.causes[0], specimen.right, states, told, specimen.task)


def user_of(truth: Truth, chance: random.Random, *, fallible: bool) -> User:
    answers: dict[str, Value] = {}
    for question in questions().values():
        unknown = UNTRIED if question.seconds >= EXPERIMENT else DONT_KNOW
        lost = question.id != "symptoms" and chance.random() < unknown
        answers[question.id] = None if lost else answer(question, truth, chance, fallible=fallible)
    return User(truth, answers)


def answer(question: Question, truth: Truth, chance: random.Random, *, fallible: bool) -> Value:
    if question.id in truth.settings:
        return truth.settings[question.id]
    if question.kind == "many":
        return tuple(c.id for c in question.choices if _ticks(c, truth, chance, fallible=fallible))
    if question.kind == "number":
        likely = [weight[truth.cause] for weight in start().number_likelihoods(question)]
        return chance.choices(list(question.samples), likely)[0]
    if question.symptoms and not question.symptoms & truth.states.keys():
        return None
    weights = [_fits(choice, truth) for choice in question.choices]
    return chance.choices([choice.id for choice in question.choices], weights)[0] if any(weights) else None


def _sampled(cause: str, chance: random.Random) -> Mapping[str, bool]:
    states: Mapping[str, bool] = {}
    for _ in range(DRAWS):
        states = {s.id: chance.random() < expectation(cause, s) for s in symptoms().values()}
        if complains(states):
            break
    return states


def _ticks(choice: Choice, truth: Truth, chance: random.Random, *, fallible: bool) -> bool:
    if choice.id == "recurrent" and truth.task:
        return truth.task in RECURRENT
    if not choice.present:
        odds = choice.usual / (1 - choice.usual) * math.exp(choice.leans.get(truth.cause, 0.0))
        return not choice.hand_over and chance.random() < odds / (1 + odds)
    there = any(truth.states.get(symptom, False) for symptom in marks(choice))
    if not fallible:
        return there
    return chance.random() < ((1 - (HIDDEN if choice.overlooked else OVERLOOKS)) if there else IMAGINES)


def _fits(choice: Choice, truth: Truth) -> float:
    """A truthful answer contradicts nothing that is so, and names what is so before anything else."""
    contradicts = any(truth.states.get(s, False) for s in choice.absent)
    if choice.hand_over or contradicts or not all(truth.states.get(s, False) for s in choice.present):
        return 0.0
    return choice.usual * math.exp(choice.leans.get(truth.cause, 0.0)) * (20.0 if choice.present else 1.0)


def _settings(task: str, trace: Mapping[str, Any], states: Mapping[str, bool], cause: str) -> Mapping[str, Value]:
    """What the zoo knows of a specimen, as the answers somebody who knows it gives."""
    batch, rates = trace["batch"], [value for _, value in trace.get("lr", ()) if math.isfinite(value)]
    told: dict[str, Value] = {"task": LEARNT.get(task, "images"), "learning-rate": float(trace["rate"])}
    told["optimizer"] = "adam" if str(trace["optimizer"]).startswith("adam") else "sgd"
    if states.get("momentum-extreme"):
        told["optimizer"] = "momentum"
    whole = states.get("huge-batches", False)
    told["batch-size"] = (
        "tiny" if batch <= 2 else "huge" if batch > 1000 or whole else "small" if batch <= 16 else "usual"
    )
    if cause not in ("fp16-overflow", "low-precision-update-lost"):
        told["precision"] = "fp32"
    if rates:
        told["schedule"] = _schedule(rates, dies=states.get("lr-schedule-anomaly", False))
    return told


def _schedule(rates: Sequence[float], *, dies: bool) -> str:
    if dies:
        return "dies"
    if max(rates) <= 1.05 * min(rates):
        return "constant"
    return "warmup" if rates[0] < 0.5 * max(rates) else "decays"
