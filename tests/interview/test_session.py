"""The interview as a value: any order of answers, resumption, what is asked and what is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs import run_of
from traindx.engine.fitted import CURVE, level_of
from traindx.errors import TraindxError
from traindx.interview import Session, choosing, read_script, start
from traindx.questions import questions
from traindx.questions.base import Question
from traindx.symptoms.recipes import falling, flat


def _value(question: Question) -> st.SearchStrategy[Any]:
    ids = [choice.id for choice in question.choices]
    if question.kind == "number":
        return st.one_of(st.none(), st.floats(1e-9, 10))
    return st.one_of(
        st.none(), st.sampled_from(ids) if question.kind == "one" else st.lists(st.sampled_from(ids), unique=True)
    )


ANSWERS = st.fixed_dictionaries({}, optional={q.id: _value(q) for q in questions().values()})


@settings(max_examples=25, deadline=None)
@given(ANSWERS, st.randoms(use_true_random=False))
def test_the_order_of_answers_does_not_matter(answers: dict[str, Any], chance: Any) -> None:
    first, second = start(), start()
    for name, value in answers.items():
        first.answer(name, value)
    shuffled = list(answers.items())
    chance.shuffle(shuffled)
    for name, value in shuffled:
        second.answer(name, value)
    one, other = first.evidence().probabilities(), second.evidence().probabilities()
    assert one == pytest.approx(other)
    assert sum(one.values()) == pytest.approx(1)


@settings(max_examples=25, deadline=None)
@given(ANSWERS)
def test_a_session_goes_through_json_unchanged(answers: dict[str, Any]) -> None:
    session = start(settings={"lr": 0.1})
    session.says("my loss went to NaN")
    for name, value in answers.items():
        session.answer(name, value)
    again = Session.from_json(json.loads(json.dumps(session.to_json(), allow_nan=False)))
    assert again.to_json() == session.to_json()
    assert again.answers == session.answers
    assert again.evidence().probabilities() == pytest.approx(session.evidence().probabilities())


def test_it_begins_with_symptoms_and_ends_by_itself() -> None:
    session = start()
    asked = []
    while (question := session.question()) is not None:
        asked.append(question.id)
        session.answer(question.id, None if question.id != "symptoms" else ["nan"])
    assert asked[0] == "symptoms"
    assert len(asked) == len(set(asked)) <= 12


def test_answers_narrow_the_ranking_and_the_page_stays_modest() -> None:
    session = start()
    session.answer("symptoms", ["swings", "diverged"])
    before = session.diagnosis()
    assert before.verdict == "inconclusive"
    assert before.hypotheses[0].confidence < 0.4
    assert "traindx run" in before.next or "traindx " in before.next
    session.answer("optimizer", "sgd")
    session.answer("learning-rate", "5")
    session.answer("rate-reaction", "lower-helps")
    after = session.diagnosis()
    assert after.hypotheses[0].cause == "lr-too-high"
    assert after.hypotheses[0].confidence > before.hypotheses[0].confidence


def test_with_nothing_at_all_it_says_so_and_names_a_command() -> None:
    page = start().diagnosis()
    assert page.verdict == "inconclusive"
    assert "Nothing was measured" in page.headline
    assert page.next.startswith("Run `traindx ")
    assert max(h.confidence for h in page.hypotheses if h.cause not in ("healthy", "other")) < 0.1


def test_what_a_run_shows_is_not_asked() -> None:
    session = start(
        run_of({"train_loss": flat(200, 2.303, 0.002)}, {"lr": 1e-3, "optimizer": "adam", "num_classes": 10})
    )
    question = session.question()
    assert question is not None
    assert question.id != "symptoms"
    open_now = {question.id for question in session.open_questions()}
    assert not open_now & {"learning-rate", "optimizer"}
    assert "nan-when" not in open_now  # the log shows that there is none


def test_a_measurement_is_not_overruled_by_an_answer() -> None:
    session = start(run_of({"train_loss": falling(400, 2.3, 0.1)}))
    session.answer("symptoms", ["nan", "flat"])
    states = {symptom.id: symptom.state for symptom in session.diagnosis().symptoms}
    assert states["nonfinite-loss"] == "absent"
    assert states["flat-from-start"] == "absent"


def test_a_script_answers_questions() -> None:
    script = read_script("opt = torch.optim.SGD(model.parameters(), lr=0.1)\nloss.backward()\nopt.step()\n", "t.py")
    session = start(script=script)
    session.answer("symptoms", ["diverged"])
    assert not {question.id for question in session.open_questions()} & {"learning-rate", "optimizer", "precision"}
    page = session.diagnosis()
    assert page.hypotheses[0].cause == "missing-zero-grad"
    assert "t.py" in page.next


def test_a_list_of_answers_is_not_a_recording() -> None:
    """The numbers fitted on recordings are for what was looked at from inside."""
    session = start()
    session.answer("training-loop", ["no-zero-grad"])
    session.answer("output-and-loss", [])
    assert level_of(session.evidence().observations) == CURVE


def test_mistakes_that_stand_in_the_script_are_named_and_not_asked_for_again() -> None:
    source = (
        "m = nn.Sequential(nn.Linear(9, 9), nn.Softmax(dim=1))\nf = nn.CrossEntropyLoss()\nfor x, y in data:\n   "
        " f(m(x), y).backward()\n"
    )
    session = start(script=read_script(source, "train.py"))
    session.answer("symptoms", ["stopped"])
    assert "output-and-loss" not in {question.id for question in session.open_questions()}
    page = session.diagnosis()
    assert page.hypotheses[0].cause == "softmax-before-cross-entropy"
    assert page.next.startswith("Mend what stands in the script (train.py:")
    assert page.next.endswith("traindx run train.py")


def test_what_was_looked_for_and_not_seen_weighs_more_than_a_shape_that_was_not_ticked() -> None:
    before, after = start(), start()
    for session in (before, after):
        session.answer("symptoms", ["stopped"])
    after.answer("output-and-loss", [])
    cause = "softmax-before-cross-entropy"
    assert after.evidence().probabilities()[cause] < 0.5 * before.evidence().probabilities()[cause]


def test_a_question_is_asked_only_if_it_can_change_the_leading_cause() -> None:
    session = start()
    session.answer("symptoms", ["nan"])
    evidence = session.evidence()
    probabilities = evidence.probabilities()
    worths = {
        name: choosing.tryout(questions()[name], evidence, probabilities, session.suppose, session.number_likelihoods)
        for name in ("nan-source", "sizes")
    }
    assert worths["nan-source"].gain > choosing.GAIN > worths["sizes"].gain
    following = session.question()
    assert following is not None
    assert following.id != "sizes"


def test_none_of_the_choices_is_not_knowing() -> None:
    session = start()
    session.answer("optimizer", "0")
    session.answer("data", "none of these")
    assert session.answers == {"optimizer": None, "data": ()}


def test_back_takes_the_last_answer_back() -> None:
    session = start()
    assert session.back() is None
    session.answer("symptoms", ["nan"])
    session.answer("precision", "fp32")
    assert session.back() == "precision"
    assert list(session.answers) == ["symptoms"]


@pytest.mark.parametrize(
    ("question", "value"),
    [("precision", "fp64"), ("precision", ["fp32", "bf16"]), ("symptoms", ["nonsense"]), ("symptoms", 5.5),
     ("learning-rate", "fast"), ("learning-rate", -1), ("learning-rate", True), ("nope", "x")],
)  # fmt: skip
def test_what_is_no_answer_is_refused(question: str, value: Any) -> None:
    session = start()
    with pytest.raises(TraindxError):
        session.answer(question, value)
    assert session.answers == {}


def test_numbers_of_the_screen_and_none_are_answers() -> None:
    session = start()
    session.answer("symptoms", ["7", 1])
    assert session.answers["symptoms"] == ("flat", "nan")
    session.answer("symptoms", ["0"])
    assert session.answers["symptoms"] == ()
    session.answer("precision", "1")
    assert session.answers["precision"] == "fp32"
    session.answer("precision", "don't know")
    assert session.answers["precision"] is None


def test_not_knowing_says_nothing() -> None:
    session = start()
    before = session.evidence().probabilities()
    for question in questions().values():
        session.answer(question.id, None)
    assert session.evidence().probabilities() == pytest.approx(before)


@pytest.mark.parametrize(("question", "value"), [("symptoms", ["memory"]), ("symptoms", ["crash"])])
def test_out_of_scope_is_handed_over_instead_of_diagnosed(question: str, value: Any) -> None:
    session = start()
    session.answer(question, value)
    page = session.diagnosis()
    assert page.hypotheses == ()
    assert "out of scope" in page.next
    assert session.question() is None


def test_a_crash_beside_a_real_symptom_is_noted_and_the_rest_diagnosed() -> None:
    session = start()
    session.answer("symptoms", ["memory", "nan"])
    page = session.diagnosis()
    assert page.hypotheses
    assert any("memory" in note for note in page.notes)


def test_a_foreign_document_is_refused() -> None:
    with pytest.raises(TraindxError, match="no interview"):
        Session.from_json({"schema": "something/1"})


def asked_after(sentence: str) -> Session:
    """The interview after the sentence and the list of symptoms it ticks."""
    session = start()
    session.says(sentence)
    session.answer("symptoms", list(session.said))
    return session


def test_the_first_suspects_own_setting_is_asked_first() -> None:
    question = asked_after("the loss does not decrease").question()
    assert question is not None
    assert question.id == "learning-rate"
    question = asked_after("my loss is nan").question()
    assert question is not None
    assert question.id == "precision"


def test_a_told_learning_rate_counts_and_is_not_proof() -> None:
    session = asked_after("the loss does not decrease")
    before = session.evidence().probabilities()
    session.answer("optimizer", "adam")
    session.answer("learning-rate", 1e-9)
    after = session.evidence().probabilities()
    assert after["lr-too-low"] > 1.5 * before["lr-too-low"]
    assert after["lr-too-high"] < before["lr-too-high"]
    assert session.diagnosis().verdict == "inconclusive"


def test_slow_training_and_nothing_else_leads_to_the_speed_probe() -> None:
    session = start()
    session.says("training is very slow")
    page = session.diagnosis()
    assert {h.cause for h in page.hypotheses[:2]} == {"slow-data-loading", "too-few-workers"}
    assert "traindx speed" in page.next
    session.answer("symptoms", ["slow-time", "flat"])
    assert session.evidence().probabilities()["lr-too-high"] > 0.04  # it does not learn either: both are looked for


def test_a_sentence_without_nan_rules_precision_out() -> None:
    flat = start()
    flat.says("loss not decreasing")
    nan = start()
    nan.says("loss is nan")
    assert nan.evidence().probabilities()["fp16-overflow"] > 2 * flat.evidence().probabilities()["fp16-overflow"]


def test_a_page_of_answers_names_first_looks_and_repeats_the_interview() -> None:
    session = asked_after("loss not decreasing")
    session.answer("learning-rate", None)
    page = session.diagnosis()
    note = next(note for note in page.notes if note.startswith("First looks for flat-from-start"))
    assert note.index("frozen-params") < note.index("labels-misaligned")
    assert "init" in note
    assert page.asked[0] == (questions()["symptoms"].text, "the loss does not move, from the first epoch on")
    assert page.asked[1] == (questions()["learning-rate"].text, "don't know")
