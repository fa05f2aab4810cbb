"""prediction-collapse: the outputs are (nearly) constant, or one class only."""

from __future__ import annotations

import math
import re

import numpy as np

from traindx.diagnosis import Observation
from traindx.meaning import tokens_of
from traindx.measurements import ClassPredictions, Measured, OutputsAcrossSamples, OutputSpread
from traindx.run import Series
from traindx.signals import Signals
from traindx.signals.choose import usable
from traindx.signals.curve import Curve
from traindx.signals.inside import learned, level, objective
from traindx.signals.score import top_of
from traindx.signals.standstill import standstill
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.newest import in_order, newest
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.predicted import MIN_LOOKS, RECENT, class_predictions, is_settled, shows_predictions
from traindx.symptoms.recipes import falling, flat, then
from traindx.thresholds import Threshold, fitted

ID = "prediction-collapse"
MIN_EVALS = 5
MANY = Threshold(10, "evaluations", "as many equal ones are no coincidence of a coarse score")
MANY_CLASSES = 100
EXACTLY = 1e-3  # of 1/K
_BOXES = frozenset({"iou", "giou", "ciou", "dfl", "box", "bbox", "rbox", "mask"})
SEEN = 0.01  # of the first loss: a fall that the curve on the page shows
FALLING = 0.1  # of the first loss gone: the model learns something
GOOD = 0.9  # a score this high may stand still
SPREAD_LEFT = 1e-3  # of the early spread of the outputs
STANDSTILL = 1e-4  # of the validation loss
CHANCE = 0.03  # of 1/K, and for the scatter of the accuracy around it
SETTLED_EVALS = 8
SETTLED = 0.02  # of the accuracy that never moves: how near the training accuracy comes to it
LOSS_AT_CHANCE = 0.02  # nats around ln K
_ACCURACY = frozenset({"acc", "accuracy", "acc1", "top1", "accu"})
_FOUND = frozenset({"precision", "recall", "prec", "rec", "f1", "fscore", "map", "map50", "map95", "ap", "ap50", "dice",
                    "iou",
                    "miou", "jaccard", "sensitivity", "hmean"})  # fmt: skip
SPREAD = fitted(f"{ID}.spread", 0.01, unit="times the spread of the targets", side="below")
SPREAD_ENOUGH = fitted(f"{ID}.spread-enough", 0.1, unit="times the spread of the targets, to be called absent")
ALIKE = Threshold(
    1e-6,
    "of the size of the outputs, from sample to sample",
    "eight times the rounding of single precision, 2^-23",
    side="below",
)
_SHARE_SETTING = re.compile(r"majority|class_?(share|prior|frequency)|baseline_?acc", re.IGNORECASE)


def judge(measured: Measured) -> Observation | None:
    looks: list[ClassPredictions | OutputSpread] = [*measured.all(ClassPredictions), *measured.all(OutputSpread)]
    return newest(_classes(one) if isinstance(one, ClassPredictions) else _spread(one) for one in in_order(looks))


def _classes(look: ClassPredictions) -> Observation | None:
    if not shows_predictions(look):
        return None
    if look.predicted > 1:
        sentence = (
            f"{look.predicted} of {look.classes} classes are predicted in the last checked batches of {look.criterion}."
        )
        return seen(ID, False, sentence, at=look)
    sentence = (
        f"All {look.predictions} predictions in the last {look.last_looks} checked batches of {look.criterion} are "
        f"class {look.top}, which {percent(look.top_targets / look.targets)} of the targets are."
    )
    return seen(ID, True, sentence, at=look)


def _spread(look: OutputSpread) -> Observation | None:
    if not (is_settled(look) and MIN_LOOKS.reached(look.looks) and RECENT.reached(look.since / look.step)):
        return None
    few = SPREAD.reached(look.largest)
    if not few and not SPREAD_ENOUGH.reached(look.largest):
        return None
    sentence = f"The outputs given to {look.criterion} spread {num(look.largest)} times as far as the targets"
    end = f" in the last {look.looks} checked batches: nearly one answer for everything." if few else "."
    return seen(ID, few, sentence + end, at=look)


def of_probe(measured: Measured) -> Observation | None:
    """A last layer that starts at zero makes every output alike; what reaches it must be alike too."""
    look = measured.last(OutputsAcrossSamples)
    if look is None:
        return None
    if not _is_alike(look.spread, look.size):
        return seen(ID, False, f"The output differs from sample to sample by {num(look.spread)}.", at=look)
    if not _is_alike(look.hidden_spread, look.hidden_size):
        return None
    text = f"The output is the same for every sample (it varies by {num(look.spread)}), and so is what the last hidden "
    return seen(ID, True, f"{text}layer gives.", at=look)


def _is_alike(spread: float, size: float) -> bool:
    return ALIKE.reached(spread / size if size else 0.0)


def _outputs_spread(largest: float, looks: int = 5) -> OutputSpread:
    return OutputSpread(criterion="mse_loss", looks=looks, since=200, largest=largest, optimizers=1, step=300)


def detect(signals: Signals) -> Observation:
    rest = standstill(signals)
    if rest is not None:
        text = f"{rest.series.name} is {num(rest.value)} in the last {rest.rows} rows, the same to the last digit, "
        text += "though batches differ: the outputs are constant."
        return Observation(ID, "present", text, (rest.since, float(rest.series.steps[-1])), rest.series.name)
    compared = signals.trainer is not None and signals.trainer.task != "supervised"  # an accuracy of pairs
    if signals.kind != "supervised" or compared:
        return Observation(ID, "unknown", "This kind of training logs no predictions that could be judged.")
    direct = nothing_matched(signals) or _outputs(signals)
    if direct is not None and direct.state == "present":
        return direct
    curve = objective(signals, 3)
    scores = [one for one in usable(signals.run, "score") if one.meaning.split in ("val", "test", "")]
    scores = [one for one in scores if np.isfinite(one.values).sum() >= MIN_EVALS]
    if not scores or curve is None:
        missing = f"No validation score with at least {MIN_EVALS} values" if curve is not None else "No loss"
        return direct or Observation(ID, "unknown", f"{missing} was logged, and no spread of the predictions.")
    for judge in (_nothing_found, _a_coin, _at_a_class_share, _constant, _settled_on_a_share):
        finding = judge(signals, scores, curve)
        if finding is not None:
            return finding
    main = scores[0]
    low, high = float(np.nanmin(main.values)), float(np.nanmax(main.values))
    if low == high:
        return Observation(
            ID, "absent", f"{main.name} is always {num(low)}, but {curve.name} falls or the score is high."
        )
    return Observation(ID, "absent", f"{main.name} moves between {num(low)} and {num(high)}.")


def _outputs(signals: Signals) -> Observation | None:
    """From the spread of the outputs or the number of different classes predicted, where someone logged them."""
    for series in signals.run.of("prediction"):
        if np.isfinite(series.values).sum() < MIN_EVALS:
            continue
        early, late = (
            level(series.values[: max(2, len(series) // 5)]),
            level(series.values[-max(2, len(series) // 5) :]),
        )
        steps = (float(series.steps[0]), float(series.steps[-1]))
        if series.meaning.part == "distinct" and late <= 1:
            return Observation(
                ID, "present", f"{series.name} is {num(late)}: a single class is predicted.", steps, series.name
            )
        lost = late == 0 or late < SPREAD_LEFT * early
        if series.meaning.part == "spread" and lost and not learned(objective(signals)):
            text = f"{series.name} fell from {num(early)} to {num(late)}: the outputs hardly depend on the input."
            return Observation(ID, "present", text, steps, series.name, 1.0 if late == 0 else 0.7)
        return Observation(ID, "absent", f"{series.name} is {num(late)} at the end.")
    return None


def _nothing_found(signals: Signals, scores: list[Series], curve: Curve) -> Observation | None:
    """Precision, recall, F1, mAP, Dice, IoU, all of them exactly 0 at every evaluation."""
    found = [one for one in scores if set(tokens_of(one.name)) & _FOUND]
    if not found or any(np.nanmax(np.abs(one.values)) > 0 for one in found):
        return None
    names = ", ".join(one.name for one in found[:4])
    fell = (
        f"while {curve.name} lost {percent(curve.reduction)}"
        if curve.reduction > FALLING
        else f"and {curve.name} is stuck"
    )
    return Observation(
        ID, "present", f"{names} is exactly 0 in all {len(found[0])} evaluations, {fell}: nothing, or one class, is "
                       f"predicted.",
        (float(found[0].steps[0]), float(found[0].steps[-1])), found[0].name,
        1.0 if MANY.reached(len(found[0])) else 0.7,
    )  # fmt: skip


def nothing_matched(signals: Signals) -> Observation | None:
    """The losses of found boxes are exactly 0 in every row: no prediction was ever matched to a target."""
    boxes = [one for one in usable(signals.run, "loss") if set(one.meaning.part.split("/")) & _BOXES]
    boxes = [one for one in boxes if one.meaning.split in ("", "train") and len(one) >= MIN_EVALS]
    found = [one for one in usable(signals.run, "score") if np.nanmax(np.abs(one.values), initial=0.0) > 0]
    if not boxes or found or any(np.any(one.values) for one in boxes):
        return None
    one = boxes[0]
    names = ", ".join(one.name for one in boxes[:4])
    text = f"{names} {'is' if len(boxes) == 1 else 'are'} exactly 0 in all {len(one)} rows: no box was ever matched "
    text += "to a target, as where the labels were not found."
    return Observation(ID, "present", text, (float(one.steps[0]), float(one.steps[-1])), one.name, 0.9)


def _a_coin(signals: Signals, scores: list[Series], curve: Curve) -> Observation | None:
    """An accuracy of exactly 1/K at every evaluation, and a loss that was never below ln K."""
    for one in scores:
        values = one.values / top_of(one.values)
        classes = round(1 / values[0]) if values[0] > 0 and np.ptp(values) == 0 else 0
        if not set(tokens_of(one.name)) & _ACCURACY or not 2 <= classes <= MANY_CLASSES:
            continue
        exact = abs(values[0] * classes - 1) < EXACTLY
        if exact and curve.sign > 0 and curve.best > math.log(classes) * (1 - LOSS_AT_CHANCE):
            return Observation(
                ID, "present", f"{one.name} is {num(float(one.values[0]))} in all {len(one)} evaluations, what "
                               f"guessing among {classes} classes gives, and {curve.name} was never below "
                               f"ln({classes}) = {math.log(classes):.3g}.",
                (float(one.steps[0]), float(one.steps[-1])), one.name, 0.8,
            )  # fmt: skip
    return None


def _at_a_class_share(signals: Signals, scores: list[Series], curve: Curve) -> Observation | None:
    """Accuracy that rests on 1/K, or on the share of a class that the config names."""
    if curve.sign < 0 or curve.reduction > FALLING:
        return None
    shares = {f"{key} = {num(value)}": value for key, value in signals.run.config.items()
              if _SHARE_SETTING.search(key) and isinstance(value, float) and 0 < value < 1}  # fmt: skip
    if signals.classes:
        shares[f"1/{signals.classes[0]}"] = 1 / signals.classes[0]
    classes = round(math.exp(min(curve.now, 12.0)))
    if classes >= 2 and abs(curve.now - math.log(classes)) < LOSS_AT_CHANCE:
        shares[f"1/{classes}"] = 1 / classes
    for series in scores:
        if not set(tokens_of(series.name)) & _ACCURACY:
            continue
        late = series.values[len(series) // 2 :]
        late = late[np.isfinite(late)] / top_of(series.values)
        middle, scatter = float(np.median(late)), float(late.max() - late.min())
        for name, share in shares.items():
            if abs(middle - share) <= CHANCE * share and scatter <= CHANCE * share:
                return Observation(
                    ID, "present", f"{series.name} rests at {percent(middle)} = {name}: always the same class, it "
                                   f"seems.",
                    (float(series.steps[len(series) // 2]), float(series.steps[-1])), series.name,
                    1.0 if scatter == 0 else 0.6,
                )  # fmt: skip
    return None


def _constant(signals: Signals, scores: list[Series], curve: Curve) -> Observation | None:
    """A score that never moves by a digit while the loss does not fall."""
    still = [one for one in scores if np.nanmax(one.values) == np.nanmin(one.values)]
    still = [one for one in still if not _good(float(np.nanmax(one.values)))]
    if not still or curve.reduction > FALLING or _another_moves(scores):
        return None
    series, value = still[0], float(np.nanmax(still[0].values))
    val = signals.val
    if val is not None and len(val) >= MIN_EVALS and val.y.max() - val.y.min() <= STANDSTILL * abs(val.now):
        text = (
            f"{series.name} is always {num(value)}, and {val.name} hardly changes either: the model itself stands "
            f"still."
        )
        return Observation(ID, "unknown", text)
    return Observation(
        ID, "present", f"{series.name} is exactly {num(value)} in all {len(series)} evaluations, and {curve.name} "
                       f"{_hardly_falls(curve)}.",
        (float(series.steps[0]), float(series.steps[-1])), series.name, 0.8 if MANY.reached(len(series)) else 0.5,
    )  # fmt: skip


def _hardly_falls(curve: Curve) -> str:
    return f"falls by {percent(curve.reduction)} only" if curve.reduction >= SEEN else "does not fall"


def _another_moves(scores: list[Series]) -> bool:
    """Where one score changes from evaluation to evaluation, another that never does was not computed."""
    evaluated = [one for one in scores if one.meaning.split in ("val", "test")] or scores
    return any(len(np.unique(one.values[np.isfinite(one.values)])) > len(one) // 2 for one in evaluated)


def _settled_on_a_share(signals: Signals, scores: list[Series], curve: Curve) -> Observation | None:
    """A validation accuracy that never moves by a digit, and a training accuracy that rose to the same value and stays
    there: the loss falls until every answer is the most frequent class."""
    still = [one for one in scores if one.meaning.split in ("val", "test") and np.ptp(one.values) == 0]
    twins = [one for one in usable(signals.run, "score") if one.meaning.split in ("", "train")]
    for one in still:
        value, words = float(one.values[0]), set(tokens_of(one.name)) & _ACCURACY
        if not words or _good(value) or value == 0 or len(one) < SETTLED_EVALS:
            continue
        for twin in twins:
            late = twin.values[-max(2, len(twin) // 3) :]
            moved = len(twin) >= MIN_EVALS and abs(float(twin.values[0]) - value) > 5 * SETTLED * value
            if words & set(tokens_of(twin.name)) and moved and np.all(np.abs(late - value) < SETTLED * value):
                return Observation(
                    ID, "present", f"{one.name} is exactly {num(value)} in all {len(one)} evaluations, and {twin.name} "
                                   f"rose to "
                    f"{num(float(late[-1]))} and stays there: always the most frequent class, it seems.",
                    (float(one.steps[0]), float(one.steps[-1])), one.name, 0.7,
                )  # fmt: skip
    return None


def _good(value: float) -> bool:
    return value >= GOOD * (100.0 if value > 1 else 1.0)


def _across(spread: float, hidden: float) -> OutputsAcrossSamples:
    return OutputsAcrossSamples(spread=spread, size=1.0, hidden_spread=hidden, hidden_size=1.0)


SYMPTOM = Symptom(
    id=ID,
    title="predictions collapsed",
    severity="problem",
    family="collapse",
    background=0.02,
    needs=("validation score", "spread of predictions"),
    doc="""
## What is observed
The model answers the same whatever it is shown: one class, only background, or nothing at all.

## How it is measured
From scores, with five evaluations at least: precision, recall, F1, mAP, Dice and IoU all exactly 0 every time; an
accuracy that rests within 3 % on 1/K or on a class share named in the config (K is given, in the config, or read off a
loss that rests at ln K), or is exactly 1/K every time while the loss never was below ln K; losses of boxes that are 0
in every row; or a score that agrees to the last digit every time while no other changes and the loss lost
less than 10 % of its value, or while the training accuracy rose to within 2 % of it and stays there (eight
evaluations). A score above 90 % may stand still. When the validation loss moves by less than 1/10 000 of itself, it is
the model that stands still, and the state is unknown. Directly: the number of different classes predicted is one, or
the spread of the outputs fell to 1/1000 of its early value while the loss stayed up. A recording counts the predicted
classes at each look it takes at the loss (after 100 updates, the last looks, five of them at batches with more than one
class and 64 predictions in all, hold one class), or compares the spread of the outputs of a regression with that of the
targets (at most 1/100 in the last five looks; absent from 1/10 on). The last looks count; trainings with several
optimisers are left out. A training loss that had moved and is one number in its last 15 rows, three digits at least,
while a score still differs from row to row counts as well, as do the losses of a generator and its discriminator that
both come to rest so.

## Healthy range
Scores at zero in the first evaluations of a detector are normal. An accuracy column of a regression is meaningless and
often constant; since the loss falls beside it, it does not count.

## What it usually means
With the loss falling and every score at 0: labels that are not found or in the wrong format, background far more
frequent than the rest, a threshold nothing reaches. With the loss stuck: dead units, an output activation that does
not fit the loss, class imbalance, learning rate so high that only the bias survived.
""",
    detect=from_measurements(ID, judge, otherwise=detect, of_probe=of_probe),
    cases=(
        Case("a probe finds equal outputs", "present", probed=(_across(0.0, 1e-7),)),
        Case("a probe finds a last layer of zeros", "unknown", probed=(_across(0.0, 0.5),)),
        Case("a probe finds outputs that differ", "absent", probed=(_across(0.1, 0.5),)),
        Case("no box is ever matched", "present",
             lambda: {"iou_loss": flat(9, 0.0), "dfl_loss": flat(9, 0.0), "cls_loss": falling(9, 0.011, 0.010, 0.0)}),
        Case("guesses after it had learnt", "present",
             lambda: {"train_loss": [1.31, 1.01, 0.72, 0.78, 1.11, 1.35, 1.36, 1.14], "val_acc": flat(8, 0.5, 0)}),
        Case("a loss at one number, though the accuracy of batches differs", "present",
             lambda: {"loss": then(falling(10, 5.0, 0.7, 0.5), flat(30, 0.6931, 0)),
                      "accuracy": np.round(flat(40, 0.68, 0.08), 2)}),
        Case("both losses of adversaries at one number", "present",
             lambda: {"d_loss": then(flat(200, 0.3, 0.5), flat(80, 50.0, 0)),
                      "g_loss": then(flat(200, 5.0, 0.3), flat(80, 0.0, 0))}),
        Case("a discriminator's loss that rounds to zero", "unknown",
             lambda: {"d_loss": then(flat(200, 0.3, 0.5), flat(80, 0.0, 0)), "g_loss": flat(280, 5.0, 0.3)}),
        Case("one class is predicted", "present", measured=(class_predictions(predicted=1),)),
        Case("two classes are predicted", "absent", measured=(class_predictions(predicted=2),)),
        Case("several, beside a score that stands still", "absent",
             lambda: {"train_loss": flat(500, 0.31, 0.02), "val_acc": flat(10, 0.8374, 0)},
             measured=(class_predictions(),)),
        Case("the first updates", "unknown", measured=(class_predictions(predicted=1, step=99, since=50),)),
        Case("four looks at mixed batches", "unknown", measured=(class_predictions(predicted=1, mixed_looks=4),)),
        Case("63 predictions", "unknown", measured=(class_predictions(predicted=1, predictions=63),)),
        Case("looks of long ago", "unknown", measured=(class_predictions(predicted=1, since=200, step=1000),)),
        Case("two optimisers", "unknown", measured=(class_predictions(predicted=1, optimizers=2),)),
        Case("one class for a while", "absent",
             measured=(class_predictions(predicted=1), class_predictions(step=600, since=500))),
        Case("one number is predicted", "present", measured=(_outputs_spread(0.002),)),
        Case("outputs that spread as the targets", "absent", measured=(_outputs_spread(0.8),)),
        Case("outputs that hardly spread", "unknown", measured=(_outputs_spread(0.05),)),
        Case("four looks at outputs", "unknown", measured=(_outputs_spread(0.002, looks=4),)),
        Case("nothing is found while the loss falls", "present",
             lambda: {"train/box_loss": falling(40, 0.1, 0.03), "metrics/precision": flat(40, 0.0),
                      "metrics/recall": flat(40, 0.0),
                      "metrics/mAP50": flat(40, 0.0)}),
        Case("accuracy at one in ten, loss at ln 10", "present",
             lambda: {"train_loss": flat(500, 2.3026, 0.001), "val_acc": (range(0, 500, 50), flat(10, 10.0, 0))}),
        Case("constant accuracy of an imbalanced set", "present",
             lambda: {"train_loss": flat(500, 0.31, 0.02), "val_acc": (range(0, 500, 50), flat(10, 0.8374, 0))}),
        Case("a single class is predicted", "present",
             lambda: {"loss": flat(50, 1.1, 0.02), "unique_predictions": [7.0, 4.0, 2.0, *[1.0] * 20]}),
        Case("meaningless accuracy of a regression", "absent",
             lambda: {"loss": falling(20, 3.9, 1.2), "val_loss": falling(20, 3.0, 2.5),
                      "val_acc": flat(20, 0.00025, 0)}),
        Case("accuracy rises", "absent", lambda: {"loss": falling(30, 2.3, 0.4), "val_acc": 1 - falling(30, 0.9, 0.1)}),
        Case("training ends at the most frequent class", "present",
             lambda: {"loss": falling(9, 1.79, 1.16, 0.0),
                      "accuracy": [0.45, 0.63, 0.646, 0.654, 0.66, 0.663, 0.667, 0.668, 0.668],
                      "val_accuracy": [0.66977] * 9, "val_loss": falling(9, 1.21, 1.12, 0.0)}),
        Case("one accuracy was never computed", "absent",
             lambda: {"loss": flat(30, 27.0, 0.01), "val_acc": flat(30, 0.0, 0),
                      "val_acc5": 1 - falling(30, 0.4, 0.2)}),
        Case("converged at 98 %", "absent", lambda: {"loss": flat(30, 0.06, 0.05), "val_acc": flat(30, 0.98, 0)}),
        Case("the model stands still", "unknown",
             lambda: {"loss": flat(30, 1.3, 0.01), "val_loss": flat(30, 1.2871, 0), "val_acc": flat(30, 0.4183, 0)}),
        Case("no score", "unknown", lambda: {"loss": flat(100, 2.303, 0.001)}),
    ),
)  # fmt: skip
