"""narrow-bottleneck: a hidden layer hands on fewer values than the answers need, and the answers stay wrong."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals, lookup
from traindx.signals.chance import BY_VARIANCE, SEVERAL_LABELS
from traindx.signals.inside import left_over, objective
from traindx.symptoms.base import Case, Symptom, clarity, percent
from traindx.symptoms.recipes import falling

ID = "narrow-bottleneck"
SMALL_MODEL = 20_000  # parameters: in larger ones narrow layers are gates and adapters, made so on purpose
FEWEST_CLASSES = 4  # two or three are told apart by one or two values
RIGHT = 0.9  # of the training samples: features of two values that tell ten classes apart are made on purpose
PLAIN_WRONG = 0.4
LEFT = 0.15  # of the first loss
MUCH_NARROWER = 8.0  # numbers in for each that the narrowest layer hands on, in a model that is to give them back,
LOST = 0.5  # and the share of their variance that is lost at the end
COPY_CLEAR = 0.6
LEFT_OF_GUESS = 0.4  # of the loss of a guess, with several labels
LAST = 5  # values of the training accuracy


def detect(signals: Signals) -> Observation:
    config = signals.run.config
    narrowest, count = config.get("model_narrowest"), lookup.number(config, "parameters")
    if not isinstance(narrowest, int) or count is None:
        return Observation(ID, "unknown", "Only a recording of the training from the inside shows this.")
    if count >= SMALL_MODEL:
        return Observation(ID, "absent", f"The model has {count:.3g} parameters.")
    classes = lookup.number(config, "classes")
    hands_on = f"A hidden layer outputs only {narrowest} value{'s' * (narrowest != 1)}"
    if classes and classes >= FEWEST_CLASSES:
        return _classes(signals, narrowest, classes, hands_on)
    if config.get("input_shape") == config.get("target_shape"):
        return _copies(config, narrowest, hands_on)
    labels = _width(config.get("target_shape"))
    if SEVERAL_LABELS in config and labels is not None and labels >= FEWEST_CLASSES:
        return _labels(signals, narrowest, labels, hands_on)
    if narrowest > 1:
        return Observation(ID, "absent", f"{hands_on}.")
    curve = objective(signals)
    if curve is None or curve.sign < 0:
        return Observation(ID, "unknown", f"{hands_on}; whether that is enough is not known.")
    left = left_over(curve)
    if left <= LEFT:
        return Observation(ID, "absent", f"{hands_on}, and {percent(1 - left)} of the loss is gone.")
    text = f"{hands_on}, through which all answers have to go; {percent(left)} of the loss is left."
    return Observation(ID, "present", text, None, curve.name, clarity(left, LEFT, 2 * PLAIN_WRONG))


def _labels(signals: Signals, narrowest: int, labels: int, hands_on: str) -> Observation:
    curve, guess = objective(signals), signals.run.config[SEVERAL_LABELS]
    text = f"{hands_on}, which must separate {labels} yes-or-no labels"
    if narrowest > labels / 2 or curve is None or not isinstance(guess, float) or guess <= 0:
        return Observation(ID, "absent" if narrowest > labels / 2 else "unknown", f"{text}.")
    left = curve.now / guess
    text = f"{text}, and the loss ends at {percent(left)} of that of a guess."
    present = left > LEFT_OF_GUESS
    return Observation(ID, "present" if present else "absent", text, None, curve.name, COPY_CLEAR if present else 1.0)


def _copies(config: Mapping[str, object], narrowest: int, hands_on: str) -> Observation:
    """A model that gives back its inputs is narrow on purpose, unless half of them is gone."""
    width, lost = _width(config.get("input_shape")), config.get(BY_VARIANCE)
    if width is None or not isinstance(lost, float) or not lost < 1:
        return Observation(ID, "unknown", f"{hands_on}; whether that is enough is not known.")
    text = f"{hands_on}, from which {width} are to be given back; {percent(lost)} of their variance is lost."
    if lost > LOST and width >= MUCH_NARROWER * narrowest:
        return Observation(ID, "present", text, clarity=COPY_CLEAR)
    return Observation(ID, "absent", text)


def _width(shape: object) -> int | None:
    """Of a sample that is one row of numbers, written as "[64]"."""
    inside = str(shape).strip("[]")
    return int(inside) if inside.isdecimal() else None


def _classes(signals: Signals, narrowest: int, classes: float, hands_on: str) -> Observation:
    if narrowest > classes / 2:
        return Observation(ID, "absent", f"{hands_on} to tell {classes:.0f} classes.")
    seen = signals.run.series.get("train_accuracy")
    if seen is None or not len(seen):
        return Observation(ID, "unknown", f"{hands_on}; how many training samples it is right on was not measured.")
    right = float(np.nanmedian(seen.values[-LAST:]))
    text = (
        f"{hands_on}, which must separate {classes:.0f} classes, and {percent(right)} of the training samples are "
        f"right at the end."
    )
    if right >= RIGHT:
        return Observation(ID, "absent", text)
    return Observation(ID, "present", text, None, seen.name, clarity(1 - right, 1 - RIGHT, PLAIN_WRONG))


SYMPTOM = Symptom(
    id=ID,
    title="a hidden layer is too narrow for the answers",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
All answers pass through a hidden layer of a few values, and the model is still wrong on the data it was trained on.

## How it is measured
A recording knows the sizes of the layers. In a model of fewer than 20 000 parameters, a dense or recurrent layer hands
on at most half as many values to the next one as there are classes (four at least), and fewer than 90 % of the training
samples looked at last are right; or it hands on a single value, and more than 15 % of the first loss is left. Models
that give back their inputs are narrow on purpose: of them it is said where an eighth of the numbers or fewer pass and
half of their variance is lost. Of several labels of yes or no (four at least) it is said where half as many values pass
and 40 % of the loss of a guess is left.

## Healthy range
At least as many hidden values as classes. Features of two values, made to be drawn, count as healthy as long as they
tell the classes apart.

## What it usually means
The model is too small for the task.
""",
    detect=detect,
    cases=(
        Case("three values for ten classes", "present",
             lambda: {"train_loss": falling(60, 2.3, 0.9), "train_accuracy": np.linspace(0.1, 0.7, 12)},
             {"model_narrowest": 3, "num_classes": 10, "model_parameters": 300}),
        Case("one value for a regression", "present", lambda: {"train_loss": falling(60, 1.0, 0.4)},
             {"model_narrowest": 1, "model_parameters": 20, "input_shape": "[10]", "target_shape": "[1]"}),
        Case("two values that tell them apart", "absent",
             lambda: {"train_loss": falling(60, 2.3, 0.05),
                      "train_accuracy": np.minimum(0.98, np.linspace(0.1, 1.8, 12))},
             {"model_narrowest": 2, "num_classes": 10, "model_parameters": 9000}),
        Case("three values of fifty-two to be given back", "present", lambda: {"train_loss": falling(60, 1.3, 0.65)},
             {"model_narrowest": 3, "model_parameters": 370, "input_shape": "[52]", "target_shape": "[52]",
              "mse_by_variance": 0.69}),
        Case("three values that are enough to give them back", "absent", lambda: {"train_loss": falling(60, 1.3, 0.2)},
             {"model_narrowest": 3, "model_parameters": 370, "input_shape": "[52]", "target_shape": "[52]",
              "mse_by_variance": 0.2}),
        Case("two values for four labels", "present", lambda: {"train_loss": falling(60, 0.7, 0.45)},
             {"model_narrowest": 2, "model_parameters": 150, "input_shape": "[64]", "target_shape": "[4]",
              "multilabel_entropy": 0.66}),
        Case("two values that tell four labels", "absent", lambda: {"train_loss": falling(60, 0.7, 0.1)},
             {"model_narrowest": 2, "model_parameters": 150, "input_shape": "[64]", "target_shape": "[4]",
              "multilabel_entropy": 0.66}),
        Case("wide enough", "absent", lambda: {"train_loss": falling(60, 2.3, 0.9),
                                               "train_accuracy": np.linspace(0.1, 0.7, 12)},
             {"model_narrowest": 32, "num_classes": 10, "model_parameters": 3000}),
        Case("a log alone", "unknown", lambda: {"train_loss": falling(60, 2.3, 0.9)}, {"num_classes": 10}),
    ),
)  # fmt: skip
