"""A recipe: a training program of other people, and what it takes to run it in seconds without a download.

One file in `recipes/` a program. The program's code is taken at the commit when the benchmark runs (checkouts.py) and
is never part of this repository; the recipe holds where it is, how it is started, and small data made here in place of
the data it would fetch."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

RECIPES = Path(__file__).parent / "recipes"
SEALED_SHARE = 0.4  # of the repositories


@dataclass(frozen=True)
class Result:
    """How good the trained model is, in the program's own words: the last match of `pattern` in what it prints."""

    pattern: str
    better: Literal["lower", "higher"]

    def read(self, said: str) -> float | None:
        found = re.findall(self.pattern, said)
        try:
            return float(found[-1]) if found else None
        except ValueError:
            return None


@dataclass(frozen=True)
class Recipe:
    """`files` are the sources that a user of the program would edit, the one with the training loop first: mutators
    change nothing else. `shorten` makes it small: (file, regular expression, replacement), each of which must match
    exactly once."""

    repository: str  # owner/name
    commit: str
    kind: str  # what is trained, for people
    command: tuple[str, ...]  # after `python`, with paths below `folder`
    files: tuple[str, ...]  # below the checkout
    seconds: float  # of CPU, on one core
    prepare: Callable[[Path], None] = lambda place: None  # makes data in the checkout
    paths: tuple[str, ...] = ()  # what is taken of the repository; all of it where nothing is named
    folder: str = ""  # of the checkout, in which it is started
    needs: tuple[str, ...] = ()  # packages besides torch
    shorten: tuple[tuple[str, str, str], ...] = ()
    result: Result | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    opened: str = ""  # why it counts as open whatever its name says: somebody saw how traindx judges it
    name: str = ""

    @property
    def sealed(self) -> bool:
        """Only run to report, never looked at: decided by the repository's name alone, so that nobody chooses."""
        if self.opened:
            return False
        digest = hashlib.sha256(self.repository.lower().encode()).digest()
        return digest[0] < SEALED_SHARE * 256


def load(name: str, folder: Path = RECIPES) -> Recipe:
    path = folder / f"{name.replace('-', '_')}.py"
    if not path.is_file():
        raise SystemExit(f"There is no recipe {name}: {path} does not exist.")
    spec = importlib.util.spec_from_file_location(f"recipes.{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    recipe: Recipe = module.RECIPE
    return Recipe(**{**recipe.__dict__, "name": path.stem.replace("_", "-")})


def names(folder: Path = RECIPES) -> list[str]:
    return sorted(path.stem.replace("_", "-") for path in folder.glob("[!_]*.py"))
