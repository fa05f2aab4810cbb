"""Faults of speed or of one rank leave learning alone: the curve over steps is that of a good run."""

from __future__ import annotations

from collections.abc import Mapping

from traindx.causes.base import Strength

# 'rarely' where good runs show the symptom now and then, 'never' where they do not.
LEARNING_UNAFFECTED: Mapping[str, Strength] = {
    "flat-from-start": "never", "slow-convergence": "never", "plateau": "rarely", "oscillation": "never",
    "loss-spike": "rarely", "divergence": "never", "nonfinite-loss": "never", "nonfinite-gradient": "never",
    "nonfinite-activation": "never", "nonfinite-weight": "never", "overfitting-gap": "rarely", "underfitting": "never",
    "val-spike": "rarely", "val-noisy": "rarely", "val-at-chance": "never", "suspiciously-good": "never",
    "loss-at-chance": "never", "high-initial-loss": "rarely", "negative-loss": "never", "vanishing-gradients": "never",
    "exploding-gradients": "never", "dead-units": "never", "saturated-units": "never", "tiny-updates": "never",
    "huge-updates": "never", "no-gradient": "never", "unchanged-weights": "never", "prediction-collapse": "never",
    "loss-scale-collapse": "never", "lr-schedule-anomaly": "never",
}  # fmt: skip
