"""Tutorials do what they say: their files are written, their commands run, and what they show is what is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.md"))
_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(block: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines it is shown to print."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        yield command, [line for line in shown if line.strip()]


def appears(shown: list[str], printed: str) -> str | None:
    """The first line that is shown and not printed, in this order; … stands for anything, spaces for any amount of
    them."""
    lines = iter(printed.splitlines())
    for line in shown:
        words = [r"\s+".join(map(re.escape, part.split())) for part in line.split("…")]
        pattern = re.compile(r"\s*" + ".*".join(f"{word}\\s*" if word else "" for word in words))
        if not any(pattern.fullmatch(other) for other in lines):
            return line
    return None


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_the_tutorial_works(path: Path, tmp_path: Path) -> None:
    place = tmp_path / "bin"
    place.mkdir()
    plugin = (
        "" if "traindx" in {entry.name for entry in entry_points(group="pytest11")} else "-p traindx.pytest_plugin "
    )
    for name, call in {"traindx": "-m traindx", "python": "", "pytest": f"-m pytest {plugin}"}.items():
        (place / name).write_text(f'#!/bin/sh\nexec {sys.executable} {call} "$@"\n')
        (place / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}", "TRAINDX_CASES": "off", "COLUMNS": "200"}
    done = 0
    for language, block in _BLOCK.findall(path.read_text("utf-8")):
        if language == "python":
            (tmp_path / block.split("\n")[0].removeprefix("# ")).write_text(block)
            continue
        for command, shown in commands(block):
            result = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
            )
            missing = appears(shown, result.stdout)
            assert missing is None, f"$ {command}\n{result.stdout}{result.stderr}\nlacks: {missing}"
            done += 1
    assert done
