"""What is trained: it rules whole groups of causes out."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="task",
    text="What does the model learn?",
    why="Causal masks, padding and shifted targets exist only for tokens; class imbalance only where there "
    "are classes; rewards, advantages and a KL term only in reinforcement learning.",
    kind="one",
    choices=(
        Choice(
            "images",
            "classes from images, audio or signals",
            leans={"targets-not-normalized": -2.0},
            settings={"input_kind": "images"},
            usual=0.35,
        ),
        Choice(
            "table",
            "classes from a table or feature vectors",
            leans={"targets-not-normalized": -2.0},
            settings={"input_kind": "features"},
            usual=0.2,
        ),
        Choice(
            "regression",
            "numbers (regression, forecasts, reconstruction)",
            leans={
                "targets-not-normalized": 1.0,
                "bounded-output": 0.8,
                "relu-on-output": 0.8,
                "loss-shape-broadcast": 0.8,
                "class-imbalance": -3.0,
                "softmax-before-cross-entropy": -3.0,
                "label-encoding-wrong": -2.0,
                "mse-for-classification": -3.0,
                "nll-without-log-softmax": -3.0,
                "double-sigmoid": -2.0,
                "softmax-on-single-output": -1.0,
            },
            settings={"input_kind": "numbers"},
            usual=0.2,
        ),
        Choice(
            "tokens",
            "text or other token sequences (language model, translation)",
            leans={
                "causal-mask-missing": 1.0,
                "target-not-shifted": 1.0,
                "padding-not-masked": 1.0,
                "weights-not-tied": 1.0,
                "inputs-not-normalized": -2.0,
                "targets-not-normalized": -3.0,
            },
            settings={"input_kind": "tokens"},
            usual=0.2,
        ),
        Choice(
            "rl",
            "a policy or value (reinforcement learning)",
            settings={"input_kind": "observations"},
            usual=0.05,
        ),
    ),
    seconds=6,
    setting="input_kind",
)
