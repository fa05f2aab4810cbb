"""`diagnose`: what is wrong with the runs at a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, cast

import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from traindx.casebook.places import book_path
from traindx.diagnosis import Diagnosis
from traindx.errors import TraindxError
from traindx.mcp.answers import RunAnswer, answer, sentence, short
from traindx.mcp.base import Function, Tool
from traindx.mcp.progress import reporter
from traindx.mcp.roots import Roots
from traindx.mcp.session_state import SessionState, page_of, place_of

URGENCY = {"unhealthy": 0, "inconclusive": 1, "healthy": 2}
PAGE = 5
Goal = Literal["min", "max"]
Stated = tuple[int | None, str | None, Goal | None]  # classes, metric, goal


class DiagnoseAnswer(TypedDict):
    """`verdict` is the worst of all runs; `runs` the page asked for, the sickest first."""

    verdict: str
    total: int
    runs: list[RunAnswer]
    next_cursor: str | None


def make(state: SessionState) -> Function:
    async def diagnose(
        context: Context,
        path: Annotated[
            str, Field(description="A log file, a run directory, a folder of runs or a *.traindx recording.")
        ],
        config: Annotated[
            str | None, Field(description="The training's settings (YAML or JSON), if not beside it.")
        ] = None,
        classes: Annotated[int | None, Field(ge=2, description="How many classes there are, if it is known.")] = None,
        metric: Annotated[str | None, Field(description="The logged name to judge the run by.")] = None,
        goal: Annotated[Goal | None, Field(description="Whether that metric should fall or rise.")] = None,
        limit: Annotated[int, Field(ge=1, le=50, description="Runs on one page.")] = PAGE,
        cursor: Annotated[str | None, Field(description="`next_cursor` of the answer before, for more runs.")] = None,
    ) -> Annotated[CallToolResult, DiagnoseAnswer]:
        """Diagnose a training from its log, run directory or recording: symptoms with numbers, ranked causes with
        probabilities and evidence, the fix as code, what not to do, and what was not measured. Use it first, before
        changing anything. Changes nothing of the run; the user's case book on this machine, unless it is off, notes the
        diagnosis as it does on the command line."""
        token, start = ("", 0) if cursor is None else place_of(cursor)
        pages: Sequence[Diagnosis]
        if cursor is None:
            pages = await anyio.to_thread.run_sync(
                lambda: examined(state.roots, path, config, (classes, metric, goal), reporter(context))
            )
        else:
            pages = cast("Sequence[Diagnosis]", state.answers.get(token))
        shown, after = page_of(pages, start, limit)
        if after is not None and not token:
            token = state.answers.put(pages)
        structure = DiagnoseAnswer(
            verdict=pages[0].verdict, total=len(pages), runs=[short(page) for page in shown],
            next_cursor=None if after is None else f"{token}.{after}",
        )  # fmt: skip
        more = [] if after is None else [f"{len(pages) - after} more runs: give cursor {token}.{after}"]
        return answer(structure, [*(sentence(page) for page in shown), *more])

    return diagnose


def examined(
    roots: Roots, path: str, config: str | None, reported: Stated,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Diagnosis]:  # fmt: skip
    """Every run at this path diagnosed, the sickest first."""
    from traindx.engine import diagnose as diagnose_run
    from traindx.opening import read
    from traindx.readers.settings import load_settings
    from traindx.signals import Settings

    settings: dict[str, Any] = {} if config is None else load_settings(roots.path(config))
    runs = read(roots.path(path), progress=progress, allowed=roots.holds)
    pages: list[Diagnosis] = []
    refused: TraindxError | None = None
    for place, run in enumerate(runs):
        real, run.source = run.source, roots.shown(run.source)
        run.add_config(settings)
        if progress is not None:
            progress("diagnosing", place, len(runs))
        again = partial(diagnose_run, run, Settings(*reported))
        try:
            pages.append(_remembered(again(), real, again))
        except TraindxError as error:
            refused = error
    if not pages and refused is not None:
        raise refused
    return sorted(pages, key=lambda page: URGENCY[page.verdict])


def _remembered(page: Diagnosis, real: str, again: Callable[..., Diagnosis]) -> Diagnosis:
    """The diagnosis with what past cases add to it, written down under the run's whole path."""
    if book_path() is None:
        return page
    from traindx.casebook.consulting import consult

    shown = page.run.source
    page = consult(_at(real, page), "diagnose", lambda hints: _at(real, again(hinted=hints)))
    return _at(shown, page)


def _at(source: str, page: Diagnosis) -> Diagnosis:
    return replace(page, run=replace(page.run, source=source))


TOOL = Tool("diagnose", "Diagnose a training", make, remembers=True)
