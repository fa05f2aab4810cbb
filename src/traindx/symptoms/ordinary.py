"""Symptoms that are judged on an ordinary loss: one that measures an error on data and is meant to fall.

The loss of a policy is a gradient in disguise: it may be near zero, negative or rising while the policy gets better,
its data change with the policy, and networks that give targets or references are frozen on purpose. A value is learnt
against targets that move. Where a recording saw such an objective, these symptoms are unknown; NaN and Inf still
count."""

from __future__ import annotations

from dataclasses import replace

from traindx.diagnosis import Observation
from traindx.measurements import AdvantageSpread, Measured, PolicyObjective
from traindx.signals import Signals

ORDINARY_ONLY = frozenset((
    "flat-from-start", "slow-convergence", "plateau", "oscillation", "loss-spike", "divergence", "ends-off-best",
    "underfitting", "overfitting-gap", "suspiciously-good", "double-descent", "loss-at-chance", "high-initial-loss",
    "negative-loss", "still-improving", "val-spike", "val-noisy", "val-at-chance", "val-left-behind",
    "val-inputs-differ",
    "val-labels-differ", "validation-seen-in-training", "loss-maximised", "loss-summed", "labels-unrelated",
    "labels-imbalanced", "labels-out-of-range", "one-label-only", "targets-unscaled", "inputs-unscaled",
    "targets-beyond-output-range", "targets-no-distribution", "targets-not-next-token", "classes-regressed",
    "codes-out-of-range", "shapes-broadcast", "same-batch-repeated", "duplicate-samples", "constant-features",
    "data-in-order", "samples-mixed", "outlier-batch", "prediction-collapse", "rare-classes-missed", "relu-cuts-output",
    "frozen-weights", "unchanged-weights", "parameters-not-optimized", "weights-at-start", "evaluated-in-train-mode",
    "clipped-hard", "tiny-updates", "lr-below-useful", "few-updates", "tiny-batches",
    "accumulation-unscaled",
    "straight-path", "constant-gradient-norm", "error-misses-layers", "batch-not-learned", "batch-barely-moves",
    "vanishing-gradients", "lr-schedule-anomaly",
))  # fmt: skip
NO_GRADIENT = ("no-gradient",)  # what zero advantages give as well
EVIDENCE = "The loss is that of a policy, a value or a preference, which is not meant to fall: not judged on it."


def _without_advantage(signals: Signals) -> bool:
    """Every advantage is the same at every look: the gradient is zero because nothing is earned, not by the wiring."""
    spreads = [one for measured in signals.run.measured for one in measured.latest(AdvantageSpread)]
    return any(one.zero == one.looks for one in spreads)


def judged_live(measured: Measured, identifier: str) -> bool:
    """Whether a symptom can be judged by what a recording has measured so far, before its curves are read."""
    return identifier not in ORDINARY_ONLY or measured.last(PolicyObjective) is None


def held_to(signals: Signals, observation: Observation) -> Observation:
    """The observation, or that it cannot be made on the loss of this training."""
    if observation.state != "present" or signals.ordinary:
        return observation
    if observation.id not in ORDINARY_ONLY and not (observation.id in NO_GRADIENT and _without_advantage(signals)):
        return observation
    return replace(observation, state="unknown", evidence=EVIDENCE, steps=None, where=None, clarity=1.0)
