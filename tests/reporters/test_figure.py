"""Figures: thinning that keeps spikes, and pictures of any run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import reporter_samples as samples

from traindx.diagnosis import Observation
from traindx.meaning import meaning_of
from traindx.reporters.figure.thin import envelope, marks, smoothed
from traindx.run import Axis, Floats, Run, Series
from traindx.signals import Settings


def series(name: str, steps: Floats, values: Floats, axis: Axis = "step") -> Series:
    return Series(name, meaning_of(name), np.asarray(steps, float), np.asarray(values, float), axis)


def run_of(*parts: Series) -> Run:
    return Run("log.csv", "csv", series={part.name: part for part in parts})


def test_envelope_keeps_a_single_spike() -> None:
    values = np.ones(1_000_000)
    values[654_321] = 99.0
    values[10] = np.nan
    x, y = envelope(np.arange(1_000_000.0), values, pixels=800)
    assert len(x) == len(y) <= 1600
    assert np.nanmax(y) == 99.0
    assert abs(x[np.nanargmax(y)] - 654_321) < 1_000_000 / 800


def test_envelope_leaves_gaps() -> None:
    values = np.ones(100_000)
    values[40_000:60_000] = np.inf
    _, y = envelope(np.arange(100_000.0), values, pixels=100)
    assert np.isnan(y[80:120]).all()
    assert np.isfinite(y[:78]).all()


def test_smoothing_ignores_a_spike() -> None:
    values = np.ones(1000)
    values[500] = 1e9
    calm = smoothed(np.arange(1000.0), values)
    assert calm is not None
    assert np.all(calm[1] == 1)
    assert smoothed(np.arange(5.0), np.ones(5)) is None


def test_marks_are_few_and_start_at_the_first() -> None:
    values = np.ones(10_000)
    values[4000:] = np.nan
    places = marks(np.arange(10_000.0), values)
    assert places[0] == 4000
    assert len(places) < 60


@pytest.mark.parametrize("count", [1, 2, 40, 20_000])
def test_any_length_is_drawn(count: int, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    from traindx.reporters.figure import save_figures

    steps = np.arange(float(count))
    loss = 1 / (1 + steps)
    loss[count // 2] = np.nan
    run = run_of(
        series("train_loss", steps, loss),
        series("val_loss", np.arange(1.0, 4.0), np.array([3.0, 2.0, 1.0]), "epoch"),
        series("lr", steps, np.full(count, 1e-3)),
        series("grad_norm", steps, np.exp(steps / count)),
        series("val_accuracy", np.arange(1.0, 4.0), np.array([0.1, 0.5, 0.6]), "epoch"),
    )
    present = (
        Observation("divergence", "present", "x", (0, count)),
        Observation("loss-spike", "present", "x", (count // 2, count // 2)),
        Observation("still-improving", "present", "x"),
    )
    save_figures([(run, samples.unhealthy(symptoms=present))], tmp_path / "a.png", Settings())
    picture = imread(tmp_path / "a.png")[:, :, :3]
    assert picture.shape[1] > 1000
    assert 0.5 < (picture.min(axis=2) > 0.99).mean() < 0.99  # mostly paper, but not blank


def test_odd_names_and_empty_runs_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from traindx.reporters.figure import save_figures

    steps = np.arange(50.0)
    odd = run_of(series("$\\frac{loss", steps, -steps), series("_loss\x1b[31m损", steps, steps))
    save_figures([(odd, samples.unhealthy())], tmp_path / "odd.png", Settings())
    save_figures([(Run("x", "y"), samples.inconclusive())], tmp_path / "empty.png", Settings())
    save_figures([(odd, samples.healthy()), (Run("x", "y"), samples.healthy())], tmp_path / "two.png", Settings())
    assert (tmp_path / "two-2.png").stat().st_size > 1000
