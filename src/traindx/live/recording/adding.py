"""What probes found, written into a recording: their own, or one that exists already."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from traindx.errors import TraindxError
from traindx.reading import Reading

FILE = "rank-0.jsonl"


def entries(reading: Reading) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of a reading, each with its kind: measurements, facts and settings, and the whole of it for whoever
    shows it. Its values belong to the moment that was probed, not to the course of a training, and stay inside."""
    for fact in reading.facts:
        yield "fact", {
            "id": fact.id, "present": fact.present, "evidence": fact.evidence, "where": fact.where, "step": fact.step,
            "clarity": fact.clarity, "probe": reading.probe,
        }  # fmt: skip
    whole = reading.to_json()
    if reading.measured:
        yield "probed", {"probe": reading.probe, "measured": whole["measured"]}
    if reading.config:
        yield "config", {**reading.config, "probe": reading.probe}
    yield "probe", {"reading": whole}


def require_recording(folder: Path) -> None:
    if not (folder / FILE).is_file():
        raise TraindxError(f"{folder} is no recording of traindx.", "Make one with: traindx run train.py")


def add_readings(folder: Path, readings: Sequence[Reading]) -> None:
    """Append them to a recording, be it one that is still being written: every line stands for itself."""
    require_recording(folder)
    path = folder / FILE
    text = "".join(
        json.dumps({"k": kind, **entry}, default=str) + "\n" for one in readings for kind, entry in entries(one)
    )
    try:
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - 1, 0))
            cut_off = file.read(1) not in (b"", b"\n")
        with path.open("a", encoding="utf-8") as file:
            file.write("\n" + text if cut_off else text)
    except OSError as error:
        raise TraindxError(
            f"The findings could not be added to {path}: {error.strerror or error}.", "Check its permissions."
        ) from error
