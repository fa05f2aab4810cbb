"""`traindx fix --with CMD`: the brief is handed to a command of the user's own, which edits a copy; its patch is judged
like any other change. The command runs with the user's rights, and only because the user named it."""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from traindx.diagnosis import Diagnosis
from traindx.errors import TraindxError
from traindx.trials.brief import brief_of
from traindx.trials.interrupting import interruptible
from traindx.trials.outcome import Trial
from traindx.trials.patch import MOST_BYTES, candidate_of
from traindx.trials.plan import Candidate
from traindx.trials.session import Session
from traindx.trials.setting import Setting
from traindx.trials.workspace import Copy


@dataclass(frozen=True)
class Hand:
    """Who is asked, how often, and for how long each time."""

    command: str
    rounds: int = 3
    seconds: float = 600.0


def hand_over(
    session: Session, page: Diagnosis, script: str, hand: Hand, failing: Callable[[Session, Candidate], list[str]]
) -> tuple[Trial | None, list[str]]:
    """The first patch that is proven, and what came of the others."""
    attempts: list[str] = []
    for number in range(1, hand.rounds + 1):
        brief = brief_of(page, script, attempts)
        if brief is None or session.left <= 0:
            break
        session.tell(f"{_name(hand.command)} is asked for a patch, round {number} of {hand.rounds}")
        edits, said = _asked(session, hand, json.dumps(brief.to_json(), indent=2))
        if not edits:
            attempts.append(f"Round {number}: no source file was changed ({said}).")
            continue
        candidate = candidate_of(edits, page, f"The patch of {_name(hand.command)}")
        candidate = _numbered(candidate, number)
        session.screen([candidate])
        trial = session.more_seeds(candidate)
        if trial.verdict == "helped":
            return trial, attempts
        left = " ".join(failing(session, candidate)) or "The error is not shown to improve."
        attempts.append(f"Round {number}: {trial.verdict}. {left}")
    return None, attempts


def _name(command: str) -> str:
    """'python agent.py' of '/usr/bin/python tools/agent.py --fast'."""
    return " ".join(Path(word).name for word in shlex.split(command)[:2])


def _numbered(candidate: Candidate, number: int) -> Candidate:
    return replace(candidate, settings=(Setting("patch", str(number)),))


def _asked(session: Session, hand: Hand, brief: str) -> tuple[Mapping[str, str], str]:
    """Run the command in a copy of the project; the source files it has changed there."""
    with tempfile.TemporaryDirectory(prefix="traindx-hand-") as place:
        copy = Copy(session.project, Path(place))
        copy.make({})
        try:
            with interruptible():
                done = subprocess.run(
                    shlex.split(hand.command), input=brief.encode(), cwd=copy.folder, timeout=hand.seconds,
                    capture_output=True, check=False,
                )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {}, f"it took longer than {hand.seconds:.0f} s"
        except (OSError, ValueError) as error:
            raise TraindxError(f"{hand.command} cannot be started: {error}.", "Check the command of --with.") from error
        return _changed(session.project.root, copy.root), f"it ended with code {done.returncode}"


def _changed(root: Path, copy: Path) -> dict[str, str]:
    """Python files of the copy that differ from the project's own."""
    found: dict[str, str] = {}
    for path in sorted(copy.rglob("*.py")):
        own = root / path.relative_to(copy)
        if path.is_symlink() or not own.is_file() or path.stat().st_size > MOST_BYTES:
            continue
        try:
            text = path.read_text(encoding="utf-8")
            if text != own.read_text(encoding="utf-8"):
                found[str(path.relative_to(copy))] = text
        except UnicodeDecodeError:
            continue
    return found
