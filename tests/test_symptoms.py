"""One contract suite over every symptom."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import run_of
from traindx.engine.observe import observe
from traindx.signals import Signals
from traindx.symptoms import symptoms
from traindx.symptoms.base import DOC_HEADINGS, Case, Symptom
from traindx.symptoms.recipes import cosine, falling, flat, put, swinging, then

CATALOGUE = """flat-from-start slow-convergence plateau oscillation loss-spike divergence nonfinite-loss nonfinite-gradient
nonfinite-activation nonfinite-weight overfitting-gap underfitting val-spike val-noisy val-at-chance suspiciously-good
double-descent loss-at-chance high-initial-loss negative-loss still-improving vanishing-gradients exploding-gradients
dead-units saturated-units tiny-updates huge-updates no-gradient unchanged-weights prediction-collapse
lr-schedule-anomaly
slow-input-pipeline slow-step throughput-drop loss-scale-collapse replica-mismatch truncated too-short""".split()  # noqa: E501

CASES = [pytest.param(s, c, id=f"{s.id}: {c.story}") for s in symptoms().values() for c in s.cases]


def test_the_catalogue_is_complete() -> None:
    assert set(CATALOGUE) <= set(symptoms())


@pytest.mark.parametrize("symptom", symptoms().values(), ids=lambda s: s.id)
def test_page_and_cases(symptom: Symptom) -> None:
    places = [symptom.doc.find(heading) for heading in DOC_HEADINGS]
    assert -1 not in places, "a heading is missing"
    assert places == sorted(places), "the headings are in another order"
    states = {case.state for case in symptom.cases}
    assert "present" in states
    assert states & {"absent", "unknown"}, "needs a case in which it must not fire"
    assert 0 < symptom.background < 0.5
    assert symptom.needs


@pytest.mark.parametrize(("symptom", "case"), CASES)
def test_cases_hold(symptom: Symptom, case: Case) -> None:
    observation = symptom.detect(Signals(case.run()))
    assert observation.id == symptom.id
    assert observation.state == case.state, observation.evidence
    assert observation.evidence.endswith((".", ":")) or observation.evidence
    assert 0.0 < observation.clarity <= 1.0


HEALTHY = {
    "exponential": {"train_loss": falling(400, 2.3, 0.2), "val_loss": falling(40, 2.3, 0.3)},
    "noisy small batches": {"train_loss": falling(3000, 2.3, 0.3, 0.25)},
    "warm-up and cosine": {"train_loss": falling(600, 6.0, 1.5, 0.04), "lr": cosine(600, 3e-4, 30)},
    "step decay": {
        "train_loss": then(falling(200, 2.3, 0.9), falling(200, 0.5, 0.3)),
        "lr": then(flat(200, 0.1, 0), flat(200, 0.01, 0)),
    },
    "validation below train": {"train_loss": falling(50, 1.4, 0.1), "val_loss": falling(50, 0.6, 0.05)},
    "return rises": {"ep_rew_mean": -falling(200, -10, -900, 0.05), "value_loss": flat(200, 5.0, 0.5)},
    "GAN": {
        "G_GAN": flat(200, 1.5, 0.4),
        "D_real": flat(200, 0.4, 0.4),
        "D_fake": flat(200, 0.4, 0.4),
        "G_L1": falling(200, 30, 8, 0.15),
    },
}


@pytest.mark.parametrize("name", HEALTHY)
def test_no_problem_symptom_on_a_healthy_run(name: str) -> None:
    found = observe(Signals(run_of(HEALTHY[name])))
    alarms = [o for o in found if o.state == "present" and symptoms()[o.id].severity == "problem"]
    assert not alarms, [(o.id, o.evidence) for o in alarms]


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=0, max_size=60),
    st.sampled_from(["train_loss", "val_loss", "ep_rew_mean", "val_accuracy", "lr", "grad_norm", "loss_scale"]),
)
def test_any_numbers_are_observed_without_an_error(values: list[float], name: str) -> None:
    run = run_of({name: values, "val_loss": values[::2], "train_loss": values})
    with np.errstate(all="ignore"):
        for symptom in symptoms().values():
            assert symptom.detect(Signals(run)).state in ("present", "absent", "unknown")


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_symptoms_do_not_depend_on_the_unit_of_the_loss(scale: float) -> None:
    """Scaling a loss that has no known chance level changes no finding."""
    base = {
        "train_loss": falling(200, 2.37, 0.2),
        "val_loss": then(falling(10, 2.37, 0.9), falling(10, 0.95, 1.9, 0.01)),
    }
    wanted = {o.id: o.state for o in observe(Signals(run_of(base)))}
    scaled = {name: values * scale for name, values in base.items()}
    found = {o.id: o.state for o in observe(Signals(run_of(scaled)))}
    differing = {identifier for identifier in wanted if wanted[identifier] != found[identifier]} - {"loss-at-chance"}
    assert not differing


def test_a_spike_that_validation_did_not_notice_weighs_little() -> None:
    loss, score = put(falling(60, 1.0, 0.4), 50, 1.6), 1 - falling(60, 0.9, 0.3, 0.0)
    alone = symptoms()["loss-spike"].detect(Signals(run_of({"train_loss": loss})))
    beside = symptoms()["loss-spike"].detect(Signals(run_of({"train_loss": loss, "val_acc": score})))
    assert (alone.state, beside.state) == ("present", "present")
    assert beside.clarity < 0.5 < alone.clarity


def test_results_without_a_counter_do_not_swing() -> None:
    run = run_of({"accuracy": swinging(100, 0.6, 0.95, 5)})
    assert symptoms()["oscillation"].detect(Signals(run)).state == "present"
    run.series["accuracy"] = replace(run.series["accuracy"], axis="row")
    assert symptoms()["oscillation"].detect(Signals(run)).state == "unknown"
    assert symptoms()["divergence"].detect(Signals(run)).state == "unknown"


@pytest.mark.parametrize(("reached", "held_up"), [(24.0, True), (1.0, False)])
def test_to_rest_far_above_the_best_is_not_held_up_as_no_problem(reached: float, held_up: bool) -> None:
    loss = then(falling(20, 15_000.0, reached), flat(30, reached), flat(150, 24.0))
    note = symptoms()["plateau"].detect(Signals(run_of({"train_loss": loss})))
    assert note.state == "absent"
    assert note.noted is held_up
