"""Many runs at once: read, diagnosed and summarised by as many workers as there are, then compared in one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path

from traindx.comparison.compare import Outcome
from traindx.comparison.compare import compare as compare_summaries
from traindx.comparison.result import Alignment
from traindx.comparison.result import Comparison as Findings
from traindx.comparison.summary import Summary, summarise
from traindx.engine import judge
from traindx.engine.evidence import gather
from traindx.engine.rank import HEALTHY, OTHER
from traindx.errors import TraindxError
from traindx.executors import Executor, Lost, executor_for
from traindx.readers.units import Unit, runs_of, units_in
from traindx.reporters.comparison.html import as_html
from traindx.reporters.comparison.json import as_json
from traindx.reporters.comparison.markdown import as_markdown
from traindx.reporters.comparison.text import as_text
from traindx.run import Run
from traindx.signals import Settings, Signals
from traindx.signals.disguise import unmasked

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Comparison:
    """What `traindx.compare` gives: `findings` as data, and the page as text, Markdown, JSON, HTML or picture."""

    findings: Findings

    def text(self, width: int = 100) -> str:
        return as_text(self.findings, color=False, width=width)

    def markdown(self) -> str:
        return as_markdown(self.findings)

    def json(self) -> str:
        return as_json(self.findings)

    def html(self) -> str:
        return as_html(self.findings)

    def plot(self, output: str | PathLike[str]) -> Path:
        """Draw the curves over each other into a PNG file."""
        from traindx.reporters.figure import require_drawing
        from traindx.reporters.figure.compared import draw_comparison

        require_drawing()
        return draw_comparison(self.findings, Path(output))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return as_html(self.findings, whole=False)


def compare(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    metric: str | None = None,
    goal: str | None = None,
    outcome: Outcome | None = None,
    align: Alignment | None = None,
    executor: str | Executor = "local",
    workers: int | None = None,
    address: str | None = None,
    progress: Progress | None = None,
    allowed: Callable[[Path], bool] | None = None,
) -> Comparison:
    """Compare the runs in these files and directories. `metric` and `goal` ('min' or 'max') name what to go by,
    `outcome` whether the best or the final level counts (best; final for two sides), `align` the axis ('step', 'epoch',
    'progress', 'time'); each is found out unless given. Files in directories that are not `allowed` are left out."""
    if isinstance(paths, str | PathLike):
        paths = [paths]
    if goal not in (None, "min", "max"):
        raise TraindxError(f"goal is {goal!r}.", "Give 'min' or 'max'.")
    settings = Settings(None, metric, "min" if goal == "min" else "max" if goal == "max" else None)
    chosen = executor_for(executor, workers=workers, address=address) if isinstance(executor, str) else executor
    runs, unreadable = survey([Path(path) for path in paths], settings, chosen, progress, allowed)
    return Comparison(compare_summaries(runs, outcome=outcome, alignment=align, unreadable=unreadable))


def survey(
    paths: Sequence[Path],
    settings: Settings,
    executor: Executor,
    progress: Progress | None = None,
    allowed: Callable[[Path], bool] | None = None,
) -> tuple[list[Summary], list[str]]:
    """A summary of every run in these paths, in order, and one sentence for each that cannot be used."""
    if progress is not None:
        progress("looking for runs", 0, 0)
    units = units_in(paths, allowed)
    found: dict[int, list[Summary]] = {}
    problems: dict[int, list[str]] = {}
    work = partial(look_at, settings=settings, allowed=allowed)
    for done, (place, result) in enumerate(executor.map(work, units), 1):
        if isinstance(result, Lost):
            problems[place] = [f"{units[place].label}: {result.reason}."]
        else:
            found[place], problems[place] = result
        if progress is not None:
            progress("reading runs", done, len(units))
    runs = [summary for place in sorted(found) for summary in found[place]]
    return runs, [problem for place in sorted(problems) for problem in problems[place]]


def look_at(
    unit: Unit, settings: Settings, allowed: Callable[[Path], bool] | None = None
) -> tuple[list[Summary], list[str]]:
    """Read and judge the runs of one unit; what cannot be used is said, never raised."""
    runs, complaints = runs_of(unit, allowed)
    summaries = []
    for run in runs:
        try:
            summaries.append(_summary(run, settings))
        except TraindxError as error:
            complaints.append(str(error))
    return summaries, complaints


def _summary(run: Run, settings: Settings) -> Summary:
    """What the engine makes of a run, without the advice that a page of its own would give."""
    signals = unmasked(Signals(run, settings))
    evidence = gather(signals)
    ranked = evidence.ranked()
    fault = next(entry for entry in ranked if entry.cause not in (HEALTHY, OTHER))
    verdict = judge(evidence.observations, ranked)
    return summarise(signals, evidence.observations, verdict, fault.cause, fault.probability)
