"""Logs of policies and preferences: faults are named, or at least the symptom and the cause among few; sound ones are
not judged by their loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import shapes_of_logs
import sick_logs as sick
from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.readers.find import find_runs

Page = Callable[[str], Diagnosis]


@pytest.fixture
def page(tmp_path: Path) -> Page:
    def of(log: str) -> Diagnosis:
        path = tmp_path / "train.log"
        path.write_text(log)
        (run,) = find_runs([path])
        return diagnose(run)

    return of


@pytest.mark.parametrize(
    ("log", "symptom", "cause", "within"),
    [
        (sick.equal_rewards, "reward-spread-zero", "zero-reward-variance", 1),
        (shapes_of_logs.grpo_zero_std, "reward-spread-zero", "zero-reward-variance", 1),
        (sick.cut_answers, "length-at-limit", "completions-truncated", 1),
        (sick.flipped_sign, "reward-falls", "reward-sign-flipped", 2),
        (sick.collapsed_entropy, "entropy-low", "entropy-collapse", 1),
        (sick.runaway_kl, "kl-high", "kl-runaway", 1),
        (sick.hacked_reward, "proxy-and-score-part", "reward-hacking", 1),
        (sick.longer_and_longer, "length-drifts", "length-bias", 3),
        (sick.sampler_apart, "sampler-disagrees", "sampler-mismatch", 1),
        (sick.sampler_behind, "sampler-drifts", "stale-sampler", 1),
        (sick.verl_collapse, "kl-high", "kl-runaway", 1),
        (sick.reference_moves, "margin-zero", "dpo-reference-is-policy", 1),
        (sick.equal_pairs, "margin-zero", "pairs-identical", 2),
        (sick.sb3_value_explodes, "value-loss-grows", "reward-not-scaled", 1),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_fault_of_a_policy_is_named(
    page: Page, log: Callable[[], str], symptom: str, cause: str, within: int
) -> None:
    found = page(log())
    assert found.verdict == "unhealthy"
    assert symptom in {one.id for one in found.present()}
    order = [h.cause for h in found.hypotheses if h.cause not in ("healthy", "other")]
    assert cause in order[:within], order


def test_equal_rewards_are_sure_and_a_lone_symptom_is_not(page: Page) -> None:
    assert page(sick.equal_rewards()).hypotheses[0].confidence > 0.5
    for log in (sick.flipped_sign(), sick.runaway_kl(), sick.longer_and_longer()):
        found = page(log)
        assert max(h.confidence for h in found.hypotheses if h.cause != "other") < 0.5
        assert "traindx run" in found.next or any("traindx run" in missing.how for missing in found.missing)


def test_the_page_says_what_it_judges_by_and_what_is_normal(page: Page) -> None:
    told = " ".join(page(sick.grpo()).notes)
    assert "Judged by reward, higher is better (read as TRL GRPO or RLOO)" in told
    assert "says nothing about learning" in told


def test_other_logs_have_no_fault_of_a_reward(page: Page) -> None:
    found = page(shapes_of_logs.late_nan())
    assert not {"kl-runaway", "zero-reward-variance", "dpo-reference-is-policy"} & {h.cause for h in found.hypotheses}


def test_experts_that_fall_idle_are_seen_in_the_balancing_loss(page: Page) -> None:
    found = page(sick.moe())
    assert "balance-loss-grows" in {one.id for one in found.present()}
    assert found.verdict != "healthy"
    assert found.hypotheses[0].cause == "router-collapse"


def test_a_jump_in_the_middle_is_seen(page: Page) -> None:
    found = page(sick.resumed())
    assert "loss-spike" in {one.id for one in found.present()}
    assert found.verdict != "healthy"


@pytest.mark.parametrize("log", [sick.out_of_memory, sick.collective_timeout], ids=lambda log: log.__name__)
def test_a_run_that_died_is_not_called_healthy(page: Page, log: Callable[[], str]) -> None:
    found = page(log())
    assert "run-died" in {one.id for one in found.present()}
    assert found.verdict != "healthy"


def test_checkpointing_without_input_gradients_is_named(page: Page) -> None:
    found = page(sick.checkpointing_without_inputs())
    assert found.hypotheses[0].cause == "detached-graph"
