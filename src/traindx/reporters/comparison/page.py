"""The comparison as a page with the components of the report: curves over each other to zoom into, which is better,
what explains it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from traindx.comparison.result import Comparison
from traindx.meaning import meaning_of
from traindx.reading import Table
from traindx.reporters.comparison import parts
from traindx.reporters.figure.choice import COLORS, Clock, Panel
from traindx.reporters.html.background import table_html
from traindx.reporters.html.document import SCRIPTS, asset, document
from traindx.reporters.html.evidence import curves
from traindx.reporters.html.markup import Html, inner, json_block, tag
from traindx.reporters.html.plots import Plots
from traindx.reporters.wording import amount
from traindx.run import Axis, Series

MAX_NAMED = 4
PAIR = 2  # runs that stand against each other: what changed is said at the top, and no setting can be told from another
MOST_CURVES = COLORS  # as many as there are colours to tell them apart
MOST_UNREADABLE = 50


def comparison_page(findings: Comparison) -> str:
    """One self-contained file."""
    script, style = asset(*SCRIPTS), asset("report.css")
    return document("comparison · traindx", comparison_body(findings), script=script, style=style)


def comparison_body(findings: Comparison) -> Html:
    """What a page shows of a comparison."""
    plots = _plots(findings)
    versus = findings.versus
    blocks: list[Html | None]
    if versus is None:
        blocks = [tag("h1", parts.explained(findings)), tag("p", parts.title(findings), class_="soft")]
    else:
        answer, _, numbers = parts.helped(versus).partition(": ")
        stated = [tag("li", tag("b", label), tag("span", text)) for label, text in parts.versus_lines(versus)]
        blocks = [
            tag("p", parts.title(findings), class_="soft small"), tag("h1", answer),
            tag("p", numbers, class_="said") if numbers else None, tag("ul", stated, class_="proof wide"),
        ]  # fmt: skip
    settings = [f"{one.setting} · {one.verdict}: {parts.explanation(one)}" for one in findings.explanations]
    besides = [
        *(descent.sentence for descent in findings.descents),
        f"Aligned {parts.aligned(findings)}",
        *findings.notes,
        *(f"Not read: {problem}" for problem in findings.unreadable[:MOST_UNREADABLE]),
    ]
    body = tag(
        "article",
        tag("section", blocks, class_="card"),
        curves(plots),
        tag("section", tag("h2", "Runs"), _table(parts.run_table(findings)), class_="card"),
        tag("section", tag("h2", "Seeds"), _table(parts.group_table(findings)),
            class_="card") if findings.groups else None,
        tag("section", tag("h2", "What explains it"),
            tag("p", parts.explained(findings)) if versus is not None else None, _folded("setting", settings),
            class_="card")
        if settings and not (versus is not None and len(findings.rows) == PAIR)
        else None,
        tag("section", _lines(besides), class_="card"),
        class_="run", id="run", data_plots="run-data",
    )  # fmt: skip
    return inner(body, json_block("run-data", plots.data()))


def _table(rows: Sequence[Sequence[str]]) -> Html:
    return table_html(Table("", tuple(rows[0]), tuple(tuple(row) for row in rows[1:])))


def _lines(texts: Sequence[str]) -> Html:
    return tag("ul", [tag("li", text) for text in texts], class_="lines small soft")


def _folded(noun: str, texts: Sequence[str]) -> Html | None:
    """The texts, folded away where they are many."""
    if len(texts) <= MAX_NAMED:
        return _lines(texts) if texts else None
    return tag("details", tag("summary", amount(len(texts), noun), " that differ"), _lines(texts))


def _plots(findings: Comparison) -> Plots:
    """The curves of the best runs, on the axis the comparison chose."""
    label = parts.Labels(findings.rows)
    meaning = meaning_of(findings.metric)
    axis = cast(Axis, findings.alignment)  # whatever it counts, all curves lie on it already
    kept = [
        Series(label(row), meaning, np.array(row.curve[0]), np.array(row.curve[1]), axis)
        for row in findings.ranked()[:MOST_CURVES]
        if len(row.curve[0]) > 1
    ]
    panels = (Panel(findings.metric, tuple(kept), tuple(range(len(kept)))),) if kept else ()
    first = min((float(one.steps[0]) for one in kept), default=0.0)
    last = max((float(one.steps[-1]) for one in kept), default=1.0)
    return Plots(Clock(axis, first, last), panels, (), (), (), 0)
