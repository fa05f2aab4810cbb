"""Which series is which, where a log has several that could be meant."""

from __future__ import annotations

from runs import run_of
from traindx.engine import diagnose
from traindx.signals import Signals

FALLING = [2.0 * 0.95**index + 0.1 for index in range(60)]
WAVES = [1.0 + 0.3 * (index % 5) for index in range(60)]


def test_a_score_made_of_two_halves_comes_before_its_halves() -> None:
    rising = [1 - value / 3 for value in FALLING]
    signals = Signals(run_of({"precision": [0.77] * 59 + [0.78], "recall": rising, "fscore": rising}))
    assert signals.score is not None
    assert signals.score.name == "fscore"


def test_two_training_losses_beside_many_evaluations_are_not_what_the_verdict_rests_on() -> None:
    signals = Signals(run_of({"train_loss": [6.0, 2.0], "val_loss": FALLING}))
    assert signals.main is not None
    assert signals.main.name == "val_loss"


def test_a_validation_loss_of_zero_was_never_computed() -> None:
    run = run_of({"train_loss": FALLING, "test_loss": [0.0] * 60})
    assert Signals(run).val is None


def test_the_whole_reward_comes_before_its_parts() -> None:
    reward = Signals(run_of({"rewards/format/mean": WAVES, "reward": FALLING})).reward
    assert reward is not None
    assert reward.name == "reward"


def test_a_generator_with_a_reconstruction_is_adversarial() -> None:
    signals = Signals(run_of({"G_GAN": WAVES, "D": WAVES, "G_L1": FALLING}))
    assert signals.kind == "gan"
    assert signals.main is not None
    assert signals.main.name == "G_L1"


def test_the_cycles_of_a_cyclegan_are_what_falls() -> None:
    signals = Signals(
        run_of({"D_A": WAVES, "G_A": WAVES, "cycle_A": FALLING, "D_B": WAVES, "G_B": WAVES, "cycle_B": FALLING})
    )
    assert signals.main is not None
    assert signals.main.name == "sum of cycle_A, cycle_B"


def test_two_networks_against_each_other_are_not_called_too_short() -> None:
    page = diagnose(run_of({"G_loss": WAVES, "D_loss": WAVES}))
    assert page.verdict == "inconclusive"
    assert "too-short" not in {symptom.id for symptom in page.present()}


def test_a_wait_beside_forward_and_backward_is_no_slow_pipeline() -> None:
    run = run_of({"loss": FALLING, "Data dt": [9.0] * 60, "Forward dt": [76.0] * 60, "Backward dt": [158.0] * 60})
    assert "slow-input-pipeline" not in {symptom.id for symptom in diagnose(run).present()}


def test_a_loss_that_passes_ln_2_while_the_score_rises_is_not_at_chance() -> None:
    loss = [1.13, 0.85, 0.78, 0.755, 0.733, 0.725, 0.73, 0.6865, 0.697, 0.692]
    accuracy = [81.0, 88.0, 88.4, 86.9, 89.0, 90.5, 92.0, 89.4, 89.9, 91.0]
    assert diagnose(run_of({"train_loss": loss, "val_acc": accuracy})).verdict != "unhealthy"


def test_first_values_out_of_scale_make_no_later_loss_too_good() -> None:
    loss = [3e5 * 0.3**index for index in range(15)] + [0.03 * 0.995**index for index in range(600)]
    assert "suspiciously-good" not in {symptom.id for symptom in diagnose(run_of({"l_pix": loss})).present()}


def test_evaluations_alone_that_rise_may_be_either() -> None:
    rising = [2.4, 1.5, 1.0, 0.9, 0.84, *(1.0 + index / 20 for index in range(80))]
    page = diagnose(run_of({"val_loss": rising}))
    assert page.verdict == "unhealthy"
    gap = next(symptom for symptom in page.present() if symptom.id == "overfitting-gap")
    assert "0.84 (step 4)" in gap.evidence


def test_a_scatter_is_compared_only_with_a_training_loss_that_was_logged() -> None:
    noisy = [100 + 45 * (-1) ** index + index % 7 for index in range(60)]
    found = next(symptom for symptom in diagnose(run_of({"val_loss": noisy})).symptoms if symptom.id == "val-noisy")
    assert "training loss" not in found.evidence


def test_an_accuracy_that_was_good_at_the_first_evaluation_is_not_chance() -> None:
    page = diagnose(
        run_of({"train_loss": [0.3, 0.02, *[0.001] * 12], "val_loss": [1.5] * 14, "val_accuracy": [0.6, 0.605] * 7})
    )
    assert "val-at-chance" not in {symptom.id for symptom in page.present()}


def test_gen_and_dis_train_against_each_other() -> None:
    assert Signals(run_of({"gen/loss": [1.4, 1.0, 1.3], "dis/loss": [1.6, 1.3, 1.1]})).kind == "gan"
