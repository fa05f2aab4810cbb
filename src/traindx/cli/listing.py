"""`traindx list`: the catalogue of symptoms, causes and fixes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from enum import StrEnum
from itertools import groupby
from typing import Annotated, Any

import typer

from traindx.cli.talk import color_wanted, emit, width_of
from traindx.errors import EXIT_OK
from traindx.reporters.catalogue import entries
from traindx.reporters.layout import Ink, hanging


class What(StrEnum):
    """A part of the catalogue."""

    symptoms = "symptoms"
    causes = "causes"
    fixes = "fixes"


class ListFormat(StrEnum):
    """How the catalogue is written."""

    text = "text"
    json = "json"


def command(
    what: Annotated[What | None, typer.Argument(help="Only this part of the catalogue.", show_default=False)] = None,
    format: Annotated[
        ListFormat, typer.Option("--format", "-f", help="For reading, or for programs.")
    ] = ListFormat.text,
) -> int:
    """List every symptom, cause and fix traindx knows."""
    parts = [what] if what is not None else list(What)
    catalogue = {part.value: entries(part.value) for part in parts}
    if format is ListFormat.json:
        document: Any = catalogue if what is None else catalogue[what.value]
        emit(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
        return EXIT_OK
    emit(_text(catalogue, Ink(color_wanted(sys.stdout)), width_of(sys.stdout)))
    return EXIT_OK


def _text(catalogue: dict[str, list[dict[str, Any]]], ink: Ink, width: int) -> str:
    lines: list[str] = []
    for part, members in catalogue.items():
        lines += [*([""] if lines else []), ink(f"{part} ({len(members)})", "heading")]
        column = max((len(entry["id"]) for entry in members), default=0) + 6
        for group, grouped in _grouped(members):
            lines.append(f"  {ink(group, 'dim')}")
            for entry in grouped:
                lines += hanging(f"    {entry['id']}", [entry["title"]], column, width)
    lines += ["", "`traindx explain ID` shows the page of any of them."]
    return "\n".join(lines) + "\n"


def _grouped(entries: Iterable[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    ordered = sorted(entries, key=lambda entry: (entry["group"], entry["id"]))
    return [(group, list(members)) for group, members in groupby(ordered, key=lambda entry: str(entry["group"]))]
