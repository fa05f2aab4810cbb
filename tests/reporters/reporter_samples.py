"""Diagnoses built by hand, so that the reporters are tested without the engine."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from traindx.diagnosis import Curve, Diagnosis, FixProposal, Hypothesis, Missing, Observation, RunSummary

LR = FixProposal(
    "lower-lr", "Lower the learning rate tenfold", "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)", "safe"
)
WARMUP = FixProposal("add-warmup", "Warm the learning rate up over the first 500 steps", "scheduler = ...", "safe")


def curve(name: str = "train_loss", points: int = 60) -> Curve:
    values = [2.4 * math.exp(-i / 8) + 0.6 for i in range(points * 2 // 3)]
    values += [0.62 + 7.3 * (i / (points / 3)) ** 2 for i in range(points - len(values))]
    return Curve(name, tuple(float(7 * i) for i in range(points)), tuple(values))


def summary(**changes: Any) -> RunSummary:
    values: dict[str, Any] = {
        "source": "runs/exp1/metrics.csv", "format": "csv", "name": "", "steps": 412,
        "metrics": ("train_loss", "lr"), "config": {"lr": 0.01}, "objective": "train_loss",
    }  # fmt: skip
    return RunSummary(**{**values, **changes})


def unhealthy(**changes: Any) -> Diagnosis:
    values: dict[str, Any] = {
        "verdict": "unhealthy",
        "headline": "The loss left its best value for good.",
        "run": summary(),
        "symptoms": (
            Observation("divergence", "present", "left its best 0.61 and is 13 times above it now", (97, 412)),
            Observation("oscillation", "present", "swings of 0.4, 6 times the noise", (40, 97), "train_loss"),
            Observation("nonfinite-loss", "absent", "412 of 412 values are finite"),
            Observation("overfitting-gap", "unknown", "no validation loss in the log"),
        ),
        "hypotheses": (
            Hypothesis(
                "lr-too-high", "learning rate too high", 0.82,
                ("divergence after steady progress is what an overshooting step does", "swings grow before it leaves"),
                ("the gradient norm is calm until step 90",),
                LR, (WARMUP,), ("add clipping first: it hides the overshoot and keeps the cause",),
                "docs/causes/lr-too-high.md",
            ),
            Hypothesis("corrupt-samples", "corrupt samples in the data", 0.11),
            Hypothesis("warmup-missing", "no learning-rate warm-up", 0.04),
            Hypothesis("other", "something else", 0.03),
        ),
        "missing": (Missing("validation loss", ("overfitting",), "log it once an epoch"),),
        "next": "Lower the learning rate to 1e-3 and run 200 steps.",
        "version": "0.1.0",
        "notes": (),
        "curves": (curve(),),
    }  # fmt: skip
    return Diagnosis(**{**values, **changes})


def healthy(**changes: Any) -> Diagnosis:
    values: dict[str, Any] = {
        "verdict": "healthy",
        "headline": "",
        "symptoms": (
            Observation("divergence", "absent", "ends within 1 % of its best"),
            Observation("overfitting-gap", "unknown", "no validation loss in the log"),
        ),
        "hypotheses": (Hypothesis("healthy", "healthy", 0.91), Hypothesis("other", "something else", 0.02)),
        "missing": (),
        "next": "",
    }
    return unhealthy(**{**values, **changes})


def inconclusive(**changes: Any) -> Diagnosis:
    values: dict[str, Any] = {
        "verdict": "inconclusive",
        "headline": "Four points are too few to tell noise from trend.",
        "symptoms": (Observation("too-short", "present", "4 points; at least 10 are needed"),),
        "hypotheses": (Hypothesis("healthy", "healthy", 0.4), Hypothesis("lr-too-high", "learning rate too high", 0.1)),
    }
    return unhealthy(**{**values, **changes})


def replaced(unit: Any, **changes: Any) -> Any:
    return dataclasses.replace(unit, **changes)
