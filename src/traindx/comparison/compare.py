"""Summaries in, the Comparison out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from traindx.comparison.align import Aligned, align, choose_measure, first_reach
from traindx.comparison.descent import find_descents
from traindx.comparison.explain import explain, turned
from traindx.comparison.result import Alignment, Comparison, Group, Level, Row
from traindx.comparison.settings import Table, groups_of, tabulate
from traindx.comparison.statistics import mean_interval
from traindx.comparison.summary import Measure, Summary
from traindx.comparison.versus import versus
from traindx.errors import TraindxError
from traindx.run import Floats
from traindx.version import __version__

Outcome = Literal["best", "final"]
ALL_REACH = 5  # up to this many healthy runs the target is what all of them reached; beyond, what four of five did
MOST_REACH = 0.8


def compare(
    runs: Sequence[Summary],
    *,
    outcome: Outcome | None = None,
    alignment: Alignment | None = None,
    unreadable: Sequence[str] = (),
) -> Comparison:
    """Compare two runs or more. Raises TraindxError where there is nothing to compare."""
    if len(runs) < 2:
        raise TraindxError(
            f"Only {len(runs)} run{'' if len(runs) == 1 else 's'} could be read; a comparison takes two.",
            unreadable[0] if unreadable else "Give more runs, or a directory that holds them.",
        )
    table = tabulate(runs)
    groups = groups_of(table)
    sides = _two_sides(table, groups)
    if outcome is None:  # what a search can pick from is the best; what a change did shows at the end
        outcome = "final" if sides is not None else "best"
    chosen = choose_measure(runs, table)
    measures = chosen.measures
    aligned = align(measures, table, alignment)
    sign = next(measure.sign for measure in measures if measure is not None)
    outcomes = np.array([_outcome(measure, outcome) for measure in measures])
    target = _target(runs, measures)
    reached = [
        first_reach(x, y, target) if measure is not None else None
        for measure, x, y in zip(measures, aligned.x, aligned.y, strict=True)
    ]
    finals = np.array([_outcome(measure, "final") for measure in measures])
    return Comparison(
        version=__version__, metric=chosen.name, role=chosen.role, goal="max" if sign < 0 else "min", outcome=outcome,
        alignment=aligned.axis, alignment_why=aligned.why, common_end=aligned.end, target=target * sign,
        rows=_rows(runs, measures, aligned, table, groups, outcomes, reached), differing=table.names,
        same_settings=table.same, groups=_groups(runs, table, groups, outcomes, sign),
        explanations=turned(explain(table, outcomes, groups), sign),
        descents=tuple(find_descents(table, measures, finals, groups)) if len(runs) > 2 else (),
        versus=None if sides is None else versus(runs, measures, outcome, outcomes.tolist(), reached, table, *sides),
        unreadable=tuple(unreadable),
        notes=(*chosen.notes, *_notes(runs, table, aligned)),
    )  # fmt: skip


def _outcome(measure: Measure | None, outcome: Outcome) -> float:
    """What a run is ranked by, lower being better; a run that ends in NaN has reached its best but no end."""
    if measure is None:
        return math.nan
    if outcome == "best":
        return measure.lower(measure.best)
    return math.nan if measure.broke else measure.lower(measure.final)


def _target(runs: Sequence[Summary], measures: Sequence[Measure | None]) -> float:
    """A level that (nearly) all healthy runs reached, so that reaching it can be compared: lower is better."""
    known = [(run, measure) for run, measure in zip(runs, measures, strict=True) if measure is not None]
    healthy = [measure.lower(measure.best) for run, measure in known if run.verdict != "unhealthy"]
    levels = healthy if len(healthy) >= 2 else [measure.lower(measure.best) for _, measure in known]
    if len(levels) <= ALL_REACH:
        return max(levels)
    return float(np.quantile(levels, MOST_REACH, method="higher"))


def _rows(
    runs: Sequence[Summary],
    measures: Sequence[Measure | None],
    aligned: Aligned,
    table: Table,
    groups: Sequence[Sequence[int]],
    outcomes: Floats,
    reached: Sequence[float | None],
) -> tuple[Row, ...]:
    group_of = {place: number for number, group in enumerate(groups) for place in group}
    order = sorted((i for i in range(len(runs)) if np.isfinite(outcomes[i])), key=lambda i: outcomes[i])
    rank_of = {place: rank for rank, place in enumerate(order, 1)}
    rows = []
    for i, run in enumerate(runs):
        measure, x, y = measures[i], aligned.x[i], aligned.y[i]
        unknown = Level(math.nan)
        sign = 1.0 if measure is None else measure.sign
        rows.append(
            Row(
                source=run.source, name=run.name, format=run.format, settings=table.values[i], seed=table.seeds[i],
                group=group_of[i], rank=rank_of.get(i), length=float(x[-1]) if len(x) else math.nan,
                best=unknown if measure is None else Level(measure.best, measure.best_error),
                best_at=math.nan if measure is None else measure.best_at,
                final=unknown if measure is None else Level(math.nan if measure.broke else measure.final,
                                                            measure.final_error),
                at_common=sign * float(np.interp(aligned.end, x, y)) if len(x) else math.nan, reached=reached[i],
                wobble=math.nan if measure is None else measure.wobble, broke=measure is not None and measure.broke,
                verdict=run.verdict, cause=run.cause, confidence=run.confidence, problems=run.problems,
                curve=(tuple(x.tolist()), tuple((y * sign).tolist())),
            )
        )  # fmt: skip
    return tuple(rows)


def _groups(
    runs: Sequence[Summary], table: Table, groups: Sequence[Sequence[int]], outcomes: Floats, sign: float
) -> tuple[Group, ...]:
    """The groups, best first; without any repetition there is nothing to group."""
    if all(len(group) == 1 for group in groups) or len(runs) == 2:
        return ()
    found = []
    for group in groups:
        values = [float(outcomes[i]) for i in group if np.isfinite(outcomes[i])]
        mean, half = mean_interval(values) if values else (math.nan, math.nan)
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
        sick = sum(runs[i].verdict == "unhealthy" for i in group)
        found.append(Group(table.values[group[0]], tuple(group), mean * sign, half, spread, sick))
    return tuple(sorted(found, key=lambda group: (math.isnan(group.mean), group.mean * sign)))


def _two_sides(table: Table, groups: Sequence[Sequence[int]]) -> tuple[Sequence[int], Sequence[int]] | None:
    """Before and after: two runs, or two settings with their seeds, in the order they were given."""
    if len(table.values) == 2:
        return [0], [1]
    return (groups[0], groups[1]) if len(groups) == 2 and all(table.known) else None


def _notes(runs: Sequence[Summary], table: Table, aligned: Aligned) -> list[str]:
    notes = []
    unknown = sum(not known for known in table.known)
    if unknown:
        notes.append(
            f"{unknown} of {len(runs)} runs tell no settings (neither in the log, nor beside it, nor in their names): "
            f"they are ranked, but "
            "explain nothing."
        )
    repeated = [group for group in groups_of(table) if len(group) > 1]
    if any(all(table.seeds[i] is None for i in group) for group in repeated):
        notes.append("Some runs have the same known settings and no seed in the log; they are taken for repetitions.")
    lengths = [float(x[-1]) for x in aligned.x if len(x)]
    if aligned.axis in ("step", "epoch", "row") and max(lengths) > 1.1 * min(lengths):
        notes.append(f"The runs are of different length; the shortest ends at {aligned.axis} {min(lengths):g}.")
    return notes
