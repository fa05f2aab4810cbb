"""Every question keeps its promises, and together they cover what the catalogue distinguishes."""

from __future__ import annotations

import re

import pytest

from traindx.causes import causes
from traindx.engine.words import PROVES
from traindx.interview.answers import reported
from traindx.misdiagnoses import BRANCHES, COMPLAINTS, FIRST_LOOKS, HAND_OVERS
from traindx.questions import questions
from traindx.questions.base import Question
from traindx.symptoms import symptoms

ALL = list(questions().values())


@pytest.mark.parametrize("question", ALL, ids=lambda q: q.id)
def test_a_question_speaks_of_the_catalogue(question: Question) -> None:
    assert question.text.endswith(("?", "apply."))
    assert len(question.why) > 40
    assert question.symptoms <= set(symptoms())
    assert set(question.about) <= set(symptoms())
    for choice in question.choices:
        assert set(choice.leans) <= set(causes())
        assert 0 < choice.usual < 1
        assert choice.hand_over in {"", *(problem.what for problem in HAND_OVERS)}
        for cue in choice.cues:
            re.compile(cue)


@pytest.mark.parametrize("question", ALL, ids=lambda q: q.id)
def test_choices_are_told_apart_and_say_something(question: Question) -> None:
    assert len({choice.id for choice in question.choices}) == len(question.choices)
    if question.kind == "number":
        assert question.setting
        assert sum(question.samples.values()) == pytest.approx(1)
    else:
        assert len(question.choices) > 1
    said = [
        c
        for c in question.choices
        if c.present or c.absent or c.leans or c.settings or c.hand_over or c.id in ("other", "comparable")
    ]
    assert said == list(question.choices)


@pytest.mark.parametrize("question", ALL, ids=lambda q: q.id)
def test_what_is_told_never_proves(question: Question) -> None:
    """Words weigh less than a measurement, and least where nothing was ticked."""
    for choice in question.choices:
        value = (choice.id,) if question.kind == "many" else choice.id
        for observation in reported(question, value).observations:
            direct = symptoms()[observation.id].background <= 0.003
            assert observation.clarity < (PROVES if direct else 1.0)


def test_every_symptom_of_the_tables_is_asked_for() -> None:
    asked = {symptom for question in ALL for choice in question.choices for symptom in choice.present}
    for complaint in COMPLAINTS:
        assert set(complaint.symptoms) <= asked | {"slow-input-pipeline"}, complaint.title
    assert {look.symptom for look in FIRST_LOOKS} <= asked
    assert {symptom for branch in BRANCHES for symptom in (*branch.present, *branch.absent)} <= asked


def test_every_cause_can_be_pointed_to_by_an_answer() -> None:
    asked = {symptom for question in ALL for choice in question.choices for symptom in choice.present}
    leaned = {c for q in ALL for choice in q.choices for c, odds in choice.leans.items() if odds > 0}
    for cause in causes().values():
        shown = {symptom for symptom, word in cause.predicts.items() if word in ("always", "usually")}
        assert cause.id == "healthy" or cause.id in leaned or shown & asked, cause.id
