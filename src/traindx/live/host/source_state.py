"""What was trained: the commit and what differs from it, the script itself and the settings files it was given, kept
beside a recording, so that a run can be repeated. Secrets are taken out as everywhere."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from traindx.secrets import hidden, hidden_arguments

FOLDER = "source"  # in the recording
STATE = "state.json"
DIFF = "changes.diff"
CONFIGS = (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg")
LARGEST = 1 << 20  # bytes of a file or a diff that is kept
PATIENCE = 5.0  # seconds for git


@dataclass(frozen=True)
class SourceState:
    """As it was when the training began. `texts` are files by the name they are kept under."""

    state: dict[str, object]
    texts: dict[str, str] = field(default_factory=dict)

    def keep(self, folder: Path) -> None:
        """Write it beside the recording, where there is one."""
        if not folder.is_dir():
            return
        try:
            place = folder / FOLDER
            place.mkdir(exist_ok=True)
            for name, text in {STATE: json.dumps(self.state, indent=1) + "\n", **self.texts}.items():
                (place / name).write_text(text, encoding="utf-8")
            for path in folder.glob("rank-0.jsonl"):
                with path.open("ab") as file:
                    file.write(b"\n" + json.dumps({"k": "config", **self._settings()}).encode() + b"\n")
        except OSError:
            return  # a full disk ends no training

    def _settings(self) -> dict[str, object]:
        return {f"recording.{name}": self.state[name] for name in ("commit", "script_sha256") if name in self.state}


def taken(arguments: Sequence[str], *, private: bool = False) -> SourceState:
    """The state of what these arguments run. `private` keeps every text out."""
    state: dict[str, object] = {"command": hidden_arguments(list(arguments))}
    texts: dict[str, str] = {}
    script = next((Path(word) for word in arguments if word.endswith(".py") and Path(word).is_file()), None)
    place = script.parent if script is not None else Path.cwd()
    commit = _git(place, "rev-parse", "HEAD").strip()
    if script is not None and (text := _text(script)):
        state |= {"script": str(script), "script_sha256": hashlib.sha256(text.encode()).hexdigest()}
        texts[script.name] = text
    if commit:
        changes = _git(place, "diff", "HEAD", "--no-ext-diff", "--no-textconv", "--no-color")
        state |= {"commit": commit, "changed": bool(changes.strip())}
        if changes.strip():
            texts[DIFF] = changes[:LARGEST]
    texts |= {path.name: text for path in _configs(arguments) if (text := _text(path))}
    return SourceState(state, {} if private else {name: hidden(text) for name, text in texts.items()})


def _configs(arguments: Sequence[str]) -> Iterator[Path]:
    """Settings files that the command names, also as --config=FILE."""
    for word in arguments:
        path = Path(word.rpartition("=")[2])
        if path.suffix.lower() in CONFIGS and path.is_file():
            yield path


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8") if path.stat().st_size <= LARGEST else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _git(place: Path, *words: str) -> str:
    """What git says there; nothing where there is none, and none of its hooks, pagers or locks."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}
    command = ["git", "-c", "core.fsmonitor=false", *words]
    try:
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
