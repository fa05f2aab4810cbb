"""Damaged, hostile and senseless input, thrown at every reader: no traceback, no hang, no silent 'healthy'."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading import GOLDEN
from traindx.engine import diagnose
from traindx.errors import TraindxError
from traindx.readers import readers
from traindx.readers.base import Reader
from traindx.readers.binary.sqlite_store import rows_of
from traindx.readers.find import find_runs
from traindx.readers.source import Source
from traindx.readers.units import runs_of, units_in

FILES = sorted(
    path
    for path in GOLDEN.rglob("*")
    if path.is_file() and "make" not in path.parts and 200 < path.stat().st_size < 100_000
)
SAMPLES = {
    "csv": b"epoch,train_loss,val_loss\n"
    + b"".join(b"%d,%.4f,%.4f\n" % (i, 2 / (i + 1), 2.2 / (i + 1)) for i in range(40)),
    "decimal commas": b"epoch;loss;val_loss\n"
    + b"".join(b"%d;%d,%04d;%d,%04d\n" % (i, 2, 9000 - i, 2, 9500 - i) for i in range(40)),
    "jsonl": b"".join(b'{"step": %d, "loss": %.4f}\n' % (i, 2 / (i + 1)) for i in range(40)),
    "text": b"".join(b"Epoch %d/40 loss: %.4f - val_loss: %.4f\n" % (i, 2 / (i + 1), 2.2 / (i + 1)) for i in range(40)),
    "python dicts": b"".join(
        b"{'loss': '%.4f', 'learning_rate': '1e-4', 'epoch': '%.2f'}\n" % (2 / (i + 1), i / 9) for i in range(40)
    ),
    "tqdm": b"\r".join(
        b"%3d%%|##   | %d/100 [00:01<00:09, 9.9it/s, loss=%.3f]" % (i, i, 2 / (i + 1)) for i in range(100)
    ),
}

Mutation = Callable[[bytes, random.Random], bytes]


def truncated(data: bytes, dice: random.Random) -> bytes:
    return data[: dice.randrange(len(data))]


def flipped(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(dice.choice([1, 3, 30])):
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def stuffed(data: bytes, dice: random.Random) -> bytes:
    place = dice.randrange(len(data))
    junk = dice.choice(
        [b"\x00" * 50, b"\xff\xfe\xfd", b"\r\r\n", b"nan,-nan,inf,", b"\x1b[31m", b"A" * 300_000, "λ✓".encode()]
    )
    return data[:place] + junk + data[place:]


def shuffled(data: bytes, dice: random.Random) -> bytes:
    lines = data.split(b"\n")
    dice.shuffle(lines)
    return b"\n".join(lines)


def doubled(data: bytes, dice: random.Random) -> bytes:
    return data + data[dice.randrange(len(data)) :]


def recoded(data: bytes, dice: random.Random) -> bytes:
    return data.decode("latin-1").encode(dice.choice(["utf-16", "utf-16-be", "utf-8-sig", "cp037"]), errors="ignore")


MUTATIONS: list[Mutation] = [truncated, flipped, stuffed, shuffled, doubled, recoded]


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutation: mutation.__name__)
@pytest.mark.parametrize("reader", readers(), ids=lambda reader: reader.name)
def test_every_reader_survives_every_damage(reader: Reader, mutate: Mutation, tmp_path: Path) -> None:
    """Also content that the reader would never be given: its own sniff may be fooled by the next file."""
    dice = random.Random(f"{reader.name} {mutate.__name__}")
    path = tmp_path / "log"
    drawn = dice.sample([*SAMPLES.values()], 5)  # six kinds of damage and forty readers see each of them
    for data in [*drawn, *(path.read_bytes() for path in dice.sample(FILES, 2))]:
        path.write_bytes(mutate(data, dice))
        source = Source(path)
        assert 0.0 <= reader.sniff(source) <= 1.0
        try:
            for run in reader.read(source):
                diagnose(run)
        except TraindxError as error:
            assert error.message


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(GOLDEN)))
def test_damaged_golden_files_are_read_as_far_as_they_go(path: Path, tmp_path: Path) -> None:
    dice = random.Random(str(path.relative_to(GOLDEN)))
    copy = tmp_path / path.name
    for mutate in (truncated, flipped, stuffed):
        copy.write_bytes(mutate(path.read_bytes(), dice))
        try:
            for run in find_runs([copy]):
                diagnose(run)
        except TraindxError as error:
            assert error.message
            assert error.hint


@given(st.binary(max_size=4000))
@settings(max_examples=40)
def test_random_bytes_are_never_healthy(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("random") / "file"
    path.write_bytes(data)
    try:
        verdicts = {diagnose(run).verdict for run in find_runs([path])}
    except TraindxError:
        return
    assert "healthy" not in verdicts


@given(st.text(alphabet="lossepochtrain :=,.0123456789-naif|[]{}\"'\n\t\r", max_size=600))
@settings(max_examples=120)
def test_text_that_almost_looks_like_a_log(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("almost") / "file"
    path.write_text(text)
    try:
        for run in find_runs([path]):
            diagnose(run)
    except TraindxError as error:
        assert error.hint


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_themselves_are_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(SAMPLES[name])
    (run,) = find_runs([path])
    assert len(run.of("loss")[0]) >= 35


def test_binary_without_a_format_says_what_was_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(random.Random(0).randbytes(5000))
    with pytest.raises(TraindxError, match="looked for") as caught:
        find_runs([path])
    assert "binary data" in caught.value.message


ODD_ROWS = {
    "a name that is no Unicode.jsonl": [f'{{"step": {i}, "loss": {1 / (i + 1)}, "a\\ud800": {i}}}' for i in range(40)],
    "differences too large.jsonl": [
        f'{{"step": {i}, "loss": {1 / (i + 1)}, "b": {1e308 if i % 2 else -1e308}}}' for i in range(40)
    ],
    "counters without an end.csv": [
        "iter,step,loss",
        *(f"{'inf' if i > 3 else i},inf,{1 / (i + 1)}" for i in range(40)),
    ],
}


@pytest.mark.parametrize("name", ODD_ROWS)
@pytest.mark.filterwarnings("error")
def test_names_and_numbers_that_nobody_expects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINDX_DEBUG", "1")  # a fault of the reader comes through
    (tmp_path / name).write_text("\n".join(ODD_ROWS[name]))
    (run,) = find_runs([tmp_path / name])
    assert len(run.series["loss"]) == 40
    diagnose(run)


def test_a_ruined_log_in_a_directory_is_named_and_takes_no_other_along(tmp_path: Path) -> None:
    for number in range(5):
        rows = "".join(f"step {step} loss {(2 + number) * 0.98**step + 0.1:.4f}\n" for step in range(60))
        (tmp_path / f"run{number}.log").write_text(rows)
    whole = bytearray((GOLDEN / "trackio" / "golden.db").read_bytes())
    whole[4096:9000] = b"\xff" * 4904
    ruined = {"trackio.db": bytes(whole[:50_000]), "events.out.tfevents.1.host.1.0": b"\x18" + bytes(29)}
    for name, content in ruined.items():
        (tmp_path / name).write_bytes(content)
    said: list[str] = []
    assert len(find_runs([tmp_path], tell=said.append)) == 5
    assert sorted(Path(sentence.split(" is ")[0]).name for sentence in said) == sorted(ruined)
    found = [runs_of(unit) for unit in units_in([tmp_path])]
    assert sum(len(runs) for runs, _ in found) == 5
    assert sum(len(problems) for _, problems in found) == 2
    for number in range(5):
        (tmp_path / f"run{number}.log").unlink()
    with pytest.raises(TraindxError, match="damaged"):
        find_runs([tmp_path])


def test_a_page_that_asks_for_all_memory_is_stepped_over() -> None:
    class Damaged(sqlite3.Connection):
        refused = 2

        def execute(self, query: str, values: tuple[int, ...] = ()) -> sqlite3.Cursor:  # type: ignore[override]
            self.refused -= 1
            if self.refused >= 0:
                raise MemoryError  # what sqlite says of a length beyond reason
            return super().execute(query, values)

    with sqlite3.connect(":memory:", factory=Damaged) as database:
        database.executescript("CREATE TABLE t (v REAL); INSERT INTO t VALUES (1), (2), (3), (4), (5);")
        lost: list[str] = []
        assert [row[0] for row in rows_of(database, "t", ["v"], {"v"}, lost)] == [3, 4, 5]
    database.close()
    assert len(lost) == 1


@pytest.mark.parametrize("size", [10**400, -(10**400)], ids=["huge", "far below zero"])
def test_a_setting_of_hundreds_of_digits_is_none(tmp_path: Path, size: int) -> None:
    history = [{"step": step, "loss": 2 / (step + 1)} for step in range(40)]
    state = {"log_history": history, "global_step": 10**401, "max_steps": 10**400, "train_batch_size": size}
    (tmp_path / "trainer_state.json").write_text(json.dumps(state))
    (run,) = find_runs([tmp_path / "trainer_state.json"])
    assert run.config["train_batch_size"] == float(size > 0 or -1) * float("inf")
    assert [event.kind for event in run.events] == ["finished"]
    assert diagnose(run).verdict in ("healthy", "inconclusive", "unhealthy")


@pytest.mark.filterwarnings("error")
def test_steps_near_the_largest_number_are_diagnosed(tmp_path: Path) -> None:
    rows = [f"{1.7e308 - row * 1e292},{2 / (row + 1)},{2.2 / (row + 1)}" for row in range(40)][::-1]
    (tmp_path / "log.csv").write_text("step,train_loss,val_loss\n" + "\n".join(rows))
    (run,) = find_runs([tmp_path / "log.csv"])
    diagnose(run)


def test_a_directory_of_one_file_is_that_file(tmp_path: Path) -> None:
    row = """ Epoch   gpu_mem       box       obj       cls    labels  img_size
      1/99     2.64G       nan       nan       nan         4       416: 100%|####| 7/7 [00:15<00:00,  2.27s/it]
               Class     Images     Labels          P          R     mAP@.5 mAP@.5:.95: 100%|####| 1/1 [00:01<00:00]
                 all         14          0          0          0          0          0"""
    (tmp_path / "paste.txt").write_text(row)
    (run,) = find_runs([tmp_path])
    assert any(o.id == "nonfinite-loss" and o.state == "present" for o in diagnose(run).symptoms)
    (tmp_path / "paste.txt").write_text("Nothing was trained here.")
    with pytest.raises(TraindxError, match="holds no training log: files looked through: 1"):
        find_runs([tmp_path])
