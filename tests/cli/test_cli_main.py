"""What holds for every command: start-up, help, version, pipes, interrupts, our own faults."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from traindx.cli import main
from traindx.version import __version__

_HELP = """
import sys
from traindx.cli import main
code = main({arguments!r})
heavy = {{"numpy", "torch", "matplotlib", "yaml", "msgspec"}} & set(sys.modules)
assert not heavy, heavy
assert code == 0, code
"""


@pytest.mark.parametrize("arguments", [["--help"], ["diagnose", "--help"], ["plot", "-h"], ["--version"], []])
def test_help_is_light(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", _HELP.format(arguments=arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(command in out for command in ("diagnose", "explain", "list", "plot", "--version"))


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"traindx {__version__}\n"


def test_module_runs_as_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "traindx", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"traindx {__version__}\n")


def test_unknown_command_and_missing_argument_exit_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["frobnicate"]) == 2
    assert main(["diagnose"]) == 2
    assert capsys.readouterr().err.count("--help") == 2


def test_a_path_where_a_command_belongs(log: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    path = log("a.csv")
    assert main([str(path)]) == 2
    assert f"traindx diagnose {path}" in capsys.readouterr().err


def test_broken_pipe_ends_quietly() -> None:
    program = f"{sys.executable} -m traindx list --format json; echo code $? >&2"
    done = subprocess.run(["bash", "-c", f"({program}) | head -c 1"], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.stderr.strip() in ("code 141", "code 0")  # 0 when the pipe took it all before it closed


def test_our_own_fault_is_told_as_such(
    log: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(sys.modules["traindx.engine"], "diagnose", broken)
    monkeypatch.delenv("TRAINDX_DEBUG", raising=False)
    assert main(["diagnose", str(log("a.csv"))]) == 3
    err = capsys.readouterr().err
    assert "please report" in err
    assert "Traceback" not in err
    monkeypatch.setenv("TRAINDX_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["diagnose", str(log("a.csv"))])


def test_interrupt_has_the_shells_code(log: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["traindx.engine"], "diagnose", interrupted)
    assert main(["diagnose", str(log("a.csv"))]) == 130
