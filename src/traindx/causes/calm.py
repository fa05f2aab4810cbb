"""The symptoms whose absence makes a run look healthy: shared by the healthy cases of the causes."""

from __future__ import annotations

CALM_CURVES = (
    "flat-from-start", "slow-convergence", "plateau", "oscillation", "loss-spike", "divergence", "nonfinite-loss",
    "overfitting-gap", "underfitting", "val-spike", "val-noisy", "val-at-chance", "suspiciously-good",
    "loss-at-chance", "high-initial-loss", "negative-loss", "lr-schedule-anomaly", "too-short", "truncated",
)  # fmt: skip
CALM_INSIDE = (
    "nonfinite-gradient", "nonfinite-activation", "nonfinite-weight", "vanishing-gradients", "exploding-gradients",
    "dead-units", "saturated-units", "tiny-updates", "huge-updates", "no-gradient", "unchanged-weights",
    "prediction-collapse",
)  # fmt: skip
CALM_POLICY = (
    "reward-flat", "reward-falls", "reward-spread-zero", "proxy-and-score-part", "entropy-low", "kl-high",
    "ratio-pinned", "clip-fraction-extreme", "length-at-limit", "length-drifts", "margin-zero", "value-loss-grows",
    "sampler-disagrees", "sampler-drifts",
)  # fmt: skip
