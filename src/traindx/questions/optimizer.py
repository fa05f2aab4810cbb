"""Which optimizer: it decides what a usual rate is."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="optimizer",
    text="Which optimizer?",
    why="It is rarely what is broken, but a rate of 0.1 is normal for SGD and a disaster for Adam.",
    kind="one",
    choices=(
        Choice("adam", "Adam, AdamW, Lion or alike", settings={"optimizer": "adam"}, usual=0.6),
        Choice("sgd", "SGD, with or without momentum", settings={"optimizer": "sgd"}, usual=0.3),
        Choice(
            "momentum",
            "SGD or Adam with momentum (beta1) of 0.99 or more",
            present=("momentum-extreme",),
            settings={"momentum": 0.99},
            usual=0.03,
        ),
        Choice("other", "something else", usual=0.1),
    ),
    seconds=4,
    setting="optimizer",
)
