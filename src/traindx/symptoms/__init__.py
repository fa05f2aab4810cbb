"""The symptoms of the catalogue: one module each, registered by being there."""

from __future__ import annotations

from functools import cache

from traindx.registry import load_units
from traindx.symptoms.base import Symptom


@cache
def symptoms() -> dict[str, Symptom]:
    """Every symptom by its id."""
    return load_units(__name__, __path__, "SYMPTOM", Symptom)
