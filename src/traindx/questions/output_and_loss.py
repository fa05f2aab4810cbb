"""What stands between the last layer and the loss, and what the loss is given."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="output-and-loss",
    text="Look at the end of forward() and at the loss. Which of these are true?",
    why="Losses differ in what they want: CrossEntropyLoss and BCEWithLogitsLoss want raw scores, NLLLoss "
    "log-probabilities. The wrong pair still trains a little, which is why it is missed. A "
    "loss that does not fit the targets has its optimum in the wrong place.",
    kind="many",
    choices=(
        Choice("softmax", "softmax before CrossEntropyLoss", present=("probabilities-as-logits",)),
        Choice("sigmoid", "sigmoid before BCEWithLogitsLoss", present=("sigmoid-as-logits",)),
        Choice("softmax-one", "softmax over a single output", present=("softmax-over-one-output",)),
        Choice("softmax-dim", "softmax over another dimension than the classes", present=("softmax-over-wrong-dim",)),
        Choice("nll", "NLLLoss without log_softmax", present=("scores-as-log-probabilities",)),
        Choice("relu", "ReLU after the last layer", present=("relu-cuts-output",)),
        Choice(
            "bounded",
            "sigmoid or tanh at the end, targets go beyond its range",
            present=("targets-beyond-output-range",),
        ),
        Choice(
            "mixed",
            "a view, reshape or permute that mixes samples of the batch",
            present=("samples-mixed",),
            overlooked=True,
        ),
        Choice("mse-classes", "MSE or L1 on class numbers", present=("classes-regressed",)),
        Choice("broadcast", "output (N, 1) against target (N,), or the other way round", present=("shapes-broadcast",)),
        Choice("sum", 'reduction="sum"', present=("loss-summed",)),
        Choice(
            "not-distribution",
            "the targets are no classes or probabilities, but a loss for those is used",
            present=("targets-no-distribution",),
            leans={"wrong-loss": 1.0},
        ),
        Choice("label-range", "labels start at 1, or exceed the number of outputs", present=("labels-out-of-range",)),
    ),
    seconds=30,
)
