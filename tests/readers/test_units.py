"""A tree cut into units gives the runs that looking at everything at once gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindx.fleet import compare
from traindx.readers.find import find_runs
from traindx.readers.units import runs_of, units_in

GOLDEN = Path(__file__).parents[1] / "golden"
TREES = (
    "dvclive/dvclive", "lightning/lightning_logs", "mmengine/by_epoch", "tensorboard/keras", "tensorboard/torch",
    "transformers/good", "wandb/finished",
)  # fmt: skip


@pytest.mark.parametrize("tree", TREES)
def test_the_same_runs_in_pieces_as_at_once(tree: str) -> None:
    whole = {(run.source, run.name) for run in find_runs([GOLDEN / tree])}
    pieces = {(run.source, run.name) for unit in units_in([GOLDEN / tree]) for run in runs_of(unit)[0]}
    assert pieces == whole


def test_every_mlflow_run_is_a_unit_of_its_own() -> None:
    runs = {run.name for unit in units_in([GOLDEN / "mlflow" / "mlruns"]) for run in runs_of(unit)[0]}
    assert runs == {"baseline", "broken"}  # and one that was deleted


def test_a_folder_full_of_logs_is_a_folder_of_runs(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"run{number}.csv").write_text(
            "step,loss\n" + "".join(f"{i},{number + 1 / (i + 1)}\n" for i in range(20))
        )
    units = units_in([tmp_path])
    assert len(units) == 30
    assert sum(len(runs_of(unit)[0]) for unit in units) == 30


def test_states_and_events_of_one_trainer_are_one_run() -> None:
    """Hugging Face's Trainer writes its history twice: in every checkpoint, and as events in a folder named after the
    time."""
    outputs = Path(__file__).parents[1] / "golden" / "transformers" / "outputs"
    for paths in ([outputs], [outputs / "sound", outputs / "sick"]):
        found = {unit.folder.name: runs_of(unit)[0] for unit in units_in(paths)}
        assert {name: len(runs) for name, runs in found.items()} == {"sound": 1, "sick": 1}
    comparison = compare([outputs / "sound", outputs / "sick"])
    assert "0.192 → 1.08" in comparison.text()


def test_a_recording_is_one_unit_whatever_lies_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "train.traindx"
    (folder / "source").mkdir(parents=True)
    (folder / "source" / "train.py").write_text("loss = 1.0\n")
    for rank in range(13):
        (folder / f"rank-{rank}.jsonl").write_text("{}\n")
    assert [unit.label for unit in units_in([tmp_path])] == [str(folder)]
