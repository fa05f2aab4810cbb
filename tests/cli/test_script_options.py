"""traindx's own options may stand behind the script, and the script's stay the script's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from traindx.cli import main
from traindx.cli.script_options import own_first

OPTIONS = {"-o": True, "-q": False, "--json": True, "--steps": True, "--quiet": False, "--set": True}


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "train.py"
    path.write_text("parser.add_argument('--steps', type=int)\nparser.add_argument('--lr')\n")
    return str(path)


def test_own_options_come_forward_with_their_values(script: str) -> None:
    given = [script, "--lr", "0.1", "--json", "out.json", "--quiet", "--set=lr=1"]
    assert own_first(given, OPTIONS) == ["--json", "out.json", "--quiet", "--set=lr=1", script, "--lr", "0.1"]


def test_what_the_script_names_is_its_own(script: str) -> None:
    assert own_first([script, "--steps", "5"], OPTIONS) == [script, "--steps", "5"]
    assert own_first(["--steps", "9", script, "--steps", "5"], OPTIONS) == ["--steps", "9", script, "--steps", "5"]


def test_two_dashes_leave_the_rest_to_the_script(script: str) -> None:
    assert own_first([script, "--", "--json", "x"], OPTIONS) == [script, "--", "--json", "x"]


@pytest.mark.parametrize(
    "given",
    [
        ["-m", "package.module", "--json", "x"],
        ["--", "torchrun", "train.py", "--json", "x"],
        ["none.py", "--json", "x"],
        [],
    ],
)
def test_other_ways_of_starting_are_left_alone(given: list[str]) -> None:
    assert own_first(given, OPTIONS) == given


def test_a_short_option_is_the_scripts_where_its_source_quotes_it(tmp_path: Path) -> None:
    script = tmp_path / "short.py"
    script.write_text("parser.add_argument('-o', '--out')\n")
    assert own_first([str(script), "-o", "x", "-q"], OPTIONS) == ["-q", str(script), "-o", "x"]
    script.write_text("x = a -o\n")
    assert own_first([str(script), "-o", "x"], OPTIONS) == ["-o", "x", str(script)]


def test_run_leaves_everything_to_the_script_and_says_so(
    script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traindx.live.host.launch.launch", lambda what, *_: print(" ".join(what[-2:])) or 0)
    assert main(["run", script, "--steps", "5"]) == 0
    assert "stands behind" not in capsys.readouterr().err
    main(["run", script, "--gate", "x"])
    out, err = capsys.readouterr()
    assert out == "--gate x\n"
    assert "options of traindx come first: traindx run --gate …" in err


def test_with_argparse_only_what_is_written_with_dashes_is_an_option(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import json\nfrom argparse import ArgumentParser\nparser.add_argument('--max-steps')\nsteps = 3\n"
    )
    given = [str(script), "--max-steps", "5", "--json", "o.json"]
    assert own_first(given, {"--json": True, "--max-steps": True}) == [
        "--json",
        "o.json",
        str(script),
        "--max-steps",
        "5",
    ]
    script.write_text("import json, tyro\nfrom argparse import ArgumentParser\n")  # any name may be one
    assert own_first(given, {"--json": True}) == given


@pytest.mark.parametrize(("given", "near"), [("--no-report", ""), ("--budjet", "--budget"), ("--stepz=3", "--steps")])
def test_an_unknown_option_before_the_script_is_named(given: str, near: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)\n")
    done = subprocess.run(
        [sys.executable, "-m", "traindx", "run", given, "train.py"], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert f"has no option {given.partition('=')[0]}" in done.stderr
    assert near in done.stderr
    assert len(done.stderr.splitlines()) == 1
