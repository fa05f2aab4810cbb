"""traindx's own options may stand behind the script, and the script's stay the script's."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindx.cli.script_options import own_first

OPTIONS = {"--json": True, "--steps": True, "--quiet": False, "--set": True}


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
