"""Work in proportion to the input: bombs, special files, and one bad file among good ones."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from traindx.checkpoints.find import open_checkpoint
from traindx.cli import main
from traindx.errors import TraindxError
from traindx.readers.find import find_runs
from traindx.readers.formats import text
from traindx.readers.settings import load_settings
from traindx.readers.tables.cells import number_of

LOG = "".join(f"step {step} loss {2 - step / 50:.4f}\n" for step in range(50))


@contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


@pytest.mark.parametrize("make", ["pipe", "/dev/zero"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, make: str) -> None:
    path = Path(make) if make.startswith("/") else tmp_path / make
    if not path.exists():
        os.mkfifo(path)
    for use in (lambda: find_runs([path]), lambda: open_checkpoint(path)):
        with within(2), pytest.raises(TraindxError, match=r"named pipe|device"):
            use()
    assert load_settings(path) == {}


def test_a_gzip_bomb_is_left_where_it_unfolds(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    with gzip.open(path, "wb") as file:
        file.write(LOG.encode())
        for _ in range(90):
            file.write(b"x" * (1 << 20))
    with within(20):
        (run,) = find_runs([path])
    assert "unpacks to more than" in run.lost[0]
    assert len(run.of("loss")[0]) == 50


def test_large_yaml_beside_a_log_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(LOG)
    (tmp_path / "config.yaml").write_text("".join(f"a{place}: [1, 2, {{b: {place}}}]\n" for place in range(120_000)))
    with within(5):
        (run,) = find_runs([tmp_path / "train.log"])
    assert len(run.of("loss")[0]) == 50


def test_keys_that_collide_are_refused(tmp_path: Path) -> None:
    collide = {place * ((1 << 61) - 1): 0 for place in range(1, 300)}
    path = tmp_path / "weights.pkl"
    path.write_bytes(pickle.dumps({"state_dict": collide}, protocol=2))
    with within(2), pytest.raises(TraindxError, match="a key that is no count"):
        open_checkpoint(path)


def test_each_file_is_its_own_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("good", "bad", "worse"):
        (tmp_path / name).mkdir()
    (tmp_path / "good" / "train.log").write_text(LOG)
    (tmp_path / "bad" / "trainer_state.json").write_text('{"log_history": [{"loss": 1.0, "step": 1}, {"lo')
    record = {"k": "meta", "schema": "traindx.recording/2", "argv": ["train.py"], "world": "many"}
    rows = '{"k": "rows", "names": [[]], "rows": [[0, 1]]}'
    (tmp_path / "worse" / "rank-0.jsonl").write_text("\n".join([json.dumps(record), rows, ""]))
    assert main(["diagnose", str(tmp_path)]) in (0, 1)
    assert "train.log" in capsys.readouterr().out
    monkeypatch.setattr(text, "blocks", lambda source: 1 / 0)
    assert main(["diagnose", str(tmp_path / "good")]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cell", "number"), [("0,760", 0.76), ("1,234.5", 1234.5), ("12,345", 12345.0), ("٣", 3.0), ("²", None)]
)
def test_cells_of_other_customs(cell: str, number: float | None) -> None:
    assert number_of(cell) == number
