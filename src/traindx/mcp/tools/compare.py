"""`compare`: what separates runs, which is better, and whether a change helped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, cast

import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from traindx.comparison.result import Comparison, Row, Versus
from traindx.mcp.answers import answer
from traindx.mcp.base import Function, Tool
from traindx.mcp.progress import reporter
from traindx.mcp.roots import Roots
from traindx.mcp.session_state import SessionState, page_of, place_of
from traindx.reporters.comparison import parts
from traindx.reporters.wording import clean, number

PAGE = 10
EXPLANATIONS = 6
PROBLEMS = 5


class RunRow(TypedDict):
    """One run among the others; `rank` counts from 1, the best first."""

    run: str
    rank: int | None
    best: float | None
    final: float | None
    verdict: str
    cause: str
    settings: dict[str, str]


class Explains(TypedDict):
    """How far one setting explains the differences."""

    setting: str
    verdict: str
    why: str
    best: str | None


class Change(TypedDict):
    """Before and after, for two sides: whether the change helped, and what became of the symptoms."""

    verdict: str
    why: str
    changed: dict[str, str]
    cleared: list[str]
    new: list[str]
    still: list[str]
    cautions: list[str]


class CompareAnswer(TypedDict):
    """`change` is there where two runs, or two settings, stand against each other."""

    metric: str
    goal: str
    total: int
    runs: list[RunRow]
    change: Change | None
    explanations: list[Explains]
    notes: list[str]
    unreadable: list[str]
    next_cursor: str | None


def make(state: SessionState) -> Function:
    async def compare(
        context: Context,
        path: Annotated[
            str | list[str],
            Field(description="A run (the one before a change), a directory with all runs, or a list of runs."),
        ],
        others: Annotated[
            list[str] | None, Field(description="More runs; with one, it is taken for the one after.")
        ] = None,
        metric: Annotated[str | None, Field(description="The logged name to compare by.")] = None,
        goal: Annotated[
            Literal["min", "max"] | None, Field(description="Whether that metric should fall or rise.")
        ] = None,
        limit: Annotated[int, Field(ge=1, le=50, description="Runs on one page.")] = PAGE,
        cursor: Annotated[str | None, Field(description="`next_cursor` of the answer before, for more runs.")] = None,
    ) -> Annotated[CallToolResult, CompareAnswer]:
        """Compare runs of any formats: which is better by how much, which settings differ and which of them explain it,
        and for two runs whether the change helped and which symptoms it cleared. Says so when these runs cannot tell.
        Reads only."""
        token, start = ("", 0) if cursor is None else place_of(cursor)
        if cursor is None:
            paths = [*([path] if isinstance(path, str) else path), *(others or [])]
            found = await anyio.to_thread.run_sync(lambda: _compared(state.roots, paths, metric, goal, context))
        else:
            found = cast("Sequence[Comparison]", state.answers.get(token))[0]
        ranked = found.ranked()
        shown, after = page_of(ranked, start, limit)
        if after is not None and not token:
            token = state.answers.put([found])
        structure = CompareAnswer(
            metric=clean(found.metric), goal=found.goal, total=len(ranked),
            runs=[_row(row, state.roots, found) for row in shown],
            change=None if found.versus is None else _change(found.versus),
            explanations=[Explains(setting=clean(e.setting), verdict=e.verdict, why=clean(e.why),
                                   best=None if e.best is None else clean(str(e.best)))
                          for e in found.explanations[:EXPLANATIONS]],
            notes=[clean(note) for note in found.notes],
            unreadable=[clean(text) for text in found.unreadable[:PROBLEMS]],
            next_cursor=None if after is None else f"{token}.{after}",
        )  # fmt: skip
        return answer(structure, _lines(structure))

    return compare


def _compared(
    roots: Roots, paths: Sequence[str], metric: str | None, goal: str | None, context: Context
) -> Comparison:  # fmt: skip
    from traindx.fleet import compare

    places = [roots.path(path) for path in paths]
    return compare(places, metric=metric, goal=goal, progress=reporter(context), allowed=roots.holds).findings


def _row(row: Row, roots: Roots, found: Comparison) -> RunRow:
    settings = {clean(name): clean(str(row.settings[name])) for name in found.differing if name in row.settings}
    return RunRow(
        run=clean(roots.shown(row.source) + (f" ({row.name})" if row.name else "")), rank=row.rank,
        best=_finite(row.best.value), final=_finite(row.final.value), verdict=row.verdict,
        cause=row.cause if parts.stands_out(row) else "",
        settings=settings,
    )  # fmt: skip


def _change(versus: Versus) -> Change:
    changed = {clean(name): f"{clean(str(old))} → {clean(str(new))}" for name, (old, new) in versus.changed.items()}
    return Change(
        verdict=versus.verdict, why=parts.helped(versus), changed=changed, cleared=list(versus.cleared),
        new=list(versus.new),
        still=list(versus.still), cautions=[clean(text) for text in versus.cautions],
    )  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _lines(reported: CompareAnswer) -> list[str]:
    lines = [f"{reported['total']} runs by {reported['metric']} ({reported['goal']})"]
    for run in reported["runs"]:
        final = "none" if run["final"] is None else number(run["final"])
        lines.append(f"{run['rank'] or '-'}. {run['run']}: {final}, {run['verdict']} {run['cause']}".rstrip())
    if reported["change"] is not None:
        lines.append(f"Did it help? {reported['change']['why']}")
    lines += [f"{entry['setting']}: {entry['verdict']}. {entry['why']}" for entry in reported["explanations"]]
    return [*lines, *reported["notes"], *reported["unreadable"]]


TOOL = Tool("compare", "Compare runs", make)
