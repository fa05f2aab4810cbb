"""`probe`: run the user's script up to its first update and measure the model it trains."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from traindx.diagnosis import Diagnosis
from traindx.mcp.answers import RunAnswer, answer, sentence, short
from traindx.mcp.base import Function, Tool
from traindx.mcp.children import result_of
from traindx.mcp.session_state import SessionState

Kind = Literal["probe", "activations", "curvature", "gradients", "lr-range", "sanity", "speed"]


class ReadingAnswer(TypedDict):
    """What one probe found; `found` are the problems, `unknown` what it could not measure."""

    probe: str
    summary: str
    found: list[str]
    unknown: list[str]


class ProbeAnswer(TypedDict):
    """What was measured and what that means."""

    readings: list[ReadingAnswer]
    diagnosis: RunAnswer


def make(state: SessionState) -> Function:
    async def probe(
        context: Context,
        path: Annotated[
            str, Field(description="The training script (PyTorch). It is RUN, up to the updates asked for.")
        ],
        arguments: Annotated[list[str] | None, Field(description="Arguments of the script.")] = None,
        kind: Annotated[Kind, Field(description="One probe, or `probe` for all of them.")] = "sanity",
        at_step: Annotated[int, Field(ge=0, description="Let it train so many updates first.")] = 0,
        seconds: Annotated[float, Field(gt=0, le=3600, description="Stop it after so long.")] = 300,
    ) -> Annotated[CallToolResult, ProbeAnswer]:
        """Measure what a training script trains: can the model learn one batch, do gradients reach everything, is the
        learning rate in range, where is the time spent. RUNS THE SCRIPT in the allowed directory until it has been
        measured, then stops it; model and optimiser are put back as they were."""
        script = state.roots.path(path)
        command = [kind, "--at-step", str(at_step), "--json", "{json}", str(script), *(arguments or [])]
        result = await result_of(command, state.roots.home_of(script), seconds, context)
        result["diagnosis"]["run"]["source"] = path  # as the agent named it
        page = Diagnosis.from_json(result["diagnosis"])
        readings = [_reading(reading) for reading in result["readings"]]
        lines = [f"{reading['probe']}: {reading['summary']}" for reading in readings]
        return answer(ProbeAnswer(readings=readings, diagnosis=short(page)), [*lines, sentence(page)])

    return probe


def _reading(reading: dict[str, Any]) -> ReadingAnswer:
    return ReadingAnswer(
        probe=reading["probe"], summary=reading["summary"], unknown=reading["unknown"],
        found=[f"{fact['id']}: {fact['evidence']}" for fact in reading["facts"] if fact["present"]],
    )  # fmt: skip


TOOL = Tool("probe", "Measure the model of a script", make, runs_code=True)
