"""val-labels-differ: validation labels name the classes differently."""

from __future__ import annotations

from collections.abc import Iterator

from traindx.diagnosis import Observation
from traindx.measurements import Measured, TakenFor
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "val-labels-differ"
SAMPLES = fitted(f"{ID}.samples", 40, unit="samples of an evaluation")
LABEL_SAMPLES = fitted(f"{ID}.label-samples", 4, unit="samples of a label")
OWN_CLASS = fitted(f"{ID}.own-class", 0.6, unit="of the samples of a label are taken for one class")
RIGHT = fitted(f"{ID}.right", 0.6, unit="of the samples are recognised")
WRONG = Threshold(0.5, "of the validation samples are recognised", "more are right than wrong above it", side="below")
LABELS = fitted(f"{ID}.labels", 0.7, unit="of the labels are each taken for one class")
MOVED = Threshold(2, "labels that are known in training and moved", "to exchange names takes two")
MOVED_SHARE = Threshold(0.5, "of the moved labels are known in training", "the model knows more of them than not")
SIGMAS = Threshold(
    3.0, "standard errors beyond one half", "classes that only look alike are told apart by the toss of a coin at worst"
)
NAMED = 3  # pairs in the sentence


def judge(measured: Measured) -> Observation | None:
    """The first evaluation that shows either settles it: labels do not change their names within a training."""
    return next(filter(None, map(_judge, measured.all(TakenFor))), None)


def _judge(taken: TakenFor) -> Observation | None:
    if not SAMPLES.reached(taken.held_samples) or not RIGHT.reached(taken.train_accuracy):
        return None
    moved = _moved(taken)
    if moved and (WRONG.reached(taken.held_accuracy) or _exchanged(taken, moved)):
        pairs = ", ".join(f"{label} for {guess}" for label, guess in sorted(moved.items())[:NAMED])
        sentence = (
            f"Validation labels are permuted: the model takes class {pairs}, each consistently, while it is right on "
            f"{percent(taken.train_accuracy)} of the training labels."
        )
        return seen(ID, True, sentence, at=taken)
    if RIGHT.reached(taken.held_accuracy):
        sentence = f"The model is right on {percent(taken.held_accuracy)} of the validation labels."
        return seen(ID, False, sentence, at=taken)
    return None


def _moved(taken: TakenFor) -> dict[int, int]:
    """The labels that are taken for another class in validation and not in training; none where it is no
    permutation."""
    known = dict(_consistent(taken.labels, taken.train_as, taken.train_shares, taken.train_counts))
    held = dict(_consistent(taken.labels, taken.held_as, taken.held_shares, taken.held_counts))
    moved = {label: guess for label, guess in held.items() if label != guess and known.get(label, label) == label}
    sure = sum(label in known for label in moved)
    distinct = len(set(held.values())) == len(held)
    permuted = distinct and bool(taken.labels) and LABELS.reached(len(held) / len(taken.labels))
    return moved if permuted and MOVED.reached(sure) and MOVED_SHARE.reached(sure / len(moved)) else {}


def _exchanged(taken: TakenFor, moved: dict[int, int]) -> bool:
    """Whether a few classes among many have changed names with one another: all of them known in training, and their
    samples taken for the other one more often than a model would that cannot tell them apart."""
    known = dict(_consistent(taken.labels, taken.train_as, taken.train_shares, taken.train_counts))
    if set(moved) != set(moved.values()) or any(known.get(label) != label for label in moved):
        return False
    some = [taken.labels.index(label) for label in moved]
    samples = sum(taken.held_counts[place] for place in some)
    beyond = sum(taken.held_counts[place] * (2 * taken.held_shares[place] - 1) for place in some)
    return SIGMAS.reached(beyond / samples**0.5)


def _consistent(
    labels: tuple[int, ...], guesses: tuple[int, ...], shares: tuple[float, ...], counts: tuple[float, ...]
) -> Iterator[tuple[int, int]]:
    """The labels with enough samples of which most are taken for one class, with that class."""
    for label, guess, share, count in zip(labels, guesses, shares, counts, strict=True):
        if LABEL_SAMPLES.reached(count) and OWN_CLASS.reached(share):
            yield label, guess


def _taken(
    *held_as: int,
    share: float = 0.9,
    samples: int = 80,
    train_accuracy: float = 0.97,
    held_accuracy: float | None = None,
) -> TakenFor:
    labels = tuple(range(len(held_as)))
    right = sum(label == guess for label, guess in enumerate(held_as))
    return TakenFor(
        classes=len(labels),
        labels=labels,
        train_as=labels,
        train_shares=(0.97,) * len(labels),
        train_counts=(30.0,) * len(labels),
        held_as=held_as,
        held_shares=(share,) * len(labels),
        held_counts=(samples / len(labels),) * len(labels),
        train_accuracy=train_accuracy,
        held_accuracy=share * right / len(labels) if held_accuracy is None else held_accuracy,
        held_samples=samples,
    )


SYMPTOM = Symptom(
    id=ID,
    title="validation labels are permuted",
    severity="problem",
    family="val-labels",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The model recognises the classes of the validation data, but each under another label: most samples of one label are
consistently taken for one other class.

## How it is measured
Labels against predictions in the losses computed with gradients off. A permutation is called when at least 60 % of the
training labels are right, at most half of 40 validation labels or more are, and of 70 % of the labels at least 60 % of
the samples, four at least, go to one class of their own; two labels that move, and half of those that do, must be known
by their own name in training. Where more than half of the validation labels are right, the labels that move must have
exchanged their names among themselves, all be known in training, and be taken for one another three standard errors
more often than by the toss of a coin. Otherwise absent when 60 % of the validation labels are right. The first
evaluation that shows either counts.

## Healthy range
The largest share of each label goes to the class of that name.

## What it usually means
Two label encoders, fitted separately; classes listed in another order by two folders; labels that start at 1 in one
split.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("two encoders", "present", measured=(_taken(1, 2, 3, 0),)),
        Case("two of four labels exchanged", "present", measured=(_taken(0, 1, 3, 2),)),
        Case("two of six labels exchanged", "present", measured=(_taken(1, 0, 2, 3, 4, 5),)),
        Case(
            "two of six labels told apart by chance",
            "absent",
            measured=(_taken(1, 0, 2, 3, 4, 5, share=0.7, samples=72, held_accuracy=0.66),),
        ),
        Case("one encoder", "absent", measured=(_taken(0, 1, 2, 3),)),
        Case("recognised before, confused later", "absent", measured=(_taken(0, 1, 2, 3), _taken(1, 2, 3, 0))),
        Case("two labels taken for one class", "unknown", measured=(_taken(1, 1, 3, 2),)),
        Case("no class has most of a label", "unknown", measured=(_taken(1, 2, 3, 0, share=0.55),)),
        Case("not learnt yet", "unknown", measured=(_taken(1, 2, 3, 0, train_accuracy=0.5),)),
        Case("39 samples", "unknown", measured=(_taken(1, 2, 3, 0, samples=39),)),
        Case("a log alone", "unknown"),
    ),
)
