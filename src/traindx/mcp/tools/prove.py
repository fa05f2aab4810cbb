"""`prove`: judge a patch of a script on copies of it, beside the unchanged one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from traindx.mcp.answers import answer
from traindx.mcp.base import Function, Tool
from traindx.mcp.children import result_of
from traindx.mcp.session_state import SessionState
from traindx.mcp.tools.trial import LEEWAY, TrialRow, row_of


class ProofAnswer(TypedDict):
    """`proven`: it cleared its symptom or improved the error with an interval, and broke nothing. `failing` are the
    checks that still fail, `brief` is what the repair must satisfy."""

    proven: bool
    failing: list[str]
    trial: TrialRow | None
    brief: dict[str, Any] | None


def make(state: SessionState) -> Function:
    async def prove(
        context: Context,
        path: Annotated[str, Field(description="The training script (PyTorch). Copies of it are RUN several times.")],
        patch: Annotated[str, Field(description="A unified diff of the script or of files beside it.")],
        arguments: Annotated[list[str] | None, Field(description="Arguments of the script.")] = None,
        steps: Annotated[int, Field(ge=10, description="Optimiser steps of one run at most.")] = 1000,
        seconds: Annotated[float, Field(ge=1, le=3600, description="Seconds of one run at most.")] = 60,
        budget: Annotated[float, Field(ge=1, le=7200, description="Seconds of all runs together.")] = 300,
        seeds: Annotated[int, Field(ge=2, le=20, description="Pairs of runs before a patch is called proven.")] = 3,
    ) -> Annotated[CallToolResult, ProofAnswer]:
        """Judge a patch: run copies of a script with and without it, with the same seeds, and say whether it is proven
        to help and which checks still fail. RUNS THE SCRIPT several times within `budget` seconds; no file of the user
        is changed."""
        script = state.roots.path(path)
        limits = {"--steps": steps, "--seconds": seconds, "--budget": budget, "--seeds": seeds}
        with tempfile.TemporaryDirectory(prefix="traindx-prove-") as place:
            file = Path(place) / "patch.diff"
            file.write_text(patch, encoding="utf-8")
            command = ["trial", "--patch", str(file)]
            command += [word for name, value in limits.items() for word in (name, str(value))]
            command += ["--json", "{json}", "--", str(script), *(arguments or [])]
            result = await result_of(command, state.roots.home_of(script), budget + seconds + LEEWAY, context)
        rows = [row_of(row) for row in result["trials"]]
        proven = bool(result["best"])
        failing = [note for note in result["notes"] if note.startswith(("Still failing", "New with", "With the patch"))]
        structure = ProofAnswer(proven=proven, failing=failing, trial=rows[0] if rows else None, brief=result["brief"])
        reported = "The patch is proven to help." if proven else "The patch is not proven to help."
        return answer(structure, [reported, *failing])

    return prove


TOOL = Tool("prove", "Judge a patch on copies of a script", make, runs_code=True)
