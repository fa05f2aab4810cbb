"""`traindx diagnose`: formats, several runs, exit codes, what goes to stdout and what to stderr."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from traindx.cli import main

Log = Callable[..., Path]


def test_healthy_run_exits_zero_with_a_short_page(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(log("a.csv"))]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0].endswith("HEALTHY")
    assert captured.err == ""


def test_sick_run_exits_one_and_names_the_cause(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(log("a.csv", sick=True))]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[0].endswith("UNHEALTHY")
    assert "lr-too-high" in out
    assert "\x1b" not in out


def test_one_run_is_an_object_and_several_are_a_list(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = str(log("a.csv")), str(log("b.csv", sick=True))
    assert main(["diagnose", one, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "traindx.diagnosis/1"
    assert main(["diagnose", one, two, "--format", "json"]) == 1
    assert [entry["verdict"] for entry in json.loads(capsys.readouterr().out)] == ["healthy", "unhealthy"]


def test_a_directory_gives_a_summary_and_few_pages(
    log: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(6):
        log(f"runs/{number}/metrics.csv", sick=number > 0, start=2.0 + number)
    assert main(["diagnose", str(tmp_path / "runs")]) == 1
    out = capsys.readouterr().out
    assert "5 unhealthy, 0 inconclusive, 1 healthy" in " ".join(out.split())
    assert out.count("UNHEALTHY") == 3
    assert "3 more pages not shown" in out


def test_stdin(log: Log, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(log("a.csv", sick=True).read_bytes())))
    assert main(["diagnose", "-"]) == 1
    assert "<stdin>" in capsys.readouterr().out


def test_usable_paths_are_reported_and_the_others_named(
    log: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junk = tmp_path / "junk.bin"
    junk.write_bytes(bytes(range(256)))
    assert main(["diagnose", str(junk), str(log("a.csv")), str(tmp_path / "nowhere")]) == 0
    captured = capsys.readouterr()
    assert "HEALTHY" in captured.out
    assert "junk.bin" in captured.err
    assert "nowhere does not exist" in captured.err


def test_nothing_usable_exits_two_with_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(tmp_path / "nowhere.csv")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "does not exist" in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--goal", "up"], "--goal"),
        (["--classes", "1"], "--classes"),
        (["--classes", "many"], "--classes"),
        (["--format", "pdf"], "'pdf' is not one of github, "),
        (["--frobnicate"], "--frobnicate"),
        (["--config", "/nowhere/config.yaml"], "/nowhere/config.yaml does not exist"),
        (["-o", "/nowhere/report.md"], "/nowhere does not exist"),
        (["-o", "/"], "is a directory"),
    ],
)
def test_wrong_options_exit_two_and_say_which(
    log: Log, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", str(log("a.csv")), *arguments]) == 2
    captured = capsys.readouterr()
    assert told in captured.err
    assert captured.out == ""


def test_output_file_and_its_ending_choose_the_format(
    log: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(log("a.csv", sick=True))
    assert main(["diagnose", path, "-o", str(tmp_path / "r.json")]) == 1
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "unhealthy"
    assert main(["diagnose", path, "-o", str(tmp_path / "r.md")]) == 1
    assert (tmp_path / "r.md").read_text().startswith("## traindx: UNHEALTHY")
    assert capsys.readouterr().out == ""


def test_settings_reach_the_engine(log: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yaml").write_text("optimizer:\n  lr: 0.5\n")
    path = str(log("a.csv"))
    assert main(["diagnose", path, "--classes", "7", "--config", str(tmp_path / "mine.yaml"), "-f", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["headline"] == "classes=7"
    assert document["run"]["config"]["optimizer.lr"] == 0.5


def test_no_color_and_pipes_are_plain(
    log: Log, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    path = str(log("a.csv", sick=True))
    monkeypatch.delenv("NO_COLOR", raising=False)
    main(["diagnose", path])
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    main(["diagnose", path])
    assert "\x1b[" not in capsys.readouterr().out


def test_hostile_names_never_reach_the_terminal(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    path = log("a\x1b[31m\x07b.csv", sick=True, metric="loss\x1b]0;owned\x07[bold]")
    for format in ("text", "md", "json"):
        main(["diagnose", str(path), "--format", format])
        captured = capsys.readouterr()
        assert not {character for character in captured.out + captured.err if ord(character) < 32} - {"\n"}
