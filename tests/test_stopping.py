"""When to stop: what a page says after changes that did not help."""

from __future__ import annotations

from dataclasses import replace

from runs import run_of
from traindx.diagnosis import Observation
from traindx.engine import diagnose
from traindx.engine.stopping import when_to_stop
from traindx.symptoms.recipes import flat


def test_after_changes_that_did_not_help_the_question_changes() -> None:
    page = diagnose(run_of({"train_loss": flat(300, 2.303, 0.01)}, {"num_classes": 10}))
    one = when_to_stop(page, ["lr-too-high"], tried=1)
    assert one[0].startswith("When to stop: 1 change did not help (learning rate too high).")
    assert "still seen: " in one[0]
    assert "One more try is fair" in one[1]
    three = when_to_stop(page, ["lr-too-high", "lr-too-low", "frozen-params", "lr-too-low"], tried=4)
    assert "Another setting is unlikely" in three[1]
    for question in ("known-good reference", "the data", "the architecture", "the task"):
        assert question in three[1]
    assert "traindx sanity" in three[2]


def test_what_is_left_decides_what_comes_first() -> None:
    page = diagnose(run_of({"train_loss": flat(300, 2.303, 0.01)}))
    for symptom, first, second in (
        ("underfitting", "the architecture", "the data"),
        ("labels-unrelated", "the data", "the architecture"),
    ):
        left = replace(page, symptoms=(Observation(symptom, "present", "Seen."),))
        text = when_to_stop(left, ["lr-too-low"], tried=1)[1]
        assert text.index(first) < text.index(second)


def test_nothing_tried_says_nothing() -> None:
    assert when_to_stop(diagnose(run_of({"train_loss": flat(300, 2.3, 0.01)})), [], tried=0) == ()
