"""`trial`: try a change, or the fixes of the diagnosis, on copies of a script beside the unchanged one."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from traindx.diagnosis import Diagnosis
from traindx.mcp.answers import RunAnswer, answer, sentence, short
from traindx.mcp.base import Function, Tool
from traindx.mcp.children import result_of
from traindx.mcp.session_state import SessionState

LEEWAY = 60.0  # seconds beyond the budget: an arm that is running is let to its end by the trials themselves


class TrialRow(TypedDict):
    """One change that was tried; `interval` is after ÷ before of the metric, 95 %. `basis` is what 'helped' rests on: a
    smaller error, or a fault that is gone while the error is not shown to change."""

    fix: str
    cause: str
    verdict: str
    basis: str | None
    metric: str | None
    before: float | str | None
    after: float | str | None
    interval: list[float | str] | None
    cleared: list[str]
    seeds: int
    steps: int


class TrialAnswer(TypedDict):
    """`diff` is the best fix as a patch of the script; it was applied to copies only."""

    best: str | None
    diff: str
    trials: list[TrialRow]
    diagnosis: RunAnswer


def make(state: SessionState) -> Function:
    async def trial(
        context: Context,
        path: Annotated[str, Field(description="The training script (PyTorch). Copies of it are RUN several times.")],
        arguments: Annotated[list[str] | None, Field(description="Arguments of the script.")] = None,
        change: Annotated[
            list[str] | None,
            Field(
                description="What to change, such as lr=x0.1 or clip=1.0; without it the fixes of the diagnosis are "
                "tried."
            ),
        ] = None,
        steps: Annotated[int, Field(ge=10, description="Optimiser steps of one run at most.")] = 1000,
        seconds: Annotated[float, Field(ge=1, le=3600, description="Seconds of one run at most.")] = 60,
        budget: Annotated[float, Field(ge=1, le=7200, description="Seconds of all runs together.")] = 300,
        seeds: Annotated[int, Field(ge=2, le=20, description="Pairs of runs before a change is called helpful.")] = 3,
    ) -> Annotated[CallToolResult, TrialAnswer]:
        """Prove a fix: run copies of a script with and without the change, with the same seeds, and say whether it
        helped, with an interval, and which symptoms it cleared. Without `change` the script is diagnosed and its fixes
        are tried. RUNS THE SCRIPT several times within `budget` seconds; the script itself is never changed, the patch
        comes back as `diff`."""
        script = state.roots.path(path)
        command = ["fix"] if not change else ["trial", *(word for one in change for word in ("--set", one))]
        limits = {"--steps": steps, "--seconds": seconds, "--budget": budget, "--seeds": seeds}
        command += [word for name, value in limits.items() for word in (name, str(value))]
        command += ["--json", "{json}", "--", str(script), *(arguments or [])]
        result = await result_of(command, state.roots.home_of(script), budget + seconds + LEEWAY, context)
        result["diagnosis"]["run"]["source"] = path  # not the copy, which is gone
        page = replace(Diagnosis.from_json(result["diagnosis"]), next="")  # it advises what has just been done
        rows = [row_of(row) for row in result["trials"]]
        structure = TrialAnswer(best=result["best"], diff=result["diff"], trials=rows, diagnosis=short(page))
        gone = " (the fault is gone; the error is not shown to change)"
        reported = [
            f"{row['fix']}: {row['verdict']} over {row['seeds']} seeds{gone if row['basis'] == 'fault' else ''}"
            for row in rows
        ]
        best = [f"Best: {result['best']}", result["diff"]] if result["best"] else ["No change was shown to help."]
        return answer(structure, [sentence(page), *reported, *best])

    return trial


def row_of(row: dict[str, Any]) -> TrialRow:
    effect = row["effect"] or {}
    return TrialRow(
        fix=row["fix"], cause=row["cause"], verdict=row["verdict"], basis=row["basis"], metric=effect.get("metric"),
        before=effect.get("before"), after=effect.get("after"), interval=effect.get("interval"), cleared=row["cleared"],
        seeds=row["seeds"], steps=row["steps"],
    )  # fmt: skip


TOOL = Tool("trial", "Prove a fix on copies of a script", make, runs_code=True)
