"""What the yardstick of an arm says: how good the training is at its end, on a scale that both arms of a pair share."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from traindx.fixes.base import Judged
from traindx.run import Floats

FILE = "yardstick.json"
TAIL = 0.25  # of the training: its end
VAL_TAIL = 0.2
KEPT = 0.5  # of the last training errors that are finite: a training that goes on is not lost
COURSE = 20
KINDS = ("log loss", "squared error")
FLOOR = {
    "log loss": 0.01,
    "squared error": 0.01,
    "loss": 0.0,
    "missed": 0.01,
    "seconds": 0.0,
}  # differences below this are none
NAMES = {
    "log loss": "log loss", "squared error": "squared error / variance", "loss": "loss",
    "missed": "missed, mean over classes",
    "seconds": "seconds per step",
}  # fmt: skip


@dataclass(frozen=True)
class Metric:
    """What two arms are compared by; less is better for all of them."""

    split: str
    kind: str

    @property
    def name(self) -> str:
        where = {"val": "validation ", "train": "training ", "": ""}[self.split]
        return f"{where}{NAMES[self.kind]}"

    @property
    def floor(self) -> float:
        return FLOOR[self.kind]


@dataclass(frozen=True)
class Measured:
    series: Mapping[str, Floats]  # by split and kind: rows of step, error, share of wrong answers, samples
    spread: float
    recalls: Mapping[str, list[float | None]]
    acted: Mapping[str, int]
    steps: int
    seconds: float
    stopped: str
    aligned: bool = True  # of an arm that began with a kept state: the data go on in the same order
    pace: float | None = None  # seconds a step in its second half

    @classmethod
    def read(cls, folder: Path) -> Measured | None:
        try:
            data: dict[str, Any] = json.loads((folder / FILE).read_text())
        except (OSError, ValueError):
            return None
        series = {name: np.array(rows, dtype=np.float64).reshape(-1, 4) for name, rows in data["series"].items()}
        return cls(
            series, data["spread"], data["recalls"], data["acted"], data["steps"], data["seconds"], data["stopped"],
            data.get("aligned", True), data.get("pace"),
        )  # fmt: skip

    def value(self, metric: Metric) -> float:
        """At the end of the training; infinite where it was lost on the way, NaN where nothing was measured."""
        if metric.kind == "seconds":
            if self.pace is not None:
                return self.pace
            return self.seconds / self.steps if self.steps else math.nan
        if metric.kind == "missed":
            known = [recall for recall in self.recalls.get(metric.split, ()) if recall is not None]
            return 1 - sum(known) / len(known) if known else math.nan
        points = self.points(metric)
        if not len(points):
            return math.nan
        if metric.split == "val":
            tail = points[-max(1, math.ceil(VAL_TAIL * len(points))) :, 1]
        else:
            tail = points[points[:, 0] >= (1 - TAIL) * points[-1, 0], 1]
            finite = np.isfinite(tail)
            if finite.mean() >= KEPT and self.stopped != "broken":  # batches that broke and did no harm
                tail = tail[finite]
        value = float(np.mean(tail))
        return value if math.isfinite(value) else math.inf

    def chance(self, metric: Metric) -> float:
        """What is reached without learning anything: the mean of the targets, or every class alike. NaN where that is
        not known."""
        if metric.kind == "squared error":
            return 1.0
        classes = len(self.recalls.get(metric.split, ()))
        if metric.kind == "log loss" and classes:
            return math.log(classes)
        return 1.0 if metric.kind == "missed" else math.nan

    def course(self) -> tuple[str, tuple[tuple[int, float], ...]] | None:
        """The training error of the script, as it is measured batch by batch, at COURSE places of the way."""
        kinds = [kind for kind in KINDS if f"train/{kind}" in self.series]
        if not kinds:
            return None
        kind = max(kinds, key=lambda kind: len(self.series[f"train/{kind}"]))
        rows = self.series[f"train/{kind}"]
        pieces = [piece for piece in np.array_split(rows, min(COURSE, len(rows))) if np.isfinite(piece[:, 1]).all()]
        return kind, tuple((int(piece[-1, 0]), float(piece[:, 1].mean())) for piece in pieces)

    def points(self, metric: Metric) -> Floats:
        """Step and value, one row a step: batches of the same step are averaged by their size."""
        rows = self.series.get(f"{metric.split}/{metric.kind}")
        if rows is None or not len(rows):
            return np.empty((0, 2))
        with np.errstate(all="ignore"):
            steps, place = np.unique(rows[:, 0], return_inverse=True)
            weight = np.bincount(place, rows[:, 3])
            value = np.bincount(place, rows[:, 1] * rows[:, 3]) / np.maximum(weight, 1e-12)
        if metric.kind == "squared error" and self.spread > 0:
            value = value / self.spread
        return np.column_stack([steps, value])


def metric_for(before: Measured, after: Measured, judged: Judged = "error") -> Metric | None:
    """What both arms were measured by: validation where there is one, else the training itself."""
    if judged == "speed":
        return Metric("", "seconds")
    if judged == "symptom":
        return None
    for split in ("val", "train"):
        if judged == "recall" and before.recalls.get(split) and after.recalls.get(split):
            return Metric(split, "missed")
        shared = [k for k in KINDS if f"{split}/{k}" in before.series and f"{split}/{k}" in after.series]
        if shared:
            return Metric(split, max(shared, key=lambda k: len(before.series[f"{split}/{k}"])))
    if set(before.series) == set(after.series) == {"train/loss"}:
        return Metric("train", "loss")
    return None
