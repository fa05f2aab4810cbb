"""Verdicts: what is called help, what is not, and what it does to the diagnosis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from traindx.diagnosis import Diagnosis, Hypothesis, Observation, RunSummary, Safety
from traindx.trials.executors import Local
from traindx.trials.further import helped
from traindx.trials.judge import Verdict, basis_of, effect_of, verdict_of
from traindx.trials.measure import Measured, Metric
from traindx.trials.order import gentler_than, rival_of, standing
from traindx.trials.outcome import Arm, Trial, judged
from traindx.trials.plan import Candidate
from traindx.trials.revise import Proof, revised
from traindx.trials.session import Limits, Session
from traindx.trials.setting import combined
from traindx.trials.workspace import Project


def test_one_pair_is_never_called_help() -> None:
    effect = effect_of("log loss", 0.01, [(2.3, 0.05)])
    assert verdict_of(effect, ["divergence"], ["divergence"], []) == "no-effect"
    assert effect.interval is None


def test_pairs_that_agree_are_help_unless_something_breaks() -> None:
    effect = effect_of("log loss", 0.01, [(2.3, 0.05), (2.2, 0.06), (2.4, 0.05)])
    assert verdict_of(effect, ["divergence"], ["divergence"], []) == "helped"
    assert verdict_of(effect, [], [], ["nonfinite-loss"]) == "worse"
    same = effect_of("log loss", 0.01, [(0.31, 0.3), (0.3, 0.31), (0.32, 0.31)])
    assert verdict_of(same, ["x"], ["x"], []) == "no-effect"
    assert verdict_of(same, ["x"], ["x"], [], repaired=True) == "helped"
    assert basis_of("helped", same) == "fault"  # its interval holds no change, so no smaller error is claimed
    assert basis_of("helped", effect) == "error"
    assert basis_of("no-effect", same) is None
    assert effect.interval is not None
    assert effect.interval[0] < effect.after / effect.before < effect.interval[1] < 1


def test_a_fault_that_is_gone_does_not_excuse_an_error_that_grew() -> None:
    grew = effect_of("log loss", 0.01, [(0.3, 0.345), (0.31, 0.36), (0.3, 0.35)])  # a seventh more in every pair
    assert grew.high < 0
    assert verdict_of(grew, ["x"], ["x"], [], repaired=True) == "no-effect"
    dearer = effect_of(
        "log loss", 0.0, [(0.30, 0.31), (0.30, 0.40), (0.30, 0.31), (0.30, 0.29)]
    )  # 8 % more on average, by one pair
    assert dearer.high > 0
    assert verdict_of(dearer, ["x"], ["x"], [], repaired=True) == "no-effect"
    much = effect_of("log loss", 0.01, [(0.3, 0.38), (0.31, 0.4), (0.3, 0.39)])
    assert verdict_of(much, ["x"], ["x"], [], repaired=True) == "worse"


def test_a_fault_that_is_gone_does_not_excuse_a_training_that_is_lost_as_before() -> None:
    lost = effect_of("squared error", 0.01, [(math.inf, math.inf)] * 3, chance=1.0)
    assert verdict_of(lost, ["x"], ["x"], [], repaired=True) == "no-effect"


def test_of_changes_that_save_a_lost_training_the_one_that_leaves_less_error_goes_first() -> None:
    def saved(text: str, after: float, weight: float) -> Trial:
        candidate = Candidate("clip-gradients", "Clip", "lr-too-high", combined(text), weight=weight)
        effect = effect_of("training loss", 0.0, [(math.inf, after)])
        return Trial(candidate, "no-effect", effect, (), (), 1, 100)

    assert min(saved("clip=1.0", 14.4, 0.9), saved("clip=0.1", 0.6, 0.3), key=standing).effect.after == 0.6  # type: ignore[union-attr]
    assert min(saved("clip=1.0", 0.61, 0.9), saved("clip=0.1", 0.6, 0.3), key=standing).candidate.weight == 0.9


def test_a_likelier_fix_of_the_same_fault_is_confirmed_beside_the_one_that_led() -> None:
    def tried(
        fix: str, text: str, weight: float, *cleared: str, verdict: Verdict = "no-effect", pairs: int = 1
    ) -> Trial:
        proofs = ("clipped-hard",)
        candidate = Candidate(fix, "", "grad-clip-too-tight", combined(text), proofs, proofs, weight=weight)
        return Trial(
            candidate, verdict, effect_of("log loss", 0.01, [(0.5, 0.04)] * pairs), proofs, cleared, pairs, 100
        )

    faster = tried("raise-lr", "lr=x32", 0.3, "clipped-hard", verdict="helped", pairs=3)
    looser = tried("loosen-clipping", "clip=x100", 0.6, "clipped-hard")
    less_likely = tried("use-mean-reduction", "reduction", 0.2, "clipped-hard")
    assert rival_of(faster, [faster, less_likely, looser]) == looser
    assert rival_of(faster, [faster, less_likely]) is None
    assert rival_of(faster, [faster, tried("loosen-clipping", "clip=x100", 0.6)]) is None  # the fault stays
    assert rival_of(looser, [faster, looser]) is None


def test_a_smaller_change_that_does_most_of_the_same_goes_before_a_larger_one() -> None:
    def tried(fix: str, safety: Safety, after: float, *cleared: str, cause: str = "dead-relu") -> Trial:
        candidate = Candidate(fix, "", cause, combined("norm"), ("dead-units",), safety=safety)
        return Trial(
            candidate, "helped", effect_of("log loss", 0.0, [(1.4, after)] * 3), ("dead-units",), cleared, 3, 9
        )

    norm = tried("normalisation-layers", "disruptive", 0.4, "dead-units")
    bias = tried("zero-bias-init", "caution", 0.6, "dead-units")
    assert gentler_than(norm, [norm, bias]) == bias
    assert helped([norm, bias]) == bias
    assert helped([norm, tried("zero-bias-init", "caution", 1.1, "dead-units")]) == norm  # too little of it
    assert helped([norm, tried("zero-bias-init", "caution", 0.6)]) == norm  # the units are dead as before
    assert helped([norm, tried("lower-lr", "caution", 0.6, "dead-units", cause="lr-too-high")]) == norm
    assert gentler_than(bias, [norm, bias]) is None


def test_what_is_judged_by_its_symptom_alone_needs_more_than_one_pair_too() -> None:
    assert verdict_of(None, ["x"], ["x"], []) == "no-effect"
    assert verdict_of(None, ["x"], ["x"], [], pairs=3) == "helped"
    assert verdict_of(None, ["x", "y"], ["x"], [], pairs=3) == "no-effect"
    assert basis_of("helped", None) == "fault"


def test_a_training_that_is_only_kept_finite_has_not_learnt() -> None:
    lost = math.inf
    alive = effect_of("squared error", 0.01, [(lost, 1.9), (lost, 2.3), (lost, 1.7)], chance=1.0)
    assert verdict_of(alive, [], [], []) == "no-effect"
    learnt = effect_of("squared error", 0.01, [(lost, 0.4), (lost, 0.5), (lost, 0.45)], chance=1.0)
    assert verdict_of(learnt, [], [], []) == "helped"


def test_a_training_that_is_lost_is_worse() -> None:
    effect = effect_of("log loss", 0.01, [(0.5, math.inf), (0.5, math.inf)])
    assert verdict_of(effect, [], [], []) == "worse"


@pytest.mark.parametrize("pairs", [3, 5])
def test_chance_alone_seldom_helps(pairs: int) -> None:
    draw = np.random.default_rng(3)
    helped = 0
    for _ in range(2000):
        values = np.exp(draw.normal(0, 0.3, (pairs, 2)))
        effect = effect_of("log loss", 0.0, [(float(a), float(b)) for a, b in values])
        helped += verdict_of(effect, [], [], []) == "helped"
    assert helped <= 0.05 * 2000


def test_trials_move_the_diagnosis() -> None:
    run = RunSummary("x", "recording", "x", 10, (), {})
    hypotheses = (Hypothesis("lr-too-high", "", 0.5), Hypothesis("overfitting", "", 0.4), Hypothesis("other", "", 0.1))
    page = Diagnosis("unhealthy", "", run, (), hypotheses, (), "", "0")
    tests = [
        Proof("lr-too-high", "lower-lr", "no-effect", "no"),
        Proof("overfitting", "early-stopping", "helped", "yes"),
    ]
    after = revised(page, tests)
    assert after.hypotheses[0].cause == "overfitting"
    assert after.hypotheses[0].supports[0] == "yes"
    assert sum(h.confidence for h in after.hypotheses) == pytest.approx(1)
    assert [h.confidence for h in revised(page, []).hypotheses] == [0.5, 0.4, 0.1]
    unlikely = revised(page, [Proof("init-too-small", "default-init", "helped", "it was that")])
    assert {"init-too-small"} == {h.cause for h in unlikely.hypotheses} - {h.cause for h in page.hypotheses}
    assert sum(h.confidence for h in unlikely.hypotheses) == pytest.approx(1)
    beside = replace(page, also=(Hypothesis("missing-zero-grad", "", 0.8),))
    proven = revised(beside, [Proof("missing-zero-grad", "call-zero-grad", "helped", "yes")]).also[0]
    assert 0.95 < proven.confidence < 1
    assert proven.supports == ("yes",)
    assert revised(beside, []).also == beside.also
    later = (
        Hypothesis("targets-not-normalized", "", 0.7),
        Proof("targets-not-normalized", "scale-targets", "helped", "yes"),
    )
    (second,) = revised(page, [], [later]).also
    assert 0.9 < second.confidence < 1
    assert second.supports == ("yes",)


@pytest.mark.parametrize(("stopped", "expected"), [("end", 0.5), ("broken", math.inf)])
def test_batches_that_broke_without_harm_do_not_make_a_training_lost(stopped: str, expected: float) -> None:
    rows = np.array([[step, math.nan if step % 4 == 0 else 0.5, 0.0, 8.0] for step in range(40)])
    measured = Measured({"train/log loss": rows}, 0.0, {}, {}, 40, 1.0, stopped)
    assert measured.value(Metric("train", "log loss")) == expected


def test_speed_is_judged_by_what_comes_after_the_start() -> None:
    measured = Measured({}, 0.0, {}, {}, 40, 8.0, "end")
    assert measured.value(Metric("", "seconds")) == 0.2
    assert replace(measured, pace=0.05).value(Metric("", "seconds")) == 0.05


def test_problems_that_come_with_a_change_are_its_side_effects() -> None:
    def arm(*present: str) -> Arm:
        seen = tuple(
            Observation(one, "present" if one in present else "absent", "") for one in ("overfitting-gap", "dead-units")
        )
        page = Diagnosis("unhealthy", "", RunSummary("x", "recording", "x", 10, (), {}), seen, (), (), "", "0")
        rows = np.array([[step, 0.5, 0.0, 8.0] for step in range(40)])
        return Arm(page, Measured({"train/log loss": rows}, 0.0, {}, {}, 40, 1.0, "end"))

    change = Candidate("raise-lr", "", "lr-too-low", combined("lr=x10"))
    sure = judged(change, [(arm(), arm("overfitting-gap")), (arm(), arm("overfitting-gap", "dead-units"))])
    assert sure.brought == ("overfitting-gap",)  # what came once may be chance
    assert judged(change, [(arm("overfitting-gap"), arm("overfitting-gap"))]).brought == ()


@pytest.mark.parametrize(
    ("errors", "pairs", "verdict"),
    [
        ([0.31, 0.32, 0.33, 0.32, 0.33, 0.32, 0.33, 0.32], 8, "no-effect"),  # a little larger, and not by chance
        ([0.31, 0.31, 0.29, 0.29, 0.31, 0.29, 0.31, 0.30], 8, "helped"),
        ([0.29, 0.30, 0.30], 3, "helped"),  # no larger at all
    ],
)
def test_where_a_fault_is_gone_and_the_error_larger_more_seeds_tell_chance_from_its_price(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, errors: list[float], pairs: int, verdict: str
) -> None:
    def need(session: Session, wanted: Sequence[tuple[Candidate | None, int]]) -> None:
        for candidate, seed in wanted:
            made = _arm(0.3, "present") if candidate is None else _arm(errors[seed], "absent")
            session._arms["" if candidate is None else candidate.change, seed] = made

    monkeypatch.setattr(Session, "_need", need)
    session = Session(Project(tmp_path, tmp_path), ["x"], Local(1), Limits(), lambda text: None)
    proof = ("sigmoid-as-logits",)
    change = Candidate("use-bce-with-logits", "", "double-sigmoid", combined("logits"), proof, proof)
    session._need([(None, 0), (change, 0)])
    trial = session.more_seeds(change)
    assert (trial.seeds, trial.verdict) == (pairs, verdict)


def test_a_pair_that_is_done_has_its_verdict_where_the_one_beside_it_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def need(session: Session, wanted: Sequence[tuple[Candidate | None, int]]) -> None:
        session._arms["", 0] = _arm(0.3, "present")
        session._arms[changes[0].change, 0] = _arm(0.2, "absent")
        session._tried[changes[0].change, changes[0].fix] = changes[0]
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "_need", need)
    session = Session(Project(tmp_path, tmp_path), ["x"], Local(1), Limits(), lambda text: None)
    proof = ("sigmoid-as-logits",)
    changes = [
        Candidate("use-bce-with-logits", "", "double-sigmoid", combined("logits"), proof, proof),
        Candidate("lower-lr", "", "lr-too-high", combined("lr=x0.1")),
    ]
    with pytest.raises(KeyboardInterrupt):
        session.screen(changes, at_once=2)
    session.settle()
    assert [(trial.candidate.fix, trial.seeds) for trial in session.of_this_round()] == [("use-bce-with-logits", 1)]


def _arm(error: float, fault: Literal["present", "absent"]) -> Arm:
    run, seen = RunSummary("x", "recording", "x", 10, (), {}), (Observation("sigmoid-as-logits", fault, ""),)
    rows = np.array([[step, error, 0.0, 8.0] for step in range(40)])
    page = Diagnosis("unhealthy", "", run, seen, (), (), "", "0")
    return Arm(page, Measured({"val/log loss": rows}, 0.0, {}, {}, 40, 1.0, "end"))


@pytest.mark.parametrize(("edits", "tried"), [({"train.py": ""}, 1), ({}, 2)])
def test_a_later_fix_that_mends_the_line_ends_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edits: dict[str, str], tried: int
) -> None:
    def need(session: Session, wanted: Sequence[tuple[Candidate | None, int]]) -> None:
        for candidate, seed in wanted:
            made = _arm(0.3, "present") if candidate is None else _arm(0.01, "absent")
            session._arms["" if candidate is None else candidate.change, seed] = made

    monkeypatch.setattr(Session, "_need", need)
    session = Session(Project(tmp_path, tmp_path), ["x"], Local(1), Limits(), lambda text: None)
    proof = ("sigmoid-as-logits",)
    second = Candidate("b", "", "double-sigmoid", combined("logits"), proof, proof, edits, rank=1, weight=0.6)
    session._need([(None, 0)])
    session.screen([second, Candidate("lower-lr", "", "lr-too-high", combined("lr=x0.1"), weight=0.1)])
    assert len(session.trials) == tried


def test_a_pair_whose_unchanged_arm_came_to_nothing_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def need(session: Session, wanted: Sequence[tuple[Candidate | None, int]]) -> None:
        for candidate, seed in wanted:
            made = _arm(0.3, "present") if candidate is None else _arm(0.01, "absent")
            lost = replace(made, failed="it made no update") if seed == 2 else made
            session._arms["" if candidate is None else candidate.change, seed] = lost

    monkeypatch.setattr(Session, "_need", need)
    session = Session(Project(tmp_path, tmp_path), ["x"], Local(1), Limits(), lambda text: None)
    proof = ("sigmoid-as-logits",)
    change = Candidate("use-bce-with-logits", "", "double-sigmoid", combined("logits"), proof, proof)
    session._need([(None, 0), (change, 0)])
    trial = session.more_seeds(change)
    assert (trial.seeds, trial.verdict) == (2, "helped")
