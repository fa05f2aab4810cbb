"""Shape, activations and regularisation of the model."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="network",
    text="Which of these are true of the model?",
    why="Depth and activations decide whether a signal and its gradient survive the way through the layers. Too much "
    "regularisation looks like a model that is too small; none of it on little data is overfitting.",
    kind="many",
    choices=(
        Choice("linear", "no activation function between the layers", present=("no-nonlinearity",)),
        Choice(
            "squashing",
            "sigmoid or tanh in many hidden layers",
            leans={"vanishing-gradients": 2.0, "saturation": 2.5, "dead-relu": -1.5},
            usual=0.1,
        ),
        Choice(
            "saturated",
            "most sigmoid or tanh units are at the end of their range",
            present=("saturated-units",),
            overlooked=True,
        ),
        Choice(
            "dead", "most units of a ReLU layer are zero for every sample", present=("dead-units",), overlooked=True
        ),
        Choice(
            "deep",
            "more than about 15 layers without skip connections or normalisation",
            leans={"vanishing-gradients": 1.2, "exploding-gradients": 0.8},
            usual=0.1,
        ),
        Choice(
            "recurrent",
            "a plain RNN or LSTM over long sequences",
            leans={"exploding-gradients": 1.2, "vanishing-gradients": 0.7, "grad-clip-missing": 0.7},
            usual=0.1,
        ),
        Choice("growing", "activations grow from layer to layer", present=("signal-grows",), overlooked=True),
        Choice("dropout", "dropout of 0.6 or more", present=("dropout-drops-most",)),
        Choice("decay", "weight decay of 0.3 or more", present=("weights-decayed-away",)),
        Choice(
            "no-regularisation",
            "none: no dropout, no weight decay, no augmentation",
            leans={"overfitting": 0.6, "dropout-too-high": -2.0, "weight-decay-too-high": -2.0},
            usual=0.3,
        ),
    ),
    seconds=22,
)
