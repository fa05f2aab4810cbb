"""The way in from Python: `traindx.read`, `traindx.diagnose`, `Run.save` and `Run.load`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import traindx
from runs import run_of
from traindx.errors import TraindxError
from traindx.measurements import DecayedWeights, Measured, UnitsOff
from traindx.run import Event, Fact, Run
from traindx.signals import Settings


def _log(path: Path, last: float = 0.4, count: int = 60) -> Path:
    losses = last + (2.3 - last) * np.exp(-np.arange(count) / (count / 8))
    path.write_text("step,train_loss\n" + "".join(f"{step},{loss}\n" for step, loss in enumerate(losses)))
    return path


def _whole_run() -> Run:
    run = run_of(
        {"train_loss": [2.3, float("nan"), float("inf"), 1e-30], "lr": ([0, 5, 9], [0.1, 0.1, 0.01])},
        {"optimizer.lr": 0.1, "optimizer": "Adam"},
        [Event("traceback", "ValueError: no", 3.0)],
        [Fact("dead-units", True, "seen", "fc1", 3.0, 0.7, "activations")],
    )
    run.lost, run.last_lines = ["2 lines could not be read."], ("Traceback", "ValueError: no")
    run.measured = [
        Measured([DecayedWeights(decay=5.0, ratios=(0.1, 0.2), normalised=False, step=40, where="fc")]),
        Measured([DecayedWeights(decay=5.0, ratios=(float("nan"),), normalised=True, step=41)], rank=3),
    ]
    run.probed = [Measured([UnitsOff(layers=("act",), off=(5,), units=(8,), rows=(96,), filters=(False,))], probe="p")]
    return run


def test_reads_and_diagnoses_a_path(tmp_path: Path) -> None:
    path = _log(tmp_path / "log.csv")
    (run,) = traindx.read(path)
    assert len(run.series["train_loss"]) == 60
    assert traindx.diagnose(str(path)) == traindx.diagnose(run)
    assert traindx.diagnose(path).verdict != "unhealthy"


def test_settings_reach_the_diagnosis(tmp_path: Path) -> None:
    path = _log(tmp_path / "log.csv", last=2.29)
    evidence = {one.id: one.evidence for one in traindx.diagnose(path, Settings(classes=10)).symptoms}
    assert "2.3" in evidence["loss-at-chance"]


def test_several_runs_are_refused_with_their_names(tmp_path: Path) -> None:
    _log(tmp_path / "a.csv"), _log(tmp_path / "b.csv", 0.9, 50)
    assert len(traindx.read(tmp_path)) == 2
    with pytest.raises(TraindxError, match=r"2 runs .*a\.csv"):
        traindx.diagnose(tmp_path)


def test_a_missing_path_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TraindxError, match="does not exist"):
        traindx.read(tmp_path / "none")
    with pytest.raises(TraindxError, match="cannot be read"):
        Run.load(tmp_path / "none")


def test_a_saved_run_comes_back_whole(tmp_path: Path) -> None:
    run = _whole_run()
    run.save(tmp_path / "run.json")
    for again in (Run.load(tmp_path / "run.json"), traindx.read(tmp_path / "run.json")[0]):
        assert again.config == run.config | {k: v for k, v in again.config.items() if k.startswith("version.")}
        assert (again.source, again.format, again.lost, again.events) == (run.source, run.format, run.lost, run.events)
        assert again.facts == run.facts
        assert [(one.probe, *one) for one in again.probed] == [(one.probe, *one) for one in run.probed]
        assert again.last_lines == run.last_lines
        for name, series in run.series.items():
            np.testing.assert_array_equal(again.series[name].values, series.values)
            np.testing.assert_array_equal(again.series[name].steps, series.steps)
            assert again.series[name].meaning == series.meaning
        assert [one.rank for one in again.measured] == [0, 3]
        assert again.measured[0].all(DecayedWeights) == run.measured[0].all(DecayedWeights)
        assert traindx.diagnose(again).to_json() == traindx.diagnose(run).to_json()


def test_a_long_series_is_saved_in_lines_that_readers_take(tmp_path: Path) -> None:
    run = run_of({"train_loss": np.linspace(2, 1, 30_000)})
    run.save(tmp_path / "run.json")
    assert len(traindx.read(tmp_path / "run.json")[0].series["train_loss"]) == 30_000


@pytest.mark.parametrize("line", ["{", "[]", '{"series": "x"}', '{"of": "DecayedWeights", "rank": 0, "decay": "much"}'])
def test_a_damaged_line_is_left_out_and_said(tmp_path: Path, line: str) -> None:
    path = tmp_path / "run.json"
    _whole_run().save(path)
    path.write_text(path.read_text() + line + "\n")
    run = Run.load(path)
    assert "1 line of the saved run" in run.lost[-1]
    assert len(run.series["train_loss"]) == 4


def test_another_file_is_no_saved_run(tmp_path: Path) -> None:
    with pytest.raises(TraindxError, match="no run that traindx saved"):
        Run.load(_log(tmp_path / "log.csv"))
