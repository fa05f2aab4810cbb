"""What the model is fed, whether the labels say what they should, and whether validation is the same task."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="data",
    text="Which of these are true of the data?",
    why="Networks expect numbers of about one: raw pixels, prices or time stamps make the usable learning rate tiny. "
    "Labels that do "
    "not belong to their inputs can only be memorised; a rare class is cheapest to ignore; a few broken samples make "
    "spikes. "
    "A validation score can be wrong by itself: other preprocessing, another label table, samples seen in training.",
    kind="many",
    choices=(
        Choice(
            "unscaled",
            "inputs are not scaled: raw 0 to 255, or columns of very different size",
            present=("inputs-unscaled",),
        ),
        Choice("targets-unscaled", "targets (numbers) are far from mean 0 and std 1", present=("targets-unscaled",)),
        Choice("outliers", "single samples are corrupt or hundreds of times larger", present=("outlier-batch",)),
        Choice("ordered", "the training data is not shuffled, or sorted by class or time", present=("data-in-order",)),
        Choice(
            "same-batch",
            "every update sees the same batch: a seed set in the loop, next(iter(loader)), a fixed index",
            present=("same-batch-repeated",),
        ),
        Choice("few-updates", "an epoch is only a handful of batches", present=("few-updates",)),
        Choice(
            "misaligned",
            "inputs and labels may have been shuffled or filtered separately",
            present=("labels-unrelated",),
        ),
        Choice("imbalanced", "one class is ten or more times as frequent as another", present=("labels-imbalanced",)),
        Choice("rare-missed", "rare classes are hardly ever predicted", present=("rare-classes-missed",)),
        Choice("one-label", "batches hold a single label only", present=("one-label-only",)),
        Choice(
            "val-inputs-differ",
            "validation inputs are prepared differently from training inputs",
            present=("val-inputs-differ",),
        ),
        Choice("val-labels-differ", "labels are numbered separately for validation", present=("val-labels-differ",)),
        Choice(
            "leak",
            "the same samples, users or time spans are in training and validation, or scaling saw all data",
            present=("validation-seen-in-training",),
        ),
    ),
    seconds=30,
)
