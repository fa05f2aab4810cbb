"""Help with examples that are real, completion that a shell can use, and a doctor that finds what is wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from traindx.cli import app, doctor, main
from traindx.cli.manual import EXAMPLES, GROUPS

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_shows_examples_whose_options_exist(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert COMMANDS[name].help
    assert "Examples:" in shown
    known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    for line in EXAMPLES[name]:
        assert line in shown
        words = line.partition(f"traindx {name}")[2].split("   ")[0].split()
        own = words[: next((place for place, word in enumerate(words) if word.endswith(".py") or word == "--"), None)]
        options = {word for word in own if word.startswith("--") and word not in ("--", "--help")}
        assert options <= known, line


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        (["diagnose"], "diagnose [OPTIONS] PATH…"), (["run"], "run [OPTIONS] SCRIPT ARGS…"),
        (["fix"], "fix [OPTIONS] [SCRIPT ARGS…]"),
        (["compare"], "compare [OPTIONS] RUN… | DIR"), (["serve"], "serve [OPTIONS] [DIR]"),
        (["cases", "show"], "cases show [OPTIONS] ID"),
    ],
)  # fmt: skip
def test_arguments_are_called_by_their_names(words: list[str], usage: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"Usage: traindx {usage}\n" in shown
    assert not [line for line in shown.partition("Arguments:")[2].partition("Options:")[0].splitlines() if "<" in line]


def test_help_names_every_command_once_and_cuts_no_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = [name for commands in GROUPS.values() for name in commands]
    assert sorted(listed) == sorted(COMMANDS)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for commands in GROUPS.values():
        for name, summary in commands.items():
            assert any(line.split(maxsplit=1) == [name, summary] for line in shown.splitlines()), name


@pytest.mark.parametrize("width", ["60", "80", "100"])
def test_help_of_the_case_book_shows_whole_sentences(
    width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert main(["cases", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all(f"{name} {command.help}" in shown for name, command in COMMANDS["cases"].commands.items())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert f"_TRAINDX_COMPLETE=complete_{shell}" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    command = tmp_path / "traindx"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m traindx "$@"\n')
    command.chmod(0o755)
    asked = f"""
    eval "$({command} completion bash)"
    COMP_WORDS=({command} diagnose --fol); COMP_CWORD=2
    _traindx_completion {command}
    echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["--follow"], done.stderr


def test_doctor_finds_everything_here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        doctor, "_ASK_TORCH", 'print(\'{"version": "9", "cuda": null, "devices": ["H1"], "mps": false}\')'
    )
    assert main(["doctor", "--format", "json"]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)}
    assert checks["diagnosis"]["state"] == checks["recorder"]["state"] == checks["numpy"]["state"] == "ok"
    assert checks["torch"]["says"] == "9, H1"
    assert {"working directory", "temporary files", "case book"} <= set(checks)


def test_doctor_says_what_is_missing_and_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: None)
    monkeypatch.setattr(doctor, "_requirements", lambda: [("numpy", ""), ("matplotlib", "png")])
    monkeypatch.setattr(doctor, "_recorder", lambda: doctor.Check("pytorch", "recorder", "ok", ""))
    assert main(["doctor"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "!! numpy not installed → pip install numpy" in shown
    assert "-- png" in shown
    assert "pip install 'traindx[png]'" in shown
    assert "1 need attention" in shown


def test_doctor_lists_known_issues_of_a_list_of_versions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    frozen = tmp_path / "versions.txt"
    frozen.write_text("deepspeed==0.14.3\nnumpy==1.26.4\n# a comment\nlocal @ file:///here\n")
    assert main(["doctor", str(frozen)]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "you have deepspeed 0.14.3: all gradients are zero in DeepSpeed 0.14.3; shows only if" in shown
    assert "https://github.com/deepspeedai/DeepSpeed/issues/5692" in shown
    assert "1 known issue of these versions" in shown
    assert "recorder" not in shown
    assert main(["doctor", str(frozen), "--json"]) == 1
    [check] = json.loads(capsys.readouterr().out)
    assert (check["name"], check["state"]) == ("deepspeed-zero-gradients-0-14-3", "known")


def test_doctor_is_content_with_versions_without_issues(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    frozen = tmp_path / "versions.txt"
    frozen.write_text("deepspeed==0.17.0\ntorch 2.8.0\n")
    assert main(["doctor", str(frozen)]) == 0
    assert "none among 2 packages" in capsys.readouterr().out


def test_doctor_asks_another_interpreter(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!{sys.executable}\nprint(\'{{"DeepSpeed": "0.14.3", "python": "3.11.2"}}\')\n')
    python.chmod(0o755)
    assert main(["doctor", "--python", str(python), "--json"]) == 1
    assert [check["name"] for check in json.loads(capsys.readouterr().out)] == ["deepspeed-zero-gradients-0-14-3"]
    assert main(["doctor", "--python", sys.executable, "--json"]) == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["missing.txt"], "missing.txt cannot be read: No such file or directory."),
        (["empty.txt"], "empty.txt names no package with its version."),
        (["--python", "empty.txt"], "cannot be run: Permission denied."),
        (["empty.txt", "--python", "empty.txt"], "A file and --python were given."),
    ],
)
def test_doctor_refuses_what_it_cannot_use(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("nothing here\n")
    (tmp_path / "empty.txt").chmod(0o644)
    words = [str(tmp_path / word) if word.endswith(".txt") else word for word in words]
    assert main(["doctor", *words]) == 2
    assert told in " ".join(capsys.readouterr().err.split())
