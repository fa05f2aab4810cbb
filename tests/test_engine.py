"""From runs to a diagnosis."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from runs import run_of
from traindx.diagnosis import UNSURE, Diagnosis, Observation
from traindx.engine import diagnose, judge, picture
from traindx.engine.advise import facts
from traindx.engine.context import Hint, hints
from traindx.engine.fitted import INSIDE, levels
from traindx.engine.health import of_logs
from traindx.engine.priors import REINFORCEMENT, of_labelled_logs, problem_of
from traindx.engine.rank import Ranked, rank
from traindx.engine.sentences import next_step
from traindx.errors import TraindxError
from traindx.fixes import fixes
from traindx.meaning import meaning_of
from traindx.run import PROBES, Event, Fact, Run, Series
from traindx.signals import Settings, Signals
from traindx.symptoms import symptoms
from traindx.symptoms.recipes import falling, flat, put, ramp, then

OVERFIT = {
    "train_loss": falling(60, 2.2, 0.02),
    "val_loss": then(falling(15, 2.0, 0.8, 0.01), ramp(45, 0.8, 2.0, 0.01)),
}


def test_probabilities_are_exclusive_and_sum_to_one() -> None:
    for series in (OVERFIT, {"train_loss": flat(100, 2.303, 0.002)}, {"train_loss": falling(300, 2.3, 0.2)}):
        page = diagnose(run_of(series))
        assert sum(h.confidence for h in page.hypotheses) == pytest.approx(1.0)
        assert page.hypotheses[-1].cause == "other"


def test_overfitting_is_named_first_with_its_fix_and_the_step() -> None:
    page = diagnose(run_of(OVERFIT))
    assert page.verdict == "unhealthy"
    top = page.hypotheses[0]
    assert top.cause == "overfitting"
    assert top.fix is not None
    assert top.fix.safety == "safe"
    symptom = next(s for s in page.present() if s.id == "overfitting-gap")
    assert symptom.steps is not None
    assert 10 <= symptom.steps[0] <= 20


def test_a_healthy_run_is_healthy_and_says_what_was_not_measured() -> None:
    page = diagnose(run_of({"train_loss": falling(400, 2.3, 0.1)}))
    assert page.verdict == "healthy"
    assert any(s.id == "overfitting-gap" and s.state == "unknown" for s in page.symptoms)
    assert any(m.evidence == "validation loss" for m in page.missing)


def test_nan_is_not_blamed_on_the_learning_rate_first() -> None:
    """Precision and data together are about two thirds of the confirmed causes of NaN losses."""
    page = diagnose(run_of({"train_loss": put(falling(200, 2.3, 1.0), 120, *[math.nan] * 80)}))
    assert page.verdict == "unhealthy"
    by_id = {h.cause: h.confidence for h in page.hypotheses}
    precision_and_data = sum(
        by_id.get(c, 0) for c in ("fp16-overflow", "nan-in-data", "corrupt-samples", "log-of-zero", "division-by-zero")
    )
    assert precision_and_data > by_id.get("lr-too-high", 0)


def test_settings_move_the_ranking() -> None:
    series = {"train_loss": flat(200, 2.303, 0.002)}
    low = {
        h.cause: h.confidence
        for h in diagnose(run_of(series, {"optimizer": "adam", "lr": 1e-9, "num_classes": 10})).hypotheses
    }
    high = {
        h.cause: h.confidence
        for h in diagnose(run_of(series, {"optimizer": "adam", "lr": 1.0, "num_classes": 10})).hypotheses
    }
    assert low.get("lr-too-low", 0) > high.get("lr-too-low", 0)
    assert high.get("lr-too-high", 0) > low.get("lr-too-high", 0)


def test_a_run_in_fp32_did_not_overflow_in_fp16() -> None:
    series = {"train_loss": put(falling(200, 2.3, 1.0), 120, *[math.nan] * 80)}
    plain, half = (
        {h.cause: h.confidence for h in diagnose(run_of(series, {"fp16": on})).hypotheses} for on in (False, True)
    )
    assert half["fp16-overflow"] > plain.get("fp16-overflow", 0) + 0.1


def test_too_short_is_inconclusive_unless_it_is_nan() -> None:
    assert diagnose(run_of({"train_loss": [2.0, 1.8, 1.5]})).verdict == "inconclusive"
    assert diagnose(run_of({"train_loss": [2.0, math.nan, math.nan, math.nan]})).verdict == "unhealthy"


@pytest.mark.parametrize(
    "series",
    [
        {"loss": [0.0, 0.0, 0.0], "grad_norm": [0.0, 0.0, 0.0]},
        {"loss": [1.9123, 1.2045, 0.0, 0.0]},
        {"train_loss": [9.1, 4.0, 3.1, 6.6, 6.8], "val_loss": [9.1, 4.2, 3.2, 6.7, 6.9]},
        {"loss": (range(0, 30, 10), [10.1, 21.0, 2900.0])},
        {"train_loss": [2.0, 1.0, 0.8, 0.7, 0.7], "val_acc": [0.71, 0.83, 0.85, 0.1, 0.1]},
        {"loss_scale": 2.0 ** -np.arange(-15.0, 16.0)},
    ],
)
def test_a_handful_of_rows_is_enough_for_what_no_further_row_would_change(series: Any) -> None:
    page = diagnose(run_of(series))
    assert page.verdict == "unhealthy"
    shares = {h.cause: h.confidence for h in page.hypotheses}
    assert shares.get("healthy", 0) < 0.15
    assert "too-few-epochs" not in shares


@pytest.mark.parametrize(
    "series",
    [
        {"loss": [0.8, 0.3, 0.9, 0.7, 0.85]},
        {"train_loss": [0.9, 0.7, 0.5], "val_loss": [0.8, 0.75, 5.2]},
        {"loss": [12.5, 12.6, 38.0, 40.0]},
    ],
)
def test_a_handful_of_rows_with_a_doubt_stays_open(series: Any) -> None:
    assert diagnose(run_of(series)).verdict == "inconclusive"


def test_a_plain_problem_carries_the_verdict_however_likely_health_is() -> None:
    spiked = put(falling(300, 2.4, 0.5), 200, *[4.0] * 100)
    seen = tuple(o for o in diagnose(run_of({"train_loss": spiked})).symptoms if o.state != "unknown")
    assert judge(seen, [Ranked("healthy", 0.9), Ranked("lr-too-high", 0.1)]) == "unhealthy"
    vague = tuple(replace(o, clarity=0.4, conclusive=False) for o in seen)
    assert judge(vague, [Ranked("healthy", 0.9), Ranked("lr-too-high", 0.1)]) == "inconclusive"


def test_a_page_on_which_nothing_is_wrong_names_no_cause() -> None:
    short = run_of({"train_loss": [2.0, 1.8, 1.5]})
    died = run_of({"train_loss": falling(40, 2.0, 1.0)}, events=[Event("traceback", "NCCL watchdog timeout", 39.0)])
    for run in (short, died):
        page = diagnose(run)
        assert page.verdict == "inconclusive"
        assert {h.cause for h in page.hypotheses} <= {"healthy", "other"}
    assert any("One rank waited" in note for note in diagnose(died).notes)


def test_a_number_that_stands_for_a_nan_is_no_best_value() -> None:
    curve = diagnose(run_of({"loss": [2.7123, 1.1045, 0.0, 0.0]})).curves[0]
    assert np.nanmin(curve.values) == 1.1045


def test_out_of_scope_is_said() -> None:
    page = diagnose(run_of({"train_loss": [2.0]}, events=[Event("oom", "CUDA out of memory")]))
    assert page.verdict == "inconclusive"
    assert any("memory" in note for note in page.notes)
    page = diagnose(run_of({"ep_rew_mean": then(ramp(100, 2, 8, 0.05), ramp(100, 8, 1, 0.05))}))
    assert any("Judged by ep_rew_mean, higher is better" in note for note in page.notes)
    assert page.verdict == "unhealthy"


def test_metric_and_goal_can_be_given() -> None:
    run = run_of({"train_loss": falling(100, 2.3, 0.2), "weird_quantity": ramp(100, 1, 9, 0.01)})
    assert diagnose(run, Settings(metric="weird_quantity", goal="max")).verdict == "healthy"
    assert diagnose(run, Settings(metric="weird_quantity", goal="min")).verdict == "unhealthy"
    with pytest.raises(TraindxError, match="No metric called"):
        diagnose(run, Settings(metric="nonsense"))


def test_json_round_trip_has_no_nan_literals() -> None:
    page = diagnose(run_of({"train_loss": put(falling(50, 2, 1), 30, *[math.nan] * 20)}))
    text = json.dumps(page.to_json(), allow_nan=False)
    again = Diagnosis.from_json(json.loads(text))
    assert again.verdict == page.verdict
    assert [s.id for s in again.symptoms] == [s.id for s in page.symptoms]
    assert again.to_json() == page.to_json()


def test_the_picture_keeps_spikes_and_nan() -> None:
    values = falling(100_000, 2, 1)
    values[54_321] = 99.0
    values[70_000] = math.nan
    drawn = picture(run_of({"loss": values}).series["loss"])
    assert len(drawn.values) < 200
    assert max(v for v in drawn.values if v == v) == 99.0
    assert any(v != v for v in drawn.values)


def test_unfamiliar_kinds_of_training_raise_other() -> None:
    signals = Signals(run_of({"train_loss": flat(100, 2.3)}))
    seen = tuple(diagnose(signals.run).symptoms)
    known = {entry.cause: entry.probability for entry in rank(seen, hints(signals, seen))}
    strange = {entry.cause: entry.probability for entry in rank(seen, hints(signals, seen), unfamiliar=True)}
    assert strange["other"] > known["other"]


def test_a_hint_says_less_against_a_cause_that_was_seen_itself() -> None:
    curves = {"train_loss": falling(60, 2.2, 0.02), "val_loss": then(falling(15, 2.0, 1.5), ramp(45, 1.5, 4.0))}
    plain = diagnose(run_of(curves)).symptoms
    fact = Observation("val-labels-differ", "present", "Validation labels are permuted.")
    seen = tuple(fact if one.id == fact.id else one for one in plain)
    against = (Hint("train-val-label-mismatch", -3.0, "val_accuracy is well above guessing"),)

    def weight(observations: tuple[Observation, ...], some: tuple[Hint, ...]) -> float:
        ranked = rank(observations, some)
        return next(entry.log_weight for entry in ranked if entry.cause == "train-val-label-mismatch")

    assert weight(plain, ()) - weight(plain, against) == pytest.approx(3.0)
    assert 0 < weight(seen, ()) - weight(seen, against) < 1.5
    assert rank(seen, against)[0].cause == "train-val-label-mismatch"


def test_a_million_points_are_read_in_bins() -> None:
    values = np.tile(falling(1_000_000, 2.3, 0.3, 0.1), 2)[:1_000_000]
    assert diagnose(run_of({"train_loss": values})).verdict in ("healthy", "unhealthy")


def test_reading_a_log_imports_no_framework(tmp_path) -> None:  # type: ignore[no-untyped-def]
    log = tmp_path / "log.csv"
    log.write_text("step,loss\n" + "\n".join(f"{i},{2.0 / (i + 1)}" for i in range(100)))
    code = (
        "import sys, pathlib; from traindx.readers.find import find_runs; from traindx.engine import diagnose;"
        f"diagnose(find_runs([pathlib.Path({str(log)!r})])[0]);"
        "print([m for m in ('torch', 'pandas', 'tensorboard', 'wandb', 'matplotlib') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_another_mistake_that_was_seen_is_a_symptom_and_nothing_against_a_likely_cause() -> None:
    facts = [
        Fact("gradients-not-cleared", True, "The gradients had not been cleared."),
        Fact("probabilities-as-logits", True, "cross_entropy is given probabilities."),
    ]
    page = diagnose(run_of({"train_loss": [0.7 + 0.05 * math.sin(i) for i in range(200)]}, facts=facts))
    first = page.hypotheses[0]
    assert first.cause in ("missing-zero-grad", "softmax-before-cross-entropy")
    assert first.confidence >= UNSURE
    assert not {fact.evidence for fact in facts} & set(first.contradicts)
    assert page.headline in first.supports  # of two things that were seen, the one the named cause rests on


LEARNS = falling(40, 2.3, 0.05, 0.01)


@pytest.mark.parametrize(
    ("series", "cause"),
    [
        ({"train_loss": -ramp(100, 2.3, 400)}, "loss-sign-flipped"),
        ({"train_loss": LEARNS, "val_loss": ramp(40, 2.5, 9, 0.01), "val_accuracy": ramp(40, 0.05, 0.002)},
         "train-val-label-mismatch"),
        ({"train_loss": LEARNS, "val_loss": ramp(40, 2.5, 9, 0.01)}, "train-val-label-mismatch"),
        ({"train_loss": LEARNS, "val_loss": ramp(40, 3, 4, 0.05), "val_accuracy": np.full(40, 0.449)},
         "class-imbalance"),
    ],
)  # fmt: skip
def test_what_a_curve_says_of_the_cause(series: dict[str, np.ndarray], cause: str) -> None:
    signals = Signals(run_of(series))
    seen = diagnose(signals.run).present()
    said: dict[str, float] = {}
    for hint in hints(signals, seen):
        said[hint.cause] = said.get(hint.cause, 0.0) + hint.log_odds
    assert said[cause] == max(said.values()) > 1


def test_a_score_that_came_to_rest_is_no_single_answer() -> None:
    resting = then(ramp(10, 0.3, 0.97), np.full(30, 0.97))
    signals = Signals(run_of({"train_loss": LEARNS, "val_accuracy": resting}))
    assert all(hint.cause != "class-imbalance" or hint.log_odds < 0 for hint in hints(signals, ()))


def test_a_settled_answer_asks_for_nothing_more() -> None:
    """Nobody who was told what it is at 99 % is helped by a list of what else could be measured."""
    looked = (
        "probabilities-as-logits",
        "frozen-weights",
        "data-in-order",
        "labels-out-of-range",
        "no-gradient",
        "nan-from-log",
    )
    facts = [Fact("gradients-not-cleared", True, "Not cleared."), *(Fact(name, False, "Not so.") for name in looked)]
    page = diagnose(run_of({"loss": falling(300, 2.3, 1.9)}, facts=facts))
    assert page.hypotheses[0].confidence > 0.9
    assert page.missing == ()
    assert page.to_json()["missing"] == []


def test_what_ran_for_long_is_not_told_to_run_on() -> None:
    rng = np.random.default_rng(0)
    losses = {f"loss_{net}": 1 + 0.3 * rng.standard_normal(4000) for net in ("G", "D")}
    page = diagnose(run_of(losses))
    assert page.verdict == "inconclusive"
    assert "run on" not in page.next
    assert "`traindx " in page.next
    assert "Let it run on (at least 5 values" in diagnose(run_of({"loss": [2.0, 1.5, 1.2]})).next
    assert diagnose(run_of({})).next.startswith("Log the training loss")


@pytest.mark.parametrize("name", ["val_acc", "mAP50", "val_f1", "episode_reward", "test_dice"])
def test_a_score_alone_is_read(name: str) -> None:
    """Rising to its best is what a training that works shows; a collapse is plain; what rests where it began is left
    open."""
    rises = 1 - falling(200, 0.9, 0.1, 0.01)
    assert diagnose(run_of({name: rises})).verdict == "healthy"
    fallen = diagnose(run_of({name: then(rises[:140], flat(60, 0.1, 0.004))}))
    assert fallen.verdict == "unhealthy"
    assert "divergence" in {symptom.id for symptom in fallen.present()}
    if name != "episode_reward":
        assert diagnose(run_of({name: flat(60, 0.93, 0.004)})).verdict == "inconclusive"
    assert diagnose(run_of({name: rises[:4]})).verdict == "inconclusive"


def test_stopping_a_recording_does_not_make_it_ill() -> None:
    """The zoo lets every training end; people press Ctrl-C."""
    direct = [symptom for symptom in symptoms().values() if symptom.direct]
    facts = [Fact(symptom.id, False, "Not so.") for symptom in direct]
    series = {"train_loss": falling(400, 2.3, 0.1), "val_loss": falling(20, 2.2, 0.15)}
    page = diagnose(run_of(series, events=[Event("killed", "KeyboardInterrupt: ", 399.0)], facts=facts))
    assert page.verdict == "healthy"
    (cut,) = (symptom for symptom in page.present() if symptom.id == "truncated")
    assert cut.evidence == "The training was stopped: KeyboardInterrupt"


def test_told_classes_rule_out_what_only_numbers_and_single_outputs_can_have() -> None:
    page = diagnose(run_of({"loss": flat(300, 2.303, 0.004)}), Settings(classes=10))
    named = [one.cause for one in page.hypotheses]
    assert not {"loss-shape-broadcast", "softmax-on-single-output"} & set(named)


@pytest.mark.parametrize(("own", "fix"), [(3.0, "lower-lr"), (1e-6, "raise-lr")])
def test_a_measured_rate_is_the_one_that_the_fix_names(own: float, fix: str) -> None:
    config = {"optimizer": "adamw", "lr": own, "probe.lr": 0.0202}
    told = facts(Signals(run_of({"loss": flat(200, 2.3, 0.05)}, config=config)))
    proposal = fixes()[fix].proposal(told)
    assert proposal.code.splitlines()[0].startswith("lr = 0.02 ")
    assert proposal.change == "lr=0.02"


def test_the_advised_rate_follows_the_size_of_the_updates_and_keeps_the_optimizer() -> None:
    config = {"optimizer": "sgd", "lr": 30.0}
    wild = run_of({"loss": flat(200, 2.3, 0.05), "update_ratio": flat(200, 10.0, 0.1)}, config=config)
    mild = run_of({"loss": flat(200, 2.3, 0.05), "update_ratio": flat(200, 0.02, 0.1)}, config=config)
    told = facts(Signals(wild))
    assert (told["optimizer"], told["lr"], told["lower_lr"]) == ("SGD", "30", "0.03")
    assert (
        facts(Signals(mild))["lower_lr"]
        == facts(Signals(run_of({"loss": flat(200, 2.3, 0.05)}, config=config)))["lower_lr"]
        == "3"
    )
    assert "optimizer" not in facts(Signals(run_of({"loss": flat(200, 2.3, 0.05)}, config={"optimizer": "FancyOpt"})))


def test_only_what_was_seen_itself_is_nearly_certain() -> None:
    """Huge updates at a high rate that learn nothing: what a recording infers from them is no fact."""
    looked = {one.id: Fact(one.id, False, "as recorded") for one in symptoms().values() if one.direct}
    huge = run_of({"train_loss": flat(200, 2.3, 0.02), "update_ratio": flat(200, 0.4, 0.1)}, {"lr": 3.0})
    huge.facts = dict(looked)
    wiped = run_of({"train_loss": flat(200, 2.3, 0.02)})
    wiped.facts = looked | {"gradients-wiped": Fact("gradients-wiped", True, "as recorded")}
    inferred, seen = (diagnose(run).hypotheses[0] for run in (huge, wiped))
    assert inferred.cause == "lr-too-high"
    assert 0.5 < inferred.confidence <= levels()[INSIDE].inferred
    assert seen.cause == "gradients-cleared-before-step"
    assert seen.confidence > 0.9


def _seen_as(identifier: str, **series: object) -> Diagnosis:
    """A training in which this one thing was seen directly, and nothing else."""
    facts = [Fact(one.id, one.id == identifier, "as recorded") for one in symptoms().values() if one.direct]
    return diagnose(run_of(series, facts=facts))


def test_a_start_that_did_no_harm_is_a_remark() -> None:
    """What makes a training slow or unstable is refuted by one that went well; a wiring that is wrong is not."""
    well = {"train_loss": falling(200, 2.3, 0.1), "val_loss": falling(20, 2.0, 0.15)}
    badly = {"train_loss": falling(200, 2.3, 2.2), "val_loss": falling(20, 2.3, 2.2)}
    remark, fault = _seen_as("initial-weights-small", **well), _seen_as("initial-weights-small", **badly)
    assert remark.verdict != "unhealthy"
    assert any(one.id == "initial-weights-small" and one.state == "present" for one in remark.symptoms)
    assert fault.verdict == "unhealthy"
    assert fault.hypotheses[0].cause == "init-too-small"
    wiring = _seen_as("probabilities-as-logits", **well)
    assert wiring.hypotheses[0].cause == "softmax-before-cross-entropy"


def test_held_out_data_that_did_not_go_along_say_nothing_of_health() -> None:
    signals = Signals(run_of({"train_loss": falling(200, 2.3, 0.1), "val_loss": ramp(20, 2.0, 4.0)}))
    assert all(not hint.of_outcome for hint in hints(signals, ()))


def test_a_cause_that_nothing_speaks_for_leads_no_page() -> None:
    """A start that is too small, and nothing held out: overfitting is not ruled out, and explains nothing of it."""
    run = run_of({"train_loss": then(flat(40, 1.0, 0.01), falling(160, 1.0, 0.8))})
    run.facts = {
        symptom.id: Fact(symptom.id, symptom.id == "initial-weights-small", "as recorded", clarity=0.6)
        for symptom in symptoms().values()
        if symptom.direct
    }
    page = diagnose(run)
    assert page.verdict == "unhealthy"
    assert all(h.supports for h in page.hypotheses if h.cause not in ("healthy", "other"))


def test_what_to_do_next_is_about_the_cause_the_page_names() -> None:
    """A loader that starves the model is not looked into by telling learning rates apart."""
    waits = {"train_loss": falling(300, 2.3, 0.4), "data_time": np.full(300, 6.8), "time": np.full(300, 7.4)}
    page = diagnose(run_of(waits))
    assert page.hypotheses[0].cause in ("too-few-workers", "slow-data-loading")
    assert page.hypotheses[0].confidence < UNSURE
    assert page.next.startswith("Don't change anything yet. Run `traindx speed train.py`")
    assert page.missing[0].how == "traindx speed train.py"


def test_nobody_is_sent_to_fit_one_batch_of_a_game() -> None:
    page = diagnose(run_of({"ep_rew_mean": then(ramp(60, 12, 215), flat(300, 215, 0.5))}))
    assert page.verdict != "healthy"
    assert "sanity" not in " ".join([page.next, *(item.how for item in page.missing)])
    game = Signals(run_of({"rollout/ep_rew_mean": then(ramp(60, 12, 215), flat(300, 215, 0.5))}))
    rests = Observation("plateau", "present", "the return rests")
    assert next_step("inconclusive", [], [rests], game, []).startswith("Compare the level with what solves the task")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"probe.names": "lr-range"}, "found no learning rate to suggest"),
        ({"probe.names": "lr-range", "probe.lr": 0.1}, "found nothing wrong"),
        ({"probe.names": "sanity"}, "found nothing wrong"),
        ({"probe.names": "lr-range", "probe.lr": 0.004, "lr": 0.3}, "about 0.004 instead of 0.3"),
    ],
)
def test_a_sweep_without_a_rate_is_not_called_nothing_wrong(config: dict[str, Any], said: str) -> None:
    named = {PROBES if name == "probe.names" else name: value for name, value in config.items()}
    assert said in diagnose(Run("train.py", "probe", config=named)).next


def test_a_gap_of_held_out_data_is_overfitting_with_confidence() -> None:
    """Labelled logs with it nearly always were; what the zoo breeds is no prior."""
    page = diagnose(run_of(OVERFIT))
    top = next(h for h in page.hypotheses if h.cause not in ("healthy", "other"))
    assert top.cause == "overfitting"
    assert 0.5 < top.confidence <= of_labelled_logs().ceiling


def test_no_page_is_surer_of_health_than_the_soundest_logs_allow() -> None:
    page = diagnose(run_of({"train_loss": falling(400, 2.0, 0.1), "val_loss": falling(400, 2.0, 0.12)}))
    assert page.verdict == "healthy"
    assert page.hypotheses[0].confidence <= of_logs().highest < 0.96


def test_a_piece_of_a_log_that_rests_is_not_called_healthy() -> None:
    """It neither got better nor shows how it came there."""
    rests = Series("loss", meaning_of("loss"), np.arange(80.0, 120.0), np.array(flat(40, 0.3, 0.01)), "epoch")
    improves = Series("loss", meaning_of("loss"), np.arange(80.0, 120.0), np.array(ramp(40, 0.5, 0.3, 0.01)), "epoch")
    assert diagnose(Run("a.log", "text", series={"loss": rests})).verdict == "inconclusive"
    assert diagnose(Run("a.log", "text", series={"loss": improves})).verdict == "healthy"


def test_a_rate_that_was_never_high_did_not_decay() -> None:
    rates = [*np.linspace(1e-8, 1e-7, 20), *np.linspace(1e-7, 1e-8, 20)] * 2
    page = diagnose(run_of({"train_loss": flat(80, 4.0, 0.1), "lr": rates}))
    causes = [h.cause for h in page.hypotheses if h.cause not in ("healthy", "other")]
    assert causes[0] == "lr-too-low"


def test_a_policy_is_not_ranked_by_logs_of_other_trainings() -> None:
    problems = {"divergence", "overfitting-gap"}
    seen = (Observation("divergence", "present", "It left its best."),)
    assert problem_of(seen, problems, "language models") == "rising"
    assert problem_of(seen, problems, REINFORCEMENT) == REINFORCEMENT
    assert problem_of((), problems, "language models") is None
