"""Holding the line: sentences people say instead of answering."""

from __future__ import annotations

import pytest

from traindx.interview import recognise, start
from traindx.misdiagnoses import HAND_OVERS, MISDIAGNOSES

HELD = {
    "Just tell me which optimizer": "which optimizer",
    "which optimizer should I use?": "which optimizer",
    "let me try a different optimizer": "different optimizer",
    "I'll switch to AdamW": "different optimizer",
    "I need to tune LR randomly": "learning rates at random",
    "try lr 0.001": "learning rates at random",
    "what learning rate should I use": "learning rates at random",
    "just tune randomly": "tune the hyper-parameters",
    "Need to tune hyperparameters": "tune the hyper-parameters",
    "should I run a grid search over everything": "tune the hyper-parameters",
    "Demo tomorrow, need quick fix": "quick fix",
    "no time, quick fix please": "quick fix",
    "It needs more epochs": "more epochs",
    "just train longer": "more epochs",
    "Model too small, add more layers": "too small",
    "Batch size too small": "batch is too small",
    "nothing works, when do I stop": "when do I stop",
    "I have tried everything": "when do I stop",
    "none of the fixes helped": "when do I stop",
    "no idea what to do next": "when do I stop",
    "is it time to give up?": "when do I stop",
    "is this double descent?": "double descent",
    "val loss went up and then down again as I made the model bigger": "double descent",
}

HANDED = {
    "CUDA out of memory on the second epoch": "CUDA out of memory",
    "RuntimeError: CUDA OOM": "CUDA out of memory",
    "my DataLoader worker exited unexpectedly": "DataLoader crash",
    "DataLoader crashes with a bus error": "DataLoader crash",
    "which architecture should I use for segmentation": "choice of architecture",
    "ResNet or ViT?": "choice of architecture",
    "NCCL timeout on 8 GPUs": "hang or NCCL timeout",
}

DESCRIBED = {
    "my PPO agent's reward is flat": "reward-flat",
    "exploration collapses, entropy goes to zero in RL": "entropy-gone",
    "the reward keeps dropping in GRPO": "reward-falls",
    "accuracy stays at 10%": "flat",
    "my loss is stuck": "flat",
    "val loss increasing while train loss decreases": "val-worse",
    "training accuracy 99% test accuracy 60%": "val-worse",
    "loss explodes after a few steps": "diverged",
    "training takes forever": "slow-time",
    "my model isn't learning": "flat",
    "loss not decreasing": "flat",
    "training is unstable": "swings",
    "loss went to NaN": "nan",
    "the loss reached a plateau": "stopped",
    "validation loss gets worse after epoch 3": "val-worse",
    "I think it overfits": "val-worse",
    "gradients are exploding": "large-gradients",
    "vanishing gradients in the first layers": "small-gradients",
    "the gradient norm is below 0.01": "small-gradients",
    "gradient norm near zero": "small-gradients",
    "grad norm is 3.2e-8 all the time": "small-gradients",
    "it always predicts class 0": "same-output",
    "training is very slow": "slow-time",
    "the loss decreases very slowly": "slow-fall",
    "loss spikes every few hundred steps": "spikes",
    "outputs are all the same": "same-output",
    "every prediction is identical": "same-output",
    "regardless of input I get the same output": "same-output",
    "it predicts class 3 for every sample": "same-output",
    "my sigmoid activations saturate": "saturated",
    "activations clustered near -1 and 1": "saturated",
    "half my relus died": "dead",
    "most neurons are dead": "dead",
    "each epoch takes 3 hours": "slow-time",
    "the GPU sits idle most of the time": "slow-time",
}


@pytest.mark.parametrize(("said", "row"), HELD.items())
def test_pressure_gets_the_matching_row_and_a_check(said: str, row: str) -> None:
    reply = recognise(said)
    assert reply is not None
    assert reply.kind == "misdiagnosis"
    assert row in reply.title
    assert any("30-second check" in line for line in reply.lines)
    assert reply.command.startswith("traindx ")


@pytest.mark.parametrize(("said", "what"), HANDED.items())
def test_out_of_scope_is_recognised(said: str, what: str) -> None:
    reply = recognise(said)
    assert reply is not None
    assert reply.kind == "hand-over"
    assert reply.title.startswith(what)
    assert reply.lines[0].startswith("go to: ")


@pytest.mark.parametrize(("said", "tick"), DESCRIBED.items())
def test_a_described_symptom_is_noted(said: str, tick: str) -> None:
    session = start()
    reply = session.says(said)
    assert reply is not None
    assert reply.kind == "symptoms"
    assert tick in session.said


@pytest.mark.parametrize("said", ["", "hello", "42", "the weather is nice", "x" * 100_000, "(" * 500, "my dog learns"])
def test_anything_else_is_not_understood(said: str) -> None:
    assert recognise(said) is None


def test_a_symptom_that_is_denied_or_is_one_of_validation_is_not_mistaken() -> None:
    assert recognise("my loss is not nan") is None
    reply = recognise("validation gets worse")
    assert reply is not None
    assert reply.ticks == ("val-worse",)


def test_every_row_has_cues_that_its_own_sentence_meets() -> None:
    for row in MISDIAGNOSES:
        reply = recognise(row.says)
        assert reply is not None, row.says
        assert reply.title == f"“{row.says}”"
    assert all(problem.cues for problem in HAND_OVERS)


def test_pressure_that_describes_a_symptom_keeps_it() -> None:
    session = start()
    reply = session.says("my loss is NaN, just give me a quick fix")
    assert reply is not None
    assert reply.kind == "misdiagnosis"
    assert session.said == ("nan",)
