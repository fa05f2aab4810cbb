"""Why a cause ranks where it does, and which evidence would settle most."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runs import run_of
from traindx.cli import main
from traindx.diagnosis import Observation
from traindx.engine import diagnose
from traindx.engine.context import Hint
from traindx.engine.evidence import Evidence, entropy, gather
from traindx.engine.next_evidence import Outcome, bound, expected_information, gains
from traindx.engine.rank import HEALTHY, OTHER
from traindx.engine.reasons import strength, why
from traindx.engine.ways import WAYS, cheapest
from traindx.probes.kinds import probes
from traindx.signals import Signals
from traindx.symptoms import symptoms
from traindx.symptoms.recipes import falling, flat, ramp, then

EXAMPLES = Path(__file__).parents[1] / "examples"
STUCK = {"train_loss": flat(200, 2.303, 0.002)}
OVERFIT = {
    "train_loss": falling(60, 2.2, 0.02),
    "val_loss": then(falling(15, 2.0, 0.8, 0.01), ramp(45, 0.8, 2.0, 0.01)),
}


def seen(*present: str, absent: tuple[str, ...] = ()) -> Evidence:
    """Evidence in which every other symptom is unknown."""
    states = dict.fromkeys(present, "present") | dict.fromkeys(absent, "absent")
    return Evidence(tuple(Observation(i, states.get(i, "unknown"), f"{i} here") for i in symptoms()))  # type: ignore[arg-type]


def test_a_weight_is_what_the_ranking_loses_without_the_piece() -> None:
    evidence = seen("overfitting-gap", "flat-from-start")
    told = why(evidence, "overfitting")
    gap = next(reason for reason in told.supports if reason.id == "overfitting-gap")
    against = next(reason for reason in told.contradicts if reason.id == "flat-from-start")
    assert gap.weight > 0 > against.weight
    without = evidence.given([Observation("overfitting-gap", "unknown", "")]).probabilities()["overfitting"]
    assert without < told.probability


def test_settings_are_reasons_too() -> None:
    evidence = Evidence(seen("flat-from-start").observations, (Hint("lr-too-low", 2.0, "learning rate 1e-9 is low"),))
    told = why(evidence, "lr-too-low")
    assert any(reason.sentence == "learning rate 1e-9 is low" and reason.weight > 1 for reason in told.supports)
    assert not any(reason.id == "settings" for reason in why(evidence, "dead-relu").supports)


def test_what_others_say_too_is_marked() -> None:
    told = why(seen("nonfinite-loss", "nonfinite-gradient", "nonfinite-weight"), "fp16-overflow")
    assert sum(reason.shared for reason in told.supports) >= 2


def test_missing_evidence_says_what_it_would_do_and_how_to_get_it() -> None:
    told = why(seen("flat-from-start"), "lr-too-low")
    below = next(item for item in told.missing if item.id == "lr-below-useful")
    assert below.if_present > told.probability > below.if_absent
    assert "lr-range" in below.how
    assert all(item.id != "flat-from-start" for item in told.missing)


def test_reasons_stand_in_the_order_of_the_weight_that_is_shown() -> None:
    told = why(seen("nonfinite-loss", "nonfinite-gradient", "nonfinite-weight", "loss-spike"), "fp16-overflow")
    for reasons in (told.supports, told.contradicts):
        shown = [abs(reason.shown) for reason in reasons]
        assert shown == sorted(shown, reverse=True)


def test_what_two_symptoms_say_in_one_sentence_is_said_once() -> None:
    same = "3 of 6 parameters receive a gradient, but no optimiser holds them."
    evidence = Evidence(
        tuple(Observation(i, "present", same) for i in ("parameters-not-optimized", "unchanged-weights"))
    )
    told = why(evidence, "params-not-in-optimizer")
    assert [reason.sentence for reason in told.supports].count(same) == 1
    assert told.supports[0].id == "parameters-not-optimized"


def test_changes_name_findings_after_which_the_answer_is_another() -> None:
    evidence = seen("flat-from-start")
    top = evidence.ranked()[0].cause
    changes = why(evidence, top).changes
    assert changes
    assert all("would lead" in change for change in changes)
    behind = [entry.cause for entry in evidence.ranked()[1:6] if entry.cause not in (HEALTHY, OTHER)]
    assert any(f"{cause} would lead" in change for cause in behind for change in why(evidence, cause).changes)


@pytest.mark.parametrize(
    ("odds", "word"), [(0.0, "none"), (0.3, "weak"), (-1.0, "moderate"), (2.0, "strong"), (-4, "decisive")]
)
def test_weights_have_words(odds: float, word: str) -> None:
    assert strength(odds) == word


def test_the_command_shows_for_against_missing_and_change(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--why", str(EXAMPLES / "sick"), "lr-too-high"]) == 0
    page = capsys.readouterr().out
    for heading in ("For", "Against", "Not looked at", "What would change the answer"):
        assert f"\n{heading}" in page
    assert "to look: " in page
    assert "{script}" not in page
    assert main(["explain", "--why", str(EXAMPLES / "sick"), "lr-too-high", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "traindx.why/1"
    assert told["for"][0]["strength"] in ("decisive", "strong", "moderate", "weak")
    assert {"log_odds", "evidence", "state"} <= set(told["against"][0])


def test_the_command_refuses_what_is_no_cause(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--why", str(EXAMPLES / "sick"), "lr-to-high"]) == 2
    assert "lr-too-high" in capsys.readouterr().err
    assert main(["explain", "lr-too-high", "--json"]) == 2


def test_every_symptom_can_be_seen_by_some_way() -> None:
    unseen = [symptom.id for symptom in symptoms().values() if not any(way.shows(symptom) for way in WAYS)]
    assert unseen == []
    assert cheapest(symptoms()["batch-not-learned"]).id == "sanity"


def test_probes_cost_what_they_say() -> None:
    """The start of a script is not in a probe's own share of time."""
    machine = {way.id: way.machine for way in WAYS if way.kind == "probe"}
    for name, probe in probes().items():
        assert probe.seconds < machine[name] < 5 * probe.seconds


def test_information_is_the_drop_of_entropy() -> None:
    assert bound({"a": 0.5, "b": 0.5}, [{"a": 1, "b": 0}, {"a": 0, "b": 1}]) == pytest.approx(1.0)
    assert bound({"a": 0.5, "b": 0.5}, [{"a": 0.5, "b": 0.5}] * 2) == pytest.approx(0.0)
    evidence = seen("divergence")
    nothing = [Outcome((), (), 1.0)]
    assert expected_information(evidence, nothing) == pytest.approx(0.0)
    proof = [Outcome((Observation("gradients-not-cleared", "present", ""),), (), 1.0)]
    assert expected_information(evidence, proof) > 1


def test_an_uncertain_log_is_sent_to_the_evidence_that_settles_most() -> None:
    page = diagnose(run_of(STUCK, {"num_classes": 10}))
    assert page.hypotheses[0].confidence < 0.4
    assert page.missing[0].how.startswith("traindx ")
    assert f"`{page.missing[0].how}`" in page.next
    assert len(page.missing[0].would_decide) > 1
    assert "traindx run train.py" in [item.how for item in page.missing]


def test_a_recording_is_not_sent_to_be_recorded_again() -> None:
    run = run_of(STUCK, {"recording.script": "my train.py"})
    run.format = "recording"
    page = diagnose(run)
    assert not any(item.how.startswith("traindx run") for item in page.missing)
    assert any("'my train.py'" in item.how for item in page.missing)


def test_gains_fall_when_the_evidence_is_there() -> None:
    """What was looked at is not recommended again."""
    open_ = {gain.way.id: gain.bits for gain in gains(seen("flat-from-start"))}
    sanity = tuple(s.id for s in symptoms().values() if any("sanity" in need for need in s.needs))
    done = {gain.way.id: gain.bits for gain in gains(seen("flat-from-start", absent=sanity))}
    assert open_["sanity"] > 0
    assert "sanity" not in done


def test_a_trial_is_worth_something_where_one_cause_leads() -> None:
    found = {gain.way.id: gain for gain in gains(gather(Signals(run_of(OVERFIT))))}
    assert found["trial"].bits > 0.01
    assert "overfitting" in found["trial"].way.evidence
    assert "trial" not in {gain.way.id for gain in gains(gather(Signals(run_of(OVERFIT))), used={"trial"})}


def test_what_is_told_fills_gaps_and_never_overrules_a_measurement() -> None:
    run = run_of({"train_loss": falling(400, 2.3, 0.1)})
    told = [Observation("nonfinite-loss", "present", "you saw NaN", clarity=0.6)]
    assert next(o for o in diagnose(run, None, told).symptoms if o.id == "nonfinite-loss").state == "absent"
    told = [Observation("gradients-not-cleared", "present", "you said so", clarity=0.6)]
    filled = diagnose(run_of(STUCK), None, told)
    assert next(o for o in filled.symptoms if o.id == "gradients-not-cleared").state == "present"


def test_a_told_no_counts_for_less_than_a_measured_one() -> None:
    def share(clarity: float) -> float:
        no = Observation("gradients-not-cleared", "absent", "", clarity=clarity)
        return seen("divergence").given([no]).probabilities()["missing-zero-grad"]

    assert share(1.0) < share(0.6) < seen("divergence").probabilities()["missing-zero-grad"]


def test_entropy_is_in_bits() -> None:
    assert entropy([0.25] * 4) == pytest.approx(2.0)
    assert entropy([1.0, 0.0]) == 0.0
