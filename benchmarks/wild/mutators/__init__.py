"""Faults put into real source by its structure: one module a mutator, registered by being there."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

from mutators.base import Mutator


@cache
def mutators() -> dict[str, Mutator]:
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in ("__init__", "base"):
            for mutator in importlib.import_module(f"mutators.{path.stem}").MUTATORS:
                if mutator.id in found:
                    raise ValueError(f"two mutators are called {mutator.id}")
                found[mutator.id] = mutator
    return found
