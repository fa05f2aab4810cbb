"""The contract for programs: one diagnosis is an object, several are a list."""

from __future__ import annotations

import json
from collections.abc import Sequence

from traindx.diagnosis import Diagnosis
from traindx.reporters.base import Reporter


def render(diagnoses: Sequence[Diagnosis], *, color: bool, width: int) -> str:
    """Strict JSON, with the tokens of a batch where the recording has them: no NaN, and no character a terminal could
    take for a command (colour and width do not matter)."""
    documents = [diagnosis.to_json(texts=True) for diagnosis in diagnoses]
    document = documents[0] if len(documents) == 1 else documents
    return inert(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)) + "\n"


def line(diagnosis: Diagnosis) -> str:
    """One diagnosis on one line, for streams of them."""
    return inert(json.dumps(diagnosis.to_json(), ensure_ascii=False, allow_nan=False)) + "\n"


def inert(text: str) -> str:
    """Unprintable characters, which only strings can hold, written as JSON escapes."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        character if character == "\n" or character.isprintable() else json.dumps(character)[1:-1] for character in text
    )


REPORTER = Reporter("json", "json", "for programs: the schema traindx.diagnosis/1", (".json",), render)
