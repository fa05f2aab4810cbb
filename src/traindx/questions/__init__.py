"""The interview's questions: one module each, registered by being there."""

from __future__ import annotations

from functools import cache

from traindx.questions.base import Question
from traindx.registry import load_units


@cache
def questions() -> dict[str, Question]:
    """Every question by its id."""
    return load_units(__name__, __path__, "QUESTION", Question)
