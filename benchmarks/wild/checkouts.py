"""The code of others at a commit: from a directory of checkouts, or cloned from GitHub."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from recipe import Recipe


def git_directory(repository: str, checkouts: Path) -> Path:
    """Where the history of a repository lies below `checkouts`: owner/name or owner+name, bare or not; cloned if it is
    not there."""
    owner, name = repository.split("/")
    for place in (checkouts / f"{owner}+{name}", checkouts / owner / name):
        for path in (place / "repo" / ".git", place / "repo", place / ".git", place):
            if (path / "HEAD").is_file():
                return path
    place = checkouts / owner / name
    place.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "clone", "--quiet", "--bare", f"https://github.com/{repository}", str(place)], check=True)
    return place


def export(recipe: Recipe, checkouts: Path, to: Path) -> None:
    """The program's files at the recipe's commit, made small. Files that the store of checkouts lacks, large ones
    usually, are left out."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    for path, content in _files(git_directory(recipe.repository, checkouts), recipe.commit, recipe.paths):
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        (to / path).write_bytes(content)
    for file, pattern, replacement in recipe.shorten:
        path = to / file
        text, count = re.subn(pattern, replacement, path.read_text("utf-8"))
        if count != 1:
            raise SystemExit(f"{recipe.name}: {pattern!r} matches {count} times in {file}, not once.")
        path.write_text(text, "utf-8")


def _files(source: Path, commit: str, paths: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    git = ["git", "-c", "safe.directory=*", "--git-dir", str(source)]
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "-z", "--full-tree", commit, *paths], check=True, capture_output=True, env=environment
    )
    entries = [entry.split("\t", 1) for entry in listed.stdout.decode().split("\0") if entry]
    wanted = [(about.split()[2], path) for about, path in entries if about.startswith("100")]
    asked = "".join(f"{number}\n" for number, _ in wanted).encode()
    packed = subprocess.run(
        [*git, "cat-file", "--batch"], input=asked, check=True, capture_output=True, env=environment
    ).stdout
    at = 0
    for _, path in wanted:
        end = packed.index(b"\n", at)
        _, kind, *size = packed[at:end].split()
        at = end + 1
        if kind == b"blob":
            yield path, packed[at : at + int(size[0])]
            at += int(size[0]) + 1


def prepared(recipe: Recipe, checkouts: Path, work: Path) -> Path:
    """The program with its data, made once and copied for every run."""
    place = work / "prepared" / recipe.name
    if not (place / ".prepared").exists():
        export(recipe, checkouts, place)
        recipe.prepare(place)
        (place / ".prepared").touch()
    return place
