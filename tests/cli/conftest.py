"""A stand-in for the engine, so that the command line is tested on its own: sick is what ends far above its best."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from traindx.diagnosis import Curve, Diagnosis, FixProposal, Hypothesis, Observation, RunSummary
from traindx.run import Run
from traindx.signals import Settings


def fake_diagnose(run: Run, settings: Settings | None = None) -> Diagnosis:
    series = next(series for series in run.series.values() if series.meaning.kind == "loss")
    sick = bool(series.values[-1] > 2 * np.nanmin(series.values))
    symptom = Observation("divergence", "present" if sick else "absent", "ends far above its best", (1, run.steps))
    fix = FixProposal("lower-lr", "Lower the learning rate", "lr = 1e-4", "caution")
    cause = Hypothesis("lr-too-high", "learning rate too high", 0.8, ("it left its best",), (), fix)
    return Diagnosis(
        verdict="unhealthy" if sick else "healthy",
        headline=f"classes={settings.classes if settings else None}",
        run=RunSummary(run.source, run.format, run.name, run.steps, tuple(run.series), run.config, series.name),
        symptoms=(symptom, Observation("overfitting-gap", "unknown", "no validation loss")),
        hypotheses=(cause,) if sick else (Hypothesis("healthy", "healthy", 0.9),),
        missing=(), next="Lower the learning rate." if sick else "", version="0.0.0",
        curves=(Curve(series.name, tuple(series.steps[-40:]), tuple(series.values[-40:])),),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("traindx.engine")
    module.diagnose = fake_diagnose  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "traindx.engine", module)


@pytest.fixture
def log(tmp_path: Path) -> Callable[..., Path]:
    """Writes a small CSV log: `log('a.csv')` is healthy, `log('a.csv', sick=True)` is not."""

    def write(
        name: str, *, sick: bool = False, steps: int = 60, start: float = 2.0, metric: str = "train_loss"
    ) -> Path:
        values = [start / (1 + step / 10) + (0.2 * max(step - 40, 0) if sick else 0) for step in range(steps)]
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"step,{metric}\n" + "".join(f"{step},{value:.4f}\n" for step, value in enumerate(values)))
        return path

    return write
