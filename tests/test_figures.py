"""The figures every page carries: data, gap, gradient norms."""

from __future__ import annotations

import numpy as np
import pytest

from runs import run_of
from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.measurements import Measured, PassesOverData
from traindx.reporters import reporters
from traindx.symptoms.recipes import falling, flat


def test_data_and_steps_per_epoch() -> None:
    run = run_of({"train_loss": falling(200, 2.3, 0.3)}, {"num_train_samples": 5000, "batch_size": 64})
    assert diagnose(run).figures[0] == "Data: 5000 training samples, 79 steps per epoch."
    measured = Measured()
    measured.add(PassesOverData(step=200, batches=32, samples=2048, updates=200, first_loss=2.3, last_loss=0.3))
    run.measured = [measured]
    assert diagnose(run).figures[0] == "Data: 2048 training samples, 32 steps per epoch."


def test_the_gap_in_points_and_in_percent() -> None:
    series = {
        "train_loss": falling(30, 2.3, 0.02), "val_loss": flat(30, 1.7, 0.001),
        "train_accuracy": flat(30, 0.99, 0.0), "val_accuracy": flat(30, 0.69, 0.0),
    }  # fmt: skip
    figures = " ".join(diagnose(run_of(series)).figures)
    assert "val_accuracy 69 % (medians of the last 3 evaluations): 30 points lower" in figures
    assert "times as high" in figures
    losses = {"train_loss": flat(30, 1.0, 0.0), "val_loss": flat(30, 1.2, 0.0)}
    assert ": 0.2 higher (+20 %)." in " ".join(diagnose(run_of(losses)).figures)
    assert ": almost equal." in " ".join(diagnose(run_of({**losses, "val_loss": flat(30, 1.002, 0.0)})).figures)
    percent = {**series, "train_accuracy": flat(30, 99.0, 0.0), "val_accuracy": flat(30, 69.0, 0.0)}
    assert ": 30 points" in " ".join(diagnose(run_of(percent)).figures)


@pytest.mark.parametrize("names", [("train/nll_loss", "val/rmse_loss"), ("loss", "val/NME")])
def test_losses_of_two_formulas_or_units_have_no_gap(names: tuple[str, str]) -> None:
    series = dict(zip(names, (flat(30, 0.019, 0.0), flat(30, 0.0175, 0.0)), strict=True))
    assert not any(text.startswith("Gap") for text in diagnose(run_of(series)).figures)


def test_a_score_that_is_no_share_has_no_percent() -> None:
    series = {"train_loss": falling(30, 2.3, 0.5), "train_r2": flat(30, 0.63, 0.0), "val_r2": flat(30, 0.69, 0.0)}
    assert "val_r2 0.69 (medians of the last 3 evaluations): 0.06 apart." in " ".join(diagnose(run_of(series)).figures)


def test_the_spread_of_gradient_norms_and_those_above_100() -> None:
    norms = np.array([1.0, 2.0, 3.0, 250.0])
    page = diagnose(run_of({"train_loss": falling(4, 2.3, 0.3), "grad_norm": norms}))
    assert "smallest 1, largest 250; 1 of 4 above 100." in " ".join(page.figures)


def test_every_format_shows_figures_and_answers() -> None:
    page = diagnose(run_of({"train_loss": falling(200, 2.3, 0.3)}, {"num_train_samples": 5000, "batch_size": 64}))
    page = Diagnosis.from_json(page.to_json() | {"asked": [{"question": "Why?", "answer": "so"}]})
    for name in ("text", "md", "json"):
        shown = reporters()[name].render([page], color=False, width=100)
        assert "5000 training samples, 79 steps per epoch" in shown
        assert "Why?" in shown or name == "text"  # a healthy page in the terminal stays short
    assert page.asked == (("Why?", "so"),)
