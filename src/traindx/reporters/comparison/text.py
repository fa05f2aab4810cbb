"""The comparison in a terminal: the answer first, then the table, then what explains it."""

from __future__ import annotations

from rich.cells import cell_len

from traindx.comparison.result import Comparison, Explained
from traindx.reporters.comparison import parts
from traindx.reporters.layout import Ink, Style, hanging, table, wrap
from traindx.reporters.sparkline import label_width, sparkline
from traindx.reporters.wording import amount, clean

MOST_WIDTH = 140  # a table of runs is read across, unlike prose
_LABEL = 18
_CURVES = 4
_CURVE_COLUMNS = 50
_RUN_ROOM = 18
_NAME_ROOM = 24  # beside a curve
_SECRETS = 5  # unreadable runs that are named; the others are counted
_RIGHT = frozenset({"#", "best", "final", "runs", "mean", "unhealthy", "seed spread", "stability"})
_STYLE: dict[Explained, Style] = {
    "explains": "green",
    "no effect seen": "dim",
    "confounded": "yellow",
    "cannot tell": "yellow",
}


def as_text(comparison: Comparison, *, color: bool, width: int) -> str:
    ink, width = Ink(color), max(60, min(width, MOST_WIDTH))
    lines = wrap(f"traindx compare · {parts.title(comparison)}", width)
    if comparison.versus is not None:
        lines += ["", *_labelled("Did it help?", [parts.helped(comparison.versus)], ink, width)]
        for label, text in parts.versus_lines(comparison.versus):
            lines += hanging(f"    {label}", [text], _LABEL, width)
    lines += ["", *_runs(comparison, ink, width), "", *_curves(comparison, ink, width)]
    if comparison.groups:
        rows = table(parts.group_table(comparison), right=_RIGHT)
        lines += ["", f"  {ink('Seeds', 'heading')}", *(f"    {row}" for row in rows)]
    settings = () if comparison.versus is not None and len(comparison.rows) == 2 else comparison.explanations
    if comparison.versus is None or settings:
        lines += ["", *_labelled("What explains it", [parts.explained(comparison)], ink, width)]
    for one in settings[:8]:
        label = f"    {clean(one.setting)} · {one.verdict}"
        said = [parts.explanation(one)]
        lines += [label.replace(one.verdict, ink(one.verdict, _STYLE[one.verdict])), *hanging("", said, 6, width)]
    if len(settings) > 8:
        lines.append(f"    and {amount(len(settings) - 8, 'setting')} more (-f json lists them)")
    closing = [
        ("Double descent", [clean(descent.sentence) for descent in comparison.descents]),
        ("Aligned", [parts.aligned(comparison)]), ("Note", [clean(note) for note in comparison.notes]),
        ("Not read", _unreadable(comparison)),
    ]  # fmt: skip
    for label, texts in closing:
        lines += _labelled(label, texts, ink, width) if texts else []
    return "\n".join(lines) + "\n"


def _runs(comparison: Comparison, ink: Ink, width: int) -> list[str]:
    rows = parts.run_table(comparison)
    other = "final" if comparison.outcome == "best" else "best"
    for unneeded in ("stability", other, *reversed(rows[0][2:-4])):  # what a narrow terminal loses
        rest = sum(max(cell_len(row[i]) for row in rows) + 2 for i in range(len(rows[0])) if i != 1)
        if width - rest >= _RUN_ROOM:
            break
        if unneeded in rows[0]:
            place = rows[0].index(unneeded)
            rows = [row[:place] + row[place + 1 :] for row in rows]
    rest = sum(max(cell_len(row[i]) for row in rows) + 2 for i in range(len(rows[0])) if i != 1)
    shown = parts.Labels(comparison.rows).short(max(_RUN_ROOM, width - rest))
    rows = [[row[0], shown.get(row[1], row[1]), *row[2:]] for row in rows]
    lines = table(rows, right=_RIGHT)
    return [ink(lines[0], "dim"), *lines[1:]]


def _curves(comparison: Comparison, ink: Ink, width: int) -> list[str]:
    """The best and the worst runs as small pictures."""
    ranked = [row for row in comparison.ranked() if len(row.curve[0]) > 1]
    chosen = ranked if len(ranked) <= _CURVES else [*ranked[: _CURVES // 2], *ranked[-_CURVES // 2 :]]
    name = parts.Labels(comparison.rows)
    short = name.short(_NAME_ROOM)
    margin = max((label_width(row.curve[1]) for row in chosen), default=0)
    lines = []
    for row in chosen:
        columns = min(_CURVE_COLUMNS, width - margin - 32)
        picture = sparkline(row.curve[0], row.curve[1], columns=columns, rows=2, margin=margin)
        label = f"#{row.rank} {short[name(row)]}"
        for line, text in zip(picture, ("", label), strict=False):
            lines.append(f"  {ink(line.ljust(margin + 2 + columns), 'cyan')}  {text}".rstrip())
    return lines


def _unreadable(comparison: Comparison) -> list[str]:
    stated = [clean(problem) for problem in comparison.unreadable[:_SECRETS]]
    more = len(comparison.unreadable) - len(stated)
    return [*stated, f"and {more} more (-f json lists them)"] if more else stated


def _labelled(label: str, texts: list[str], ink: Ink, width: int) -> list[str]:
    lines = hanging(f"  {label}", texts, _LABEL + 2, width)
    if lines:
        lines[0] = lines[0].replace(label, ink(label, "heading"), 1)
    return lines
