"""Pasted logs in the shapes that people post: no HEALTHY over a bad number, no cause that the log speaks against."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import shapes_of_logs as logs
from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.meaning import meaning_of
from traindx.readers.find import find_runs
from traindx.reporters import markdown, text

Page = Callable[[str], Diagnosis]
UNHEALTHY, OPEN, HEALTHY = "unhealthy", "inconclusive", "healthy"


@pytest.fixture
def page(tmp_path: Path) -> Page:
    def of(log: str) -> Diagnosis:
        path = tmp_path / "train.log"
        path.write_text(log)
        (run,) = find_runs([path])
        return diagnose(run)

    return of


def first_cause(page: Diagnosis) -> str:
    return next(h.cause for h in page.hypotheses if h.cause not in ("healthy", "other"))


def confidence(page: Diagnosis, cause: str) -> float:
    return next((h.confidence for h in page.hypotheses if h.cause == cause), 0.0)


@pytest.mark.parametrize(
    ("log", "verdicts", "symptom"),
    [
        (logs.deepspeed_sqrt2(), {UNHEALTHY}, "nonfinite-loss"),
        (logs.zero_after_finite(), {UNHEALTHY}, "nonfinite-loss"),
        (logs.zero_with_nan_norm(), {UNHEALTHY}, "nonfinite-loss"),
        (logs.minus_one_norm(), {UNHEALTHY}, "nonfinite-gradient"),
        (logs.caffe_saturated(), {UNHEALTHY}, "nonfinite-loss"),
        (logs.scale_falls(), {UNHEALTHY}, "loss-scale-collapse"),
        (logs.evaluation_without_targets(), {UNHEALTHY}, "nonfinite-loss"),
        (logs.loss_far_off(), {UNHEALTHY}, "ends-off-best"),
        (logs.validation_off(1.45), {UNHEALTHY, OPEN}, "ends-off-best"),
        (logs.validation_off(1.35), {UNHEALTHY, OPEN}, "ends-off-best"),
        (logs.score_off(), {UNHEALTHY, OPEN}, "ends-off-best"),
        (logs.score_falls_at_once(), {UNHEALTHY, OPEN}, "ends-off-best"),
        (logs.constant_norm(0.0), {UNHEALTHY, OPEN}, "constant-gradient-norm"),
        (logs.constant_norm(1.0), {UNHEALTHY, OPEN}, "constant-gradient-norm"),
        (logs.constant_loss(0.0), {UNHEALTHY, OPEN}, "flat-from-start"),
        (logs.constant_loss(1.234), {UNHEALTHY, OPEN}, "flat-from-start"),
        (logs.waits_for_data(), {UNHEALTHY}, "slow-input-pipeline"),
        (logs.stands_still(), {OPEN}, "plateau"),
        (logs.pure_noise(), {OPEN}, "flat-from-start"),
        (logs.accuracy_gap(), {UNHEALTHY, OPEN}, "val-left-behind"),
        (logs.loss_gap(), {UNHEALTHY, OPEN}, "val-left-behind"),
        (logs.grpo_zero_std(), {UNHEALTHY, OPEN}, "constant-gradient-norm"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)
def test_a_bad_number_is_not_called_healthy(page: Page, log: str, verdicts: set[str], symptom: str) -> None:
    found = page(log)
    assert symptom in {o.id for o in found.present()}
    assert found.verdict in verdicts


@pytest.mark.parametrize("log", [logs.healthy_classifier(), logs.dpo(), logs.grpo_well(), logs.verl(nan=False)])
def test_a_sound_log_of_an_odd_objective_stays_healthy(page: Page, log: str) -> None:
    assert page(log).verdict == HEALTHY


def test_no_half_precision_without_a_sign_of_it(page: Page) -> None:
    for log in (logs.late_nan(), logs.early_nan(), logs.climbing_rate(), logs.zero_after_finite()):
        assert confidence(page(log), "fp16-overflow") < 0.1


def test_half_precision_is_named_where_the_log_speaks_of_it(page: Page) -> None:
    assert confidence(page("fp16: true\n" + logs.late_nan()), "fp16-overflow") > confidence(
        page(logs.late_nan()), "fp16-overflow"
    )


def test_a_loss_that_jumps_to_nan_at_once_speaks_for_the_rate(page: Page) -> None:
    assert first_cause(page(logs.early_nan())) == "lr-too-high"


def test_the_rate_in_the_log_is_used(page: Page) -> None:
    found = page(logs.climbing_rate())
    assert first_cause(found) == "lr-too-high"
    assert confidence(found, "lr-too-high") > 2 * confidence(found, "fp16-overflow")


def test_evaluation_alone_is_nan_for_want_of_targets(page: Page) -> None:
    assert first_cause(page(logs.evaluation_without_targets())) == "division-by-zero"


def test_a_rate_printed_as_zero_is_rounded(page: Page) -> None:
    found = page(logs.verl())
    assert "lr-schedule-anomaly" not in {o.id for o in found.present()}
    assert first_cause(found) != "warmup-missing"


def test_equal_rewards_are_no_dead_units(page: Page) -> None:
    assert meaning_of("frac_reward_zero_std").kind != "dead"
    assert "dead-units" not in {o.id for o in page(logs.grpo_zero_std()).present()}


def test_the_reward_of_the_chosen_answer_is_no_objective(page: Page) -> None:
    assert page(logs.dpo()).run.objective == "loss"


@pytest.mark.parametrize("name", ["tps", "mfu", "tflops", "train/mfu"])
def test_throughput_by_its_names(name: str) -> None:
    assert meaning_of(name).kind == "throughput"


def test_throughput_of_torchtitan(page: Page) -> None:
    assert "throughput-drop" in {o.id for o in page(logs.titan()).present()}


def test_best_and_last_stand_on_every_page(page: Page) -> None:
    for found in (page(logs.healthy_classifier()), page(logs.score_off())):
        names = [curve.name for curve in found.curves]
        for shown in (text.render([found], color=False, width=100), markdown.render([found], color=False, width=100)):
            for name in names:
                line = next(line for line in shown.splitlines() if f"{name}:" in line)
                assert "(best)" in line or "its best" in line
        assert {"train_loss", "val_acc"} <= set(names)


def test_the_headline_of_a_run_at_rest_has_the_number(page: Page) -> None:
    found = page(logs.stands_still())
    assert "of the run" in found.headline


def test_a_nan_that_is_written_as_0_is_no_best_value(page: Page) -> None:
    rows = [f"{{'loss': {1.8 - 0.01 * i:.4f}, 'grad_norm': 1.2, 'epoch': {i * 0.02:.2f}}}" for i in range(20)]
    rows += [f"{{'loss': 0.0, 'grad_norm': nan, 'epoch': {i * 0.02:.2f}}}" for i in range(20, 50)]
    found = page("\n".join(rows))
    shown = text.REPORTER.render([found], color=False, width=100)
    assert found.verdict == UNHEALTHY
    assert "its best" not in shown
    assert "1.61 at epoch 0.38 (best), NaN now" in " ".join(shown.split())
    assert "hides a NaN loss" in " ".join(shown.split())
