"""How many questions the interview needs: simulated users answer from the truth about a run.

    python benchmarks/interview/score.py                  # truth sampled from what each cause is expected to show
    python benchmarks/interview/score.py --zoo RESULTS    # truth from recorded runs of the fault zoo

A user answers a question from the run's symptoms, and one time in ten does not know; nobody asks about a run in which nothing shows. The interview asks in its own order and, for
comparison, in random order. What is counted is the question after which the leading cause no longer changes and is the one that
all answers together give. RESULTS is what benchmarks/zoo/make.py wrote (results.jsonl, also gzipped), or a directory of *.json
files {"cause": id, "observations": [{"id", "state"}, ...]}; single faults that did damage are drawn from it, evenly by cause."""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from traindx.causes import causes
from traindx.engine.rank import HEALTHY, expectation
from traindx.interview import Session, start
from traindx.interview.choosing import marks
from traindx.questions import questions
from traindx.questions.base import Choice, Question, Value
from traindx.symptoms import symptoms

DONT_KNOW = 0.1
MOST = 30
DRAWS = 50


@dataclass(frozen=True)
class User:
    """Somebody whose training has this fault and shows these symptoms."""

    cause: str
    states: Mapping[str, bool]
    answers: Mapping[str, Value]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoo", type=Path, metavar="RESULTS", help="recorded runs instead of sampled ones")
    parser.add_argument("--users", type=int, default=2, help="simulated users per cause")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    users = from_zoo(options.zoo, options.users, chance) if options.zoo else from_expectations(options.users, chance)
    began = time.process_time()
    rows = [(user, *interview(user, chance)) for user in users]
    took = (time.process_time() - began) / max(len(users), 1)
    report = summary(rows, took)
    print(table(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    good = report["informed"]["median"] <= 4 and report["random"]["median"] >= 1.5 * report["informed"]["median"]
    return 0 if good else 1


def from_expectations(count: int, chance: random.Random) -> Sequence[User]:
    users = []
    for cause in causes():
        for _ in range(count if cause != HEALTHY else 0):
            users.append(user_of(cause, complained_of(cause, chance), chance))
    return users


def complained_of(cause: str, chance: random.Random) -> Mapping[str, bool]:
    """A run with this fault in which something shows that makes people ask."""
    states: Mapping[str, bool] = {}
    for _ in range(DRAWS):
        states = {s.id: chance.random() < expectation(cause, s) for s in symptoms().values()}
        if complains(states):
            break
    return states


def complains(states: Mapping[str, bool]) -> bool:
    shown = {s for choice in questions()["symptoms"].choices for s in choice.present if s != "still-improving"}
    return any(states.get(symptom, False) for symptom in shown)


def from_zoo(place: Path, count: int, chance: random.Random) -> Sequence[User]:
    by_cause: dict[str, list[Mapping[str, bool]]] = {}
    for cause, states in recorded(place):
        if not complains(states):
            continue
        by_cause.setdefault(cause, []).append(states)
    return [
        user_of(cause, states, chance)
        for cause, runs in sorted(by_cause.items())
        for states in chance.sample(runs, min(count, len(runs)))
    ]


def recorded(place: Path) -> Iterator[tuple[str, Mapping[str, bool]]]:
    """The cause of every labelled run and what was seen in it, with everything the zoo recorded of it."""
    if place.is_dir():
        for path in sorted(place.rglob("*.json")):
            data = json.loads(path.read_text(encoding="utf-8"))
            yield (
                data["cause"],
                {o["id"]: o["state"] == "present" for o in data["observations"] if o["state"] != "unknown"},
            )
        return
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "zoo"))
    from labels import specimens

    for specimen in specimens([place]):
        if specimen.kind == "fault":  # the fault did damage
            levels = [
                specimen.evidence[name]["observations"]
                for name in ("curve", "live", "probes")
                if name in specimen.evidence
            ]
            yield specimen.causes[0], {name: present for level in levels for name, present, _ in level}


def user_of(cause: str, states: Mapping[str, bool], chance: random.Random) -> User:
    """The user's answers are drawn once, so that every order of questions meets the same person."""
    answers: dict[str, Value] = {}
    for question in questions().values():
        unknown = question.id != "symptoms" and chance.random() < DONT_KNOW
        answers[question.id] = None if unknown else answer(question, cause, states, chance)
    return User(cause, states, answers)


def answer(question: Question, cause: str, states: Mapping[str, bool], chance: random.Random) -> Value:
    if question.kind == "many":
        return tuple(c.id for c in question.choices if ticks(c, cause, states, chance))
    if question.kind == "number":
        session = start()
        likely = [answer_[cause] for answer_ in session.number_likelihoods(question)]
        return chance.choices(list(question.samples), likely)[0]
    weights = [fits(choice, cause, states) for choice in question.choices]
    if not any(weights):
        return None
    return chance.choices([choice.id for choice in question.choices], weights)[0]


def ticks(choice: Choice, cause: str, states: Mapping[str, bool], chance: random.Random) -> bool:
    if choice.present:
        return any(states.get(symptom, False) for symptom in marks(choice))
    odds = choice.usual / (1 - choice.usual) * math.exp(choice.leans.get(cause, 0.0))
    return not choice.hand_over and chance.random() < odds / (1 + odds)


def fits(choice: Choice, cause: str, states: Mapping[str, bool]) -> float:
    """A truthful answer contradicts nothing that is so, and names what is so before anything else."""
    if (
        choice.hand_over
        or any(states.get(s, False) for s in choice.absent)
        or not all(states.get(s, False) for s in choice.present)
    ):
        return 0.0
    return choice.usual * math.exp(choice.leans.get(cause, 0.0)) * (20.0 if choice.present else 1.0)


def interview(user: User, chance: random.Random) -> tuple[int, int, bool, int, bool]:
    """Questions until the answer is final, in the interview's order and in random order; whether the final answer is right;
    how many questions were asked until it stopped by itself, and whether it stopped at the final answer."""
    final = top(complete(user))
    session, leads = start(), []
    stopped: int | None = None
    order: list[str] = []
    while len(order) < MOST:
        question = session.question()
        if question is None:
            break
        session.answer(question.id, user.answers[question.id])
        order.append(question.id)
        leads.append(top(session))
    stopped = len(order)
    ended_well = bool(leads) and leads[-1] == final
    informed = settled_at(leads, final)
    shuffled = [identifier for identifier in questions() if identifier != "symptoms"]
    chance.shuffle(shuffled)
    session, leads = start(), []
    for identifier in ["symptoms", *shuffled]:
        session.answer(identifier, user.answers[identifier])
        leads.append(top(session))
    return informed or MOST, settled_at(leads, final) or MOST, final == user.cause, stopped, ended_well


def complete(user: User) -> Session:
    session = start()
    for identifier, value in user.answers.items():
        session.answer(identifier, value)
    return session


def top(session: Session) -> str:
    probabilities = session.evidence().probabilities()
    return max(probabilities, key=lambda cause: probabilities[cause])


def settled_at(leads: Sequence[str], final: str) -> int | None:
    """The number of questions after which the lead is the final one and stays so."""
    if not leads or leads[-1] != final:
        return None
    place = len(leads)
    while place > 1 and leads[place - 2] == final:
        place -= 1
    return place


def summary(rows: Sequence[tuple[User, int, int, bool, int, bool]], took: float) -> dict:  # type: ignore[type-arg]
    informed, shuffled, stopped = ([row[place] for row in rows] for place in (1, 2, 4))

    def spread(values: Sequence[int]) -> dict[str, float]:
        ordered = sorted(values)
        return {
            "median": statistics.median(ordered),
            "p90": ordered[int(0.9 * (len(ordered) - 1))],
            "mean": round(statistics.mean(ordered), 1),
        }

    return {
        "users": len(rows), "informed": spread(informed), "random": spread(shuffled), "asked": spread(stopped),
        "all_answers_right": round(statistics.mean(row[3] for row in rows), 3),
        "ended_at_final": round(statistics.mean(row[5] for row in rows), 3), "cpu_seconds": round(took, 2),
    }  # fmt: skip


def table(report: Mapping) -> str:  # type: ignore[type-arg]
    lines = [f"{report['users']} simulated users; all answers together name the true cause for {report['all_answers_right']:.0%}", "",
             "| questions to a stable answer | median | mean | 90 % |", "|---|---:|---:|---:|"]  # fmt: skip
    for label, key in (("the interview's order", "informed"), ("random order (symptoms first)", "random")):
        lines.append(f"| {label} | {report[key]['median']:g} | {report[key]['mean']} | {report[key]['p90']} |")
    lines += ["", f"The interview stops by itself after {report['asked']['median']:g} questions (median), at the final answer for "
              f"{report['ended_at_final']:.0%}; {report['cpu_seconds']} CPU s a user."]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
