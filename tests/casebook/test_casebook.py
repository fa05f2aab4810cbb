"""The case book: what it remembers, what it teaches, and that it never stands in the way of a diagnosis."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from traindx import casebook
from traindx.casebook import consulting, store
from traindx.casebook.case import YOURS, Case, Trial, case_of, with_trial
from traindx.casebook.places import book_path
from traindx.casebook.prior import MAX_LOG_ODDS, counts, prior_hints
from traindx.casebook.similar import likeness, similar
from traindx.casebook.store import CaseBook
from traindx.cli import main
from traindx.engine import diagnose
from traindx.readers.find import find_runs

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CaseBook:
    path = tmp_path / "book" / "cases.sqlite"
    monkeypatch.setenv("TRAINDX_CASES", str(path))
    monkeypatch.setattr(consulting, "_complained", False)
    return CaseBook(path)


@pytest.fixture
def sick(tmp_path: Path) -> Callable[[str], Path]:
    """Copies of the sick example under names of their own."""

    def copy(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for file in (EXAMPLES / "sick").iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        return folder

    return copy


def a_case(name: str = "a", present: tuple[str, ...] = ("divergence",), **changes: object) -> Case:
    case = Case(
        "2026-11-01T10:00:00+00:00", f"/runs/{name}/log.csv", "", "diagnose", "unhealthy", "It diverged.", 100, present,
        ("overfitting-gap",), (("lr-too-high", 0.4), ("dead-relu", 0.1)), {"lr": 0.4, "optimizer": "SGD"},
    )  # fmt: skip
    return replace(case, **changes)  # type: ignore[arg-type]


def test_a_diagnosis_is_remembered_once_however_often_it_is_made(book: CaseBook, sick: Callable[[str], Path]) -> None:
    path = str(sick("a"))
    assert main(["diagnose", path]) == 1
    assert main(["diagnose", path]) == 1
    (case,) = book.cases()
    assert case.seen == 2
    assert case.made_by == "diagnose"
    assert "divergence" in case.present
    assert case.settings["lr"] == 0.4


def test_a_confirmed_case_stands_beside_the_next_diagnosis_and_shifts_the_prior_visibly(
    book: CaseBook, sick: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = sick("a"), sick("b")
    main(["diagnose", str(first)])
    assert "Similar" not in capsys.readouterr().out
    assert main(["cases", "confirm", "1", "exploding-gradients", "--note", "depth"]) == 0
    main(["diagnose", str(second), "-f", "json"])
    told = json.loads(capsys.readouterr().out)
    confidence = {h["cause"]: h["confidence"] for h in told["hypotheses"]}
    bare = {h.cause: h.confidence for h in diagnose(find_runs([second])[0]).hypotheses}
    assert confidence["exploding-gradients"] > bare["exploding-gradients"]
    assert any("Case book: confirmed cases shift exploding-gradients" in note for note in told["notes"])
    assert any("Similar (100 %): case 1" in note and "confirmed exploding-gradients" in note for note in told["notes"])

    main(["cases", "--no-prior"])
    main(["diagnose", str(second), "-f", "json"])
    told = json.loads(capsys.readouterr().out)
    assert {h["cause"]: h["confidence"] for h in told["hypotheses"]} == pytest.approx(bare, abs=1e-4)
    main(["cases", "--prior"])
    main(["cases", "reject", "1"])
    main(["diagnose", str(second), "-f", "json"])
    told = json.loads(capsys.readouterr().out)
    assert {h["cause"]: h["confidence"] for h in told["hypotheses"]} == pytest.approx(bare, abs=1e-4)


def test_confirmed_faults_never_make_a_healthy_run_ill(book: CaseBook) -> None:
    for number in range(30):
        book.remember(a_case(str(number), status="confirmed", cause="dead-relu"))
    run = find_runs([EXAMPLES / "healthy"])[0]
    page = casebook.consult(diagnose(run), "diagnose", lambda hints: diagnose(run, hinted=hints))
    assert page == diagnose(run)


def test_the_shift_grows_with_cases_and_is_capped() -> None:
    shifts = [
        prior_hints([a_case(str(n), status="confirmed", cause="dead-relu") for n in range(count)])[0].log_odds
        for count in (1, 3, 100)
    ]
    assert 0 < shifts[0] < shifts[1] <= shifts[2] == MAX_LOG_ODDS


def test_one_script_diagnosed_again_and_again_is_one_case() -> None:
    again = [a_case("a", status="confirmed", cause="dead-relu", steps=steps) for steps in (10, 20, 30)]
    assert counts(again) == {"dead-relu": 1}
    assert counts([*again, a_case("b", status="confirmed", cause="dead-relu")]) == {"dead-relu": 2}


def test_a_healthy_run_has_no_likeliest_fault_to_confirm(book: CaseBook) -> None:
    number = book.remember(a_case("well", verdict="healthy")).id
    assert main(["cases", "confirm", str(number)]) == 0
    assert book.get(number).cause == "healthy"


def test_ones_own_changes_are_kept_beside_each_other() -> None:
    case = a_case()
    for effect in ("lr=1e-4: 1 → 2", "clip=1.0: 1 → 0.5", "lr=1e-4: 1 → 3"):
        case = with_trial(case, Trial(YOURS, "", "no-effect", effect))
    assert [trial.effect for trial in case.trials] == ["clip=1.0: 1 → 0.5", "lr=1e-4: 1 → 3"]


def test_a_trial_is_recorded_and_one_that_helped_counts(book: CaseBook, sick: Callable[[str], Path]) -> None:
    page = diagnose(find_runs([sick("a")])[0])
    number = casebook.record_trial(
        page, fix="lower-lr", cause="lr-too-high", verdict="helped", effect="val_loss 16 → 0.02 ± 0.01"
    )
    assert number == 1
    assert book.get(1).proven == "lr-too-high"
    assert consulting.described(book.get(1)).endswith("lower-lr helped")
    casebook.record_trial(page, fix="lower-lr", cause="lr-too-high", verdict="no-effect")
    assert len(book.get(1).trials) == 1
    assert book.get(1).proven == ""


def test_similar_cases_share_symptoms_and_settings() -> None:
    new = a_case("new", ("divergence", "loss-spike"))
    same = a_case("same", ("divergence", "loss-spike"))
    other = a_case("other", ("overfitting-gap",), absent=("divergence", "loss-spike"))
    elsewhere = replace(same, source="/runs/elsewhere", settings={"lr": 1e-5, "optimizer": "Adam"})
    assert likeness(new, same) == 1.0
    assert likeness(new, same) > likeness(new, elsewhere) > likeness(new, other)
    assert similar(new, [other, elsewhere, same, new])[0].case.source == same.source


def test_export_and_import_carry_what_was_said_and_double_nothing(
    book: CaseBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.remember(a_case("a", status="confirmed", cause="lr-too-high", note="it was the rate"))
    book.remember(a_case("b", trials=(Trial("lower-lr", "lr-too-high", "helped", "0.5 → 0.3"),)))
    export = tmp_path / "team.jsonl"
    assert main(["cases", "export", str(export)]) == 0
    assert "/runs/" not in export.read_text()
    monkeypatch.setenv("TRAINDX_CASES", str(tmp_path / "other.sqlite"))
    for _ in range(2):
        assert main(["cases", "import", str(export)]) == 0
    taken = CaseBook(tmp_path / "other.sqlite").cases()
    assert len(taken) == 2
    assert {case.proven for case in taken} == {"lr-too-high"}
    assert taken[-1].note == "it was the rate"
    assert taken[0].origin == "team.jsonl"


@pytest.mark.parametrize(
    "content",
    [
        "", "not json", "[1, 2]", '{"schema": "traindx.case/9"}', "[" * 100_000,
        json.dumps({**a_case().to_json(), "cause": "x'; DROP TABLE cases; --"}),
        json.dumps({**a_case().to_json(), "headline": "another"}),
        json.dumps({**a_case().to_json(), "present": ["a"] * 9999}),
        json.dumps({**a_case().to_json(), "steps": "many"}),
        json.dumps({**a_case().to_json(), "settings": {"__class__": 1}}),
        json.dumps(a_case().to_json()) + "\n\x00\xff",
    ],
)  # fmt: skip
def test_a_file_that_is_no_export_is_refused_whole(
    book: CaseBook, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    path = tmp_path / "hostile.jsonl"
    path.write_text(content, encoding="latin-1")
    assert main(["cases", "import", str(path)]) == 2
    told = capsys.readouterr().err
    assert "Nothing was imported" in told
    assert len(told.splitlines()) == 1
    assert not book.exists()


def test_a_corrupt_book_costs_one_line(
    book: CaseBook, sick: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    book.path.parent.mkdir()
    book.path.write_bytes(b"this is no database" * 1000)
    assert main(["diagnose", str(sick("a")), str(sick("b"))]) == 1
    out, err = capsys.readouterr()
    assert "UNHEALTHY" in out
    assert err.count("case book") == 1
    assert main(["cases"]) == 2
    assert "cannot be used" in capsys.readouterr().err


def test_a_full_disk_is_told_once_and_by_the_recorder_where_there_is_one(
    book: CaseBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    book.path.parent.mkdir()
    book.path.touch()  # what sqlite leaves behind when there is no room for the first page
    page = diagnose(find_runs([EXAMPLES / "sick"])[0])
    told: list[str] = []
    monkeypatch.setattr(CaseBook, "remember", full)
    monkeypatch.setattr(consulting, "ROOM", float("inf"))
    assert consulting.consult(page, "run", lambda _: page, told.append) is page
    assert told == []
    assert consulting.consult(page, "diagnose", lambda _: page, told.append) is page
    assert len(told) == 1


def test_a_file_that_a_full_disk_left_empty_becomes_a_book(book: CaseBook, sick: Callable[[str], Path]) -> None:
    book.path.parent.mkdir()
    book.path.touch()
    assert main(["diagnose", str(sick("a"))]) == 1
    assert len(book.cases()) == 1


def test_a_locked_book_costs_one_line_and_little_time(
    book: CaseBook, sick: Callable[[str], Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    book.create()
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    holder = sqlite3.connect(book.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert main(["diagnose", str(sick("a"))]) == 1
    finally:
        holder.close()
    out, err = capsys.readouterr()
    assert "UNHEALTHY" in out
    assert "locked" in err


def test_a_home_that_cannot_be_written_to_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sick: Callable[[str], Path]
) -> None:
    monkeypatch.delenv("TRAINDX_CASES")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/proc/nowhere")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(["diagnose", str(sick("a"))]) == 1
    assert "case book" not in capsys.readouterr().err


def test_where_the_book_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRAINDX_CASES")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    project = tmp_path / "project" / "deep"
    project.mkdir(parents=True)
    monkeypatch.chdir(project)
    assert book_path() == tmp_path / "data" / "traindx" / "cases.sqlite"
    monkeypatch.setenv("CI", "true")
    assert book_path() is None
    monkeypatch.chdir(project.parent)
    assert main(["cases", "init"]) == 0
    monkeypatch.chdir(project)
    assert book_path() == project.parent / ".traindx" / "cases.sqlite"
    (project.parent / ".traindx" / "config.toml").write_text('cases = "off"\n')
    assert book_path() is None
    assert main(["cases"]) == 2
    monkeypatch.setenv("TRAINDX_CASES", "off")
    assert book_path() is None


def test_the_book_stays_bounded(book: CaseBook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_CASES", 50)
    kept = book.remember(a_case("kept", status="confirmed", cause="lr-too-high"))
    for number in range(220):
        book.remember(a_case(f"r{number}", steps=number))
    cases = book.cases(most=1000)
    assert len(cases) < 110
    assert kept.id in {case.id for case in cases}


def test_several_processes_write_at_once(book: CaseBook) -> None:
    program = (
        "import sys; from dataclasses import replace; from pathlib import Path; from traindx.casebook.store import "
        "CaseBook;"
        "from traindx.casebook.case import Case\n"
        "book, who = CaseBook(Path(sys.argv[1])), sys.argv[2]\n"
        "for n in range(25):\n"
        "    book.remember(Case('2026-11-01T10:00:00+00:00', f'/runs/{who}/{n}', '', 'diagnose', 'unhealthy', 'x', n, "
        "(), (), (), {}))\n"
    )
    crew = [subprocess.Popen([sys.executable, "-c", program, str(book.path), str(who)]) for who in range(4)]
    assert [worker.wait(60) for worker in crew] == [0] * 4
    assert len(book.cases(most=1000)) == 100


def test_show_search_note_similar_and_forget(
    book: CaseBook, sick: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = sick("first")
    main(["diagnose", str(path)])
    main(["cases", "note", "1", "seen", "on", "Monday"])
    capsys.readouterr()
    assert main(["cases", "search", "monday", "divergence"]) == 0
    assert "lr-too-high" in capsys.readouterr().out
    assert main(["cases", "show", "1"]) == 0
    assert "seen on Monday" in capsys.readouterr().out
    assert main(["cases", "similar", str(sick("second"))]) == 0
    assert "100 %" in capsys.readouterr().out
    assert main(["cases", "forget", "1"]) == 0
    assert main(["cases", "show", "1"]) == 2
    assert "no case 1" in capsys.readouterr().err
    assert main(["cases", "confirm", "1", "lr-too-high"]) == 2


def test_a_case_survives_its_journey() -> None:
    run = find_runs([EXAMPLES / "sick"])[0]
    case = case_of(diagnose(run), "diagnose")
    again = Case.from_json(json.loads(json.dumps(case.to_json())))
    assert again.uid == case.uid
    assert again.present == case.present
    assert again.settings == dict(case.settings)
