"""The few lines every training has: loop, parameters, initialisation."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="training-loop",
    text="Look at the training loop and at how the model is set up. Which of these are true?",
    why="Each is a mistake of one line that no learning rate repairs: gradients that pile up, weights that are frozen, "
    "forgotten "
    "by the optimizer or equal to each other. All of them are seen within seconds.",
    kind="many",
    choices=(
        Choice(
            "no-zero-grad",
            "optimizer.zero_grad() is missing, or not called every step",
            present=("gradients-not-cleared",),
        ),
        Choice(
            "accumulates", "gradients are accumulated without dividing the loss", present=("accumulation-unscaled",)
        ),
        Choice("optimizer-inside", "the optimizer is created again inside the loop", present=("optimizer-rebuilt",)),
        Choice("eval-mode", "model.eval() is called and model.train() not again", present=("trained-in-eval-mode",)),
        Choice("no-eval", "model.eval() is not called before validating", present=("evaluated-in-train-mode",)),
        Choice(
            "scheduler-per-batch",
            "scheduler.step() every batch although it counts epochs",
            present=("schedule-per-batch", "lr-schedule-anomaly"),
        ),
        Choice(
            "detached", ".detach(), .item(), .data, numpy or no_grad between model and loss", present=("no-gradient",)
        ),
        Choice("maximised", "the loss is negated, or something to maximise is minimised", present=("loss-maximised",)),
        Choice("frozen", "requires_grad = False somewhere it should not be", present=("frozen-weights",)),
        Choice(
            "forgotten",
            "layers kept in a plain list or dict, or added after the optimizer was made",
            present=("parameters-not-optimized",),
        ),
        Choice(
            "unchanged",
            "some weights are still exactly those of the start",
            present=("unchanged-weights", "weights-at-start"),
            overlooked=True,
        ),
        Choice("constant", "weights initialised to zero or one constant", present=("equal-initial-weights",)),
        Choice("init-large", "own initialisation with a std of 1 or more", present=("initial-weights-large",)),
        Choice("init-small", "own initialisation with a std far below 0.01", present=("initial-weights-small",)),
    ),
    seconds=30,
)
