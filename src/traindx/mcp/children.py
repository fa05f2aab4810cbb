"""Runs one of our own commands as a child: it may run the user's script, whose output must never reach the protocol."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from mcp.server.mcpserver import Context

from traindx.errors import TraindxError
from traindx.reporters.wording import clean

BEAT = 1.0  # seconds between two notes of progress
GRACE = 5.0  # seconds a stopped child has to leave
MAX_REPEATED = 600  # characters of its last words that a refusal repeats


async def result_of(command: Sequence[str], cwd: Path, seconds: float, context: Context) -> dict[str, Any]:
    """What `traindx COMMAND …` writes as JSON, where `{json}` in the command stands for the file it writes to. The
    child is stopped with everything it started when the time is over or the client cancels."""
    with tempfile.TemporaryDirectory(prefix="traindx-mcp-") as place:
        written, talk = Path(place) / "result.json", Path(place) / "talk"
        arguments = [word.replace("{json}", str(written)) for word in command]
        with talk.open("wb") as sink:
            process = await anyio.open_process(
                [sys.executable, "-m", "traindx", *arguments],
                stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, cwd=cwd, start_new_session=True,
            )  # fmt: skip
            try:
                code = await _waited(process, talk, seconds, command[0], context)
            finally:
                with anyio.CancelScope(shield=True):
                    await _stop(process)
        if not written.is_file():
            raise TraindxError(f"traindx {command[0]} ended with code {code}: {_last_words(talk)}", "")
        result: dict[str, Any] = json.loads(written.read_text("utf-8"))
        return result


async def _waited(process: Process, talk: Path, seconds: float, name: str, context: Context) -> int:
    began = time.monotonic()
    while process.returncode is None:
        with anyio.move_on_after(BEAT):
            return await process.wait()
        elapsed = time.monotonic() - began
        if elapsed > seconds:
            raise TraindxError(
                f"traindx {name} took longer than {seconds:.0f} s and was stopped.",
                "Give more `seconds`, or a script that trains on less data.",
            )
        reported = _last_words(talk).splitlines()[-1]
        await context.report_progress(
            elapsed, seconds, f"{name}, {elapsed:.0f} s of at most {seconds:.0f} s: {reported}"
        )
    return process.returncode


async def _stop(process: Process) -> None:
    """End the child and what it started: first asked, then made to."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        with anyio.move_on_after(GRACE):
            await process.wait()


def _last_words(talk: Path) -> str:
    """The end of what the child said, from our own name on."""
    with talk.open("rb") as file:
        file.seek(max(0, talk.stat().st_size - MAX_REPEATED))
        text = file.read().decode("utf-8", errors="replace")
    return _cleaned(text.rpartition("traindx: ")[2]) or "it has said nothing."


def _cleaned(text: str) -> str:
    """Without escape sequences and empty lines: a script may print anything."""
    return "\n".join(line for line in map(clean, text.replace("\r", "\n").split("\n")) if line.strip())
