"""The comparison for a notebook: no script, no request, every text escaped, curves drawn as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from traindx.comparison.result import Comparison, Row
from traindx.reporters.comparison import parts
from traindx.reporters.comparison.page import comparison_page
from traindx.reporters.sparkline import is_log
from traindx.reporters.wording import number

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#7F4F9B", "#B8860B", "#56B4E9", "#CC79A7", "#666666", "#8C564B", "#17BECF")
_NAMED = len(COLOURS)
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 860, 320, 70, 30
_MOST_CURVES = 200
_STYLE = """
.traindx-compare{font:14px/1.5 system-ui,sans-serif;color:#22262b;max-width:1100px;margin:auto;padding:1rem}
.traindx-compare table{border-collapse:collapse;font-size:13px;margin:.6rem 0}
.traindx-compare td,.traindx-compare th{padding:.2rem .6rem;border-bottom:1px solid #e4e7eb;text-align:left}
.traindx-compare th{color:#5a6068;font-weight:600}.traindx-compare h1{font-size:1.15rem}.traindx-compare h2{font-size:1rem}
.traindx-compare .helped{color:#1e8449}.traindx-compare .worse{color:#c0392b}.traindx-compare svg{max-width:100%}
"""  # noqa: E501


def as_html(comparison: Comparison, *, whole: bool = True) -> str:
    """A page, or with `whole=False` what a notebook shows."""
    return comparison_page(comparison) if whole else _fragment(comparison)


def _fragment(comparison: Comparison) -> str:
    blocks = [f"<h1>traindx compare · {escape(parts.title(comparison))}</h1>"]
    versus = comparison.versus
    if versus is not None:
        kind = versus.verdict if versus.verdict in ("helped", "worse") else ""
        blocks.append(f'<h2>Did it help?</h2><p class="{kind}"><b>{escape(parts.helped(versus))}</b></p>')
        blocks.append(_list([f"{label}: {text}" for label, text in parts.versus_lines(versus)]))
    blocks += [_curves(comparison), _table(parts.run_table(comparison))]
    if comparison.groups:
        blocks.append(f"<h2>Seeds</h2>{_table(parts.group_table(comparison))}")
    blocks.append(f"<h2>What explains it</h2><p>{escape(parts.explained(comparison))}</p>")
    blocks.append(_list([f"{o.setting} · {o.verdict}: {parts.explanation(o)}" for o in comparison.explanations]))
    ends = [*(d.sentence for d in comparison.descents), f"Aligned {parts.aligned(comparison)}", *comparison.notes]
    ends += [f"Not read: {problem}" for problem in comparison.unreadable[:50]]
    blocks.append(_list(ends))
    return f'<div class="traindx-compare"><style>{_STYLE}</style>{"".join(blocks)}</div>'


def _list(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>" if items else ""


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in body)
    return f"<table><tr>{cells}</tr>{lines}</table>"


def _curves(comparison: Comparison) -> str:
    """All curves over each other, the best ones in colour and named, the others grey."""
    drawn = [row for row in comparison.ranked() if len(row.curve[0]) > 1][:_MOST_CURVES]
    values = [value for row in drawn for value in row.curve[1] if math.isfinite(value)]
    if not values:
        return ""
    logarithmic = is_log(values)
    label = parts.Labels(comparison.rows)
    low, high = min(values), max(values)
    first = min(row.curve[0][0] for row in drawn)
    last = max(row.curve[0][-1] for row in drawn)

    def down(value: float) -> float:
        if logarithmic:
            share = (math.log(high) - math.log(value)) / ((math.log(high) - math.log(low)) or 1)
        else:
            share = (high - value) / ((high - low) or 1)
        return 10 + share * (_HEIGHT - _BOTTOM - 10)

    def line(row: Row, colour: str, width: float) -> str:
        places = " ".join(
            f"{_LEFT + (x - first) / ((last - first) or 1) * (_WIDTH - _LEFT - 10):.1f},{down(y):.1f}"
            for x, y in zip(*row.curve, strict=True)
            if math.isfinite(y) and (y > 0 or not logarithmic)
        )
        dash = ' stroke-dasharray="5 3"' if row.verdict == "unhealthy" else ""
        name = escape(label(row))
        return (
            f'<polyline fill="none" stroke="{colour}" stroke-width="{width}"{dash} '
            f'points="{places}"><title>{name}</title></polyline>'
        )

    lines = [line(row, "#C9CED6", 1) for row in drawn[_NAMED:]]
    lines += [line(row, colour, 1.8) for row, colour in reversed(list(zip(drawn, COLOURS, strict=False)))]
    legend = "".join(
        f'<span style="color:{colour}">●</span> {escape(label(row))} '
        for row, colour in zip(drawn, COLOURS, strict=False)
    )
    ends = f"{escape(parts.place(first, comparison.alignment))} … {escape(parts.place(last, comparison.alignment))}"
    scale = ", log scale" if logarithmic else ""
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" width="{_WIDTH}">'
        f'<text x="4" y="16" font-size="12">{escape(number(high))}</text>'
        f'<text x="4" y="{_HEIGHT - _BOTTOM}" font-size="12">{escape(number(low))}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}" font-size="12">{escape(comparison.alignment)} {ends}{scale}; broken '
        f"lines: unhealthy</text>"
        f"{''.join(lines)}</svg><p>{legend}</p>"
    )
