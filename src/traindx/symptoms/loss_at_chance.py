"""loss-at-chance: the loss sits where a predictor that ignores its input would be."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.chance import BY_VARIANCE, chance_of, variance_of_targets
from traindx.signals.curve import Curve
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.recipes import falling, flat, ramp

ID = "loss-at-chance"
MIN_POINTS = 4
ABOVE = 1.5  # times chance level: higher up the loss is on its way from a bad start, or diverges
LITTLE = 0.1  # of the first loss gone
NEVER_BELOW = 0.97  # of chance
LITTLE_BELOW, LITTLE_ABOVE = (
    0.02,
    0.06,
)  # of it: a loss within this rests there, for it is known to a few percent itself
NOISY = 0.05  # of it: what is less certain tells nothing
NO_BETTER = 1.02  # times the variance of the targets, as the loss function itself gave it,
WORSE = 1.3  # and from here on plainly worse than one answer for everything
QUARTERS = 4
SETTLED = 0.02  # a loss that rests on chance scatters little about it in the second half


def detect(signals: Signals) -> Observation:
    if signals.kind != "supervised":
        return Observation(ID, "unknown", "Chance level has no meaning for this kind of training.")
    curve = signals.train if signals.train is not None else signals.val
    if curve is None or len(curve) < MIN_POINTS or curve.series.meaning.kind != "loss":
        return Observation(ID, "unknown", "Too few loss values to compare with chance.")
    variance = variance_of_targets(signals) if curve is signals.train else None
    if variance is not None and (level := _at_variance(curve, variance)) is not None:
        says = (
            f"{curve.name} stays at {num(level)}; one answer for everything would cost {num(variance)}, the "
            f"variance of the targets."
        )
        return Observation(ID, "present", says, (float(curve.x[0]), float(curve.x[-1])), curve.name)
    by_variance = signals.run.config.get(BY_VARIANCE)
    if isinstance(by_variance, float) and by_variance > NO_BETTER:
        says = (
            f"In the second half of the run the squared error is {num(by_variance)} times the variance of the "
            f"targets: one answer for everything would do."
        )
        return Observation(
            ID,
            "present",
            says,
            (float(curve.x[0]), float(curve.x[-1])),
            curve.name,
            0.9 if by_variance > WORSE else 0.7,
        )
    useless = _score_without_skill(signals)
    chance = chance_of(signals, curve)
    if chance is None:
        if useless:
            return Observation(ID, "present", useless, where=signals.score.name if signals.score else None, clarity=0.7)
        return Observation(ID, "unknown", "The number of classes is not known (give --classes N).")
    goal, level = chance.loss, curve.now
    settled = float(np.ptp(np.quantile(curve.bins.median[len(curve.bins.median) // 2 :], [0.1, 0.9])))
    # a guessed class count excuses no scatter: a loss on its way down passes ln K of some K
    noise = min(3 * curve.level_noise, SETTLED * goal) if chance.known == "loss" else 3 * curve.level_noise
    near = abs(level - goal) < chance.close * goal
    never_below = curve.best > NEVER_BELOW * goal
    says = str(chance)
    if near and never_below and settled < SETTLED * goal + noise:
        certain = {"given": 1.0, "config": 1.0, "accuracy": 1.0, "loss": 0.7}[chance.known]
        guess = " (the class count is guessed from the loss)" if chance.known == "loss" else ""
        return Observation(
            ID, "present", f"{curve.name} stays at {num(level)}, chance level is {says}{guess}.",
            (_since(curve, goal), float(curve.x[-1])), curve.name, certain,
        )  # fmt: skip
    if useless:
        return Observation(ID, "present", useless, where=signals.score.name if signals.score else None, clarity=0.7)
    if chance.known != "loss" and goal < curve.best and goal < level < ABOVE * goal and curve.reduction < LITTLE:
        return Observation(
            ID, "present", f"{curve.name} ends at {num(level)} and was never below chance level {says}.",
            (float(curve.x[0]), float(curve.x[-1])), curve.name, 0.7,
        )  # fmt: skip
    return Observation(ID, "absent", f"{curve.name} is at {num(level)}, chance level is {says}.")


def _since(curve: Curve, goal: float) -> float:
    near = np.flatnonzero(np.abs(curve.bins.median - goal) < 0.03 * goal)
    return float(curve.bins.x[near[0]]) if len(near) else float(curve.x[0])


def _at_variance(curve: Curve, goal: float) -> float | None:
    """Where a regression by squares ends that was never better than the mean of its targets; None for others."""
    later = np.array_split(curve.y, QUARTERS)[1:]
    if min(len(part) for part in later) < MIN_POINTS:
        return None
    # means, not medians: losses of batches are skewed, and the variance is a mean as well
    parts = [(float(part.mean()), 2 * float(part.std()) / len(part) ** 0.5) for part in later]
    sure = max(unsure for _, unsure in parts) < NOISY * goal
    below = any(level + unsure < (1 - LITTLE_BELOW) * goal for level, unsure in parts)
    above = any(level > (1 + LITTLE_ABOVE) * goal for level, _ in parts)
    return parts[-1][0] if sure and not below and not above else None


def _score_without_skill(signals: Signals) -> str:
    """Scores that say 'no better than guessing' whatever the loss: R² at 0, AUC at one half."""
    score = signals.score
    if score is None or len(score) < MIN_POINTS:
        return ""
    name = score.name.lower()
    values = score.series.values[len(score.series.values) // 2 :]
    if "r2" in name and np.nanmax(values) < 0.02:
        return f"{score.name} is {num(float(np.nanmedian(values)))}: no better than predicting the mean of the targets."
    if "auc" in name and np.nanmax(np.abs(values - 0.5)) < 0.02:
        return f"{score.name} is {num(float(np.nanmedian(values)))}: no better than guessing."
    return ""


SYMPTOM = Symptom(
    id=ID,
    title="loss at chance level",
    severity="problem",
    family="no-progress",
    background=0.02,
    needs=("loss", "number of classes"),
    doc="""
## What is observed
The loss rests at the value of a predictor that ignores its input: ln(K) for K balanced classes (0.693 for two, 2.303
for ten, 6.908 for a thousand), or the score says the same (R² of 0, AUC of one half), or a regression by squares rests
at the variance of its targets, as a recording saw them, or is above it in the second half of the run.

## How it is measured
K is taken from `--classes`, from the configuration, or from an accuracy that sits at 1/K. Where a recording has counted
the labels and they occur unevenly, their entropy takes the place of ln(K), with 4 % to either side. Where a sample has
several labels of yes or no, chance is the mean of their entropies; this is said after a hundred updates and only of the
plain mean loss, without weights. The loss must stay within 2 % of ln(K), never have been 3 % below it, and be settled
in its second half. Where K is unknown it is guessed only for usual counts and only when the loss rests within 0.4 % of
ln(K); the page then says so and the finding counts for less. A loss that ends above a known chance level, was never
below it and lost less than a tenth of its first value counts likewise.

## Healthy range
The first loss of a fresh classifier should be near ln(K). It must not still be there later.

## What it usually means
The outputs carry nothing of the inputs: dead or saturated units after too large a step, frozen or forgotten parameters,
a detached graph, labels that do not belong to the inputs, a wrong last activation, or constant initial weights.
""",
    detect=detect,
    cases=(
        Case("ten classes, known", "present", lambda: {"train_loss": flat(100, 2.3028, 0.003)}, {"num_classes": 10}),
        Case("accuracy tells the classes", "present",
             lambda: {"loss": flat(50, 2.305, 0.001), "val_acc": flat(50, 10.0, 0.001)}),
        Case("labels that occur unevenly", "present", lambda: {"train_loss": flat(100, 1.67, 0.003)},
             {"num_classes": 6, "label_entropy": 1.66}),
        Case("below what their frequency tells", "absent", lambda: {"train_loss": flat(100, 1.5, 0.003)},
             {"num_classes": 6, "label_entropy": 1.66}),
        Case("several labels, guessed by how often each is given", "present",
             lambda: {"train_loss": flat(100, 0.331, 0.003)}, {"num_labels": 6, "multilabel_entropy": 0.33}),
        Case("several labels that are learnt", "absent", lambda: {"train_loss": falling(100, 0.69, 0.2)},
             {"num_labels": 6, "multilabel_entropy": 0.33}),
        Case("worse than guessing from first to last", "present", lambda: {"train_loss": ramp(100, 2.62, 2.57, 0.01)},
             {"num_classes": 10}),
        Case("comes down from a bad start", "absent", lambda: {"train_loss": falling(100, 9.0, 2.9)},
             {"num_classes": 10}),
        Case("a regression at the variance of its targets", "present", lambda: {"train_loss": flat(200, 1.0, 0.15)},
             {"mse_target_variance": 1.0}),
        Case("a regression that comes down and ends worse than one answer", "present",
             lambda: {"train_loss": falling(200, 300.0, 1.4)},
             {"mse_target_variance": 1.0, "mse_by_variance": 2.2}),
        Case("a regression that learns", "unknown", lambda: {"train_loss": falling(200, 1.0, 0.3)},
             {"mse_target_variance": 1.0}),
        Case("a little better than one answer", "unknown", lambda: {"train_loss": falling(200, 1.0, 0.93)},
             {"mse_target_variance": 1.0}),
        Case("falls below chance", "absent", lambda: {"train_loss": falling(100, 2.3, 0.5)}, {"num_classes": 10}),
        Case("passes ln 2 on its way", "unknown", lambda: {"train_loss": falling(100, 2.3, 0.55)}),
        Case("classes unknown", "unknown", lambda: {"train_loss": flat(100, 3.17, 0.01)}),
    ),
)  # fmt: skip
