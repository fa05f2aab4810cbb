"""The case book beside a diagnosis: write it down, recall what resembles it, let confirmed cases shift the prior,
visibly."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from traindx.casebook.case import LONGEST, Case, Trial, case_of
from traindx.casebook.places import book_path
from traindx.casebook.prior import prior_hints
from traindx.casebook.similar import Likeness, similar
from traindx.casebook.store import CaseBook
from traindx.diagnosis import Diagnosis
from traindx.engine.context import Hint
from traindx.errors import TraindxError

RECALLED = 1000  # cases that a diagnosis looks through: the newest that were judged
LINES = 2
ROOM = 1 << 20  # bytes; a disk with less is full to a database that writes a journal beside itself
SHIFT = 0.005  # a change of the probability below this is not worth a line
PRIOR = "prior"  # the setting in the book that --no-prior changes
_complained = False


def consult(
    diagnosis: Diagnosis,
    made_by: str,
    again: Callable[[Sequence[Hint]], Diagnosis],
    tell: Callable[[str], None] | None = None,
) -> Diagnosis:
    """The diagnosis with what the case book adds to it, and the case book with the diagnosis. `again` makes the
    diagnosis anew under hints. It never raises: whatever is wrong with the book, the diagnosis is returned as it
    came."""
    try:
        book = current()
        if book is None:
            return diagnosis
        case = case_of(diagnosis, made_by)
        judged = book.cases(judged=True, most=RECALLED) if book.exists() else []
        own = [old for old in judged if (old.source, old.name) == (case.source, case.name)]
        judged = [old for old in judged if old not in own]  # what was said of this very run is no evidence for it
        page = replace(diagnosis, notes=(*diagnosis.notes, *(f"This run is {described(old)}" for old in own[:1])))
        if diagnosis.verdict != "healthy":  # confirmed faults elsewhere never make a healthy run ill
            hints = prior_hints(judged) if judged and book.setting(PRIOR, "on") == "on" else []
            page = _shifted(page, hints, again)
            page = replace(page, notes=(*page.notes, *map(_line, similar(case, judged, LINES))))
        book.remember(case)
        return page
    except (sqlite3.Error, OSError, ValueError, TraindxError) as error:
        if not (made_by == "run" and _disk_is_full()):  # the recorder, which writes far more, has said it already
            _complain(error, tell)
        return diagnosis


def record_trial(
    diagnosis: Diagnosis,
    *,
    fix: str,
    cause: str,
    verdict: str,
    effect: str = "",
    tell: Callable[[str], None] | None = None,
) -> int | None:
    """Write down what a trial of one fix found ('helped', 'no-effect', 'worse' or 'failed'; `effect` is the sentence
    with the numbers) with the case of this diagnosis. The number of the case, or None where the book is off or cannot
    be written."""
    try:
        book = current()
        if book is None:
            return None
        case = book.remember(case_of(diagnosis, "fix"))
        return book.add_trial(case.id, Trial(fix, cause, verdict, effect[:LONGEST])).id
    except (sqlite3.Error, OSError, ValueError, TraindxError) as error:
        _complain(error, tell)
        return None


def current() -> CaseBook | None:
    """The case book in use, or None where it is off or has no place to be."""
    path = book_path()
    if path is None:
        return None
    book = CaseBook(path)
    return book if book.exists() or _may_be_made(book) else None


def _may_be_made(book: CaseBook) -> bool:
    """Whether a book can be begun there: a home that cannot be written to is no reason for a message."""
    try:
        book.path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(book.path.parent, os.W_OK | os.X_OK)


def _shifted(diagnosis: Diagnosis, hints: Sequence[Hint], again: Callable[[Sequence[Hint]], Diagnosis]) -> Diagnosis:
    """The diagnosis under the local prior, with a line that says how much that changed."""
    before = {h.cause: h.confidence for h in diagnosis.hypotheses}
    if not any(hint.cause in before for hint in hints):
        return diagnosis
    page = again(hints)
    after = {h.cause: h.confidence for h in page.hypotheses}
    moved = [
        f"{hint.cause} {before.get(hint.cause, 0) * 100:.0f} → {after[hint.cause] * 100:.0f} %"
        for hint in hints
        if hint.cause in after and abs(after[hint.cause] - before.get(hint.cause, 0)) >= SHIFT
    ]
    notes = tuple(note for note in diagnosis.notes if note not in page.notes)
    if not moved:
        return replace(page, notes=(*page.notes, *notes))
    reported = f"Case book: confirmed cases shift {', '.join(moved[:3])}; undo with: traindx cases --no-prior"
    return replace(page, notes=(*page.notes, *notes, reported))


def _line(found: Likeness) -> str:
    return f"Similar ({found.share * 100:.0f} %): {described(found.case)}"


def described(case: Case) -> str:
    """A case in a few words: 'case 12, 2026-11-03, confirmed lr-too-high, lower-lr helped'."""
    parts = [f"case {case.id}", case.created[:10]]
    if case.status != "open":
        parts.append(f"{case.status} {case.cause}".strip())
    elif case.likeliest:
        parts.append(f"{case.likeliest}, not confirmed")
    parts += [f"{trial.fix} {trial.verdict}" for trial in case.trials[:2]]
    return ", ".join(parts)


def _disk_is_full() -> bool:
    """Asked of the disk itself: sqlite calls it a full database, an I/O error or a missing table, as it comes."""
    path = book_path()
    try:
        return path is not None and shutil.disk_usage(path.parent).free < ROOM
    except OSError:
        return False


def _complain(error: Exception, tell: Callable[[str], None] | None) -> None:
    global _complained
    if _complained:
        return
    _complained = True
    line = f"the case book is not used: {error} (off: TRAINDX_CASES=off)."
    if tell is not None:
        tell(line)
    else:
        print(f"traindx: {line}", file=sys.stderr)
