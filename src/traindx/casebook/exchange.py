"""Cases of one team in each other's books: JSON lines, one case a line, dated and hashed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from traindx.casebook.case import Case
from traindx.errors import TraindxError

MOST_BYTES = 50 << 20
LONGEST_LINE = 200_000
MOST_CASES = 20_000


def export_lines(cases: Sequence[Case]) -> str:
    return "".join(f"{json.dumps(case.to_json(), ensure_ascii=False, sort_keys=True)}\n" for case in cases)


def read_export(path: Path) -> list[Case]:
    """The cases in an exported file. Nothing is taken from a file that is not one from its first to its last line."""
    cases: list[Case] = []
    try:
        if path.stat().st_size > MOST_BYTES:
            raise _refused(path, 0, f"it is larger than {MOST_BYTES >> 20} MB")
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                if len(line) > LONGEST_LINE or len(cases) >= MOST_CASES:
                    raise _refused(path, number, "it is too long")
                cases.append(replace(Case.from_json(json.loads(line)), origin=path.name[:200]))
    except OSError as error:
        raise TraindxError(
            f"{path} cannot be read: {error.strerror or error}.", "Give a file made by: traindx cases export"
        ) from error
    except (ValueError, RecursionError) as error:
        reason = (
            "it is no JSON"
            if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError)
            else str(error)
        )
        raise _refused(path, len(cases) + 1, reason) from error
    if not cases:
        raise _refused(path, 0, "it holds no case")
    return cases


def _refused(path: Path, line: int, reason: str) -> TraindxError:
    place = f", line {line}" if line else ""
    return TraindxError(
        f"{path}{place} is no exported case: {reason}. Nothing was imported.",
        "Make one with: traindx cases export FILE",
    )
