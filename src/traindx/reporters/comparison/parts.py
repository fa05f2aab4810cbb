"""The pieces of the page that every format shows: titles, tables and sentences, as cleaned text."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence

from traindx.comparison.explain import summary_sentence
from traindx.comparison.result import Comparison, Effect, Explanation, Level, Row, Versus
from traindx.comparison.settings import Value, shown
from traindx.diagnosis import STANDS_OUT
from traindx.reporters.layout import distinguished
from traindx.reporters.wording import amount, apart, clean, count, number, percent

SHOWN_FIRST, SHOWN_LAST = 15, 5  # of many runs; the others are in the JSON
SETTING_COLUMNS = 4
MANIFOLD = 10.0  # times as much: from here on nobody thinks in percent
_UNIT = {"step": "step", "epoch": "epoch", "progress": "", "time": "", "row": "value"}
_NORMAL95 = 1.96
HELPED: Mapping[Effect, str] = {
    "helped": "Yes, it helped", "worse": "No, it is worse", "no difference": "No difference that stands out",
    "cannot tell": "Cannot tell",
}  # fmt: skip


def title(comparison: Comparison) -> str:
    """What is compared, in one line."""
    runs = amount(len(comparison.rows), "run")
    seeds = f" ({amount(len(comparison.groups), 'setting')})" if comparison.groups else ""
    best = "lower is better" if comparison.goal == "min" else "higher is better"
    return (
        f"{runs}{seeds} by {clean(comparison.metric)} ({comparison.role}, {best}; {comparison.outcome} level held "
        f"over a tenth of a run)"
    )


def aligned(comparison: Comparison) -> str:
    why = f": {clean(comparison.alignment_why)}" if comparison.alignment_why else ""
    return f"by {comparison.alignment}{why}"


class Labels:
    """Names for runs, as short as tells them apart: without the folder all lie in, and without a file name all
    share."""

    def __init__(self, rows: Sequence[Row]) -> None:
        sources = {row.source for row in rows}
        try:
            common = os.path.commonpath([os.path.dirname(source) for source in sources])
        except ValueError:  # absolute and relative paths mixed
            common = ""
        names = {os.path.basename(source) for source in sources}
        self.folder = f"{common}/" if len(common) > 1 and len(sources) > 1 else ""
        self.file = f"/{names.pop()}" if len(names) == 1 and len(sources) > 1 else ""

        self._rows = rows

    def __call__(self, row: Row) -> str:
        source = row.source.removeprefix(self.folder).removesuffix(self.file) or row.source
        return clean(f"{source} ({row.name})" if row.name else source)

    def short(self, width: int) -> dict[str, str]:
        """By its label, at most `width` cells of each run, and never two alike."""
        return distinguished([self(row) for row in self._rows], width)


def level(value: Level) -> str:
    """'0.412 ± 0.003': a level and its 95 % interval from the noise of its curve."""
    if math.isnan(value.value):
        return "NaN"
    return (
        f"{number(value.value)} ± {number(_NORMAL95 * value.error, 2)}"
        if math.isfinite(value.error)
        else number(value.value)
    )


def place(value: float | None, alignment: str) -> str:
    if value is None:
        return "never"
    if math.isnan(value):
        return "–"
    if alignment == "progress":
        return f"{value * 100:.0f} %"
    return f"{value:.0f} s" if alignment == "time" else count(float(f"{value:.3g}"))


def stability(row: Row) -> str:
    """How much the second half scatters, as a share of the progress made."""
    if row.broke:
        return "broke"
    if math.isnan(row.wobble):
        return "–"
    return f"±{row.wobble * 100:.2g} %"


def diagnosis(row: Row) -> str:
    if row.verdict == "unhealthy" and row.cause:
        return f"unhealthy: {row.cause} {percent(row.confidence)}" if stands_out(row) else "unhealthy: cause unclear"
    return row.verdict


def stands_out(row: Row) -> bool:
    """Whether the cause of an unhealthy run may be named."""
    return row.verdict == "unhealthy" and bool(row.cause) and row.confidence >= STANDS_OUT


def columns(comparison: Comparison) -> list[str]:
    """The settings worth a column: those that explain most, then the others in their order."""
    order = [one.setting for one in comparison.explanations]
    order += [name for name in comparison.differing if name not in order]
    return order[:SETTING_COLUMNS]


def run_table(comparison: Comparison, *, every: bool = False) -> list[list[str]]:
    """One row a run, best first; of many the first and the last."""
    ranked = comparison.ranked()
    cut = not every and len(ranked) > SHOWN_FIRST + SHOWN_LAST + 1
    rows = [*ranked[:SHOWN_FIRST], None, *ranked[-SHOWN_LAST:]] if cut else list(ranked)
    label = Labels(comparison.rows)
    names = columns(comparison)
    with_seeds = any(row.seed is not None for row in comparison.rows)
    unit = _UNIT[comparison.alignment]
    head = ["#", "run", *map(clean, names), *(["seed"] if with_seeds else []), "best", "final",
            f"{number(comparison.target)} at {unit}".rstrip(), "stability", "diagnosis"]  # fmt: skip
    table = [head]
    for row in rows:
        if row is None:
            table.append(["", f"… {len(ranked) - SHOWN_FIRST - SHOWN_LAST} more …", *[""] * (len(head) - 2)])
            continue
        seed = [clean(shown(row.seed)) if row.seed is not None else "–"] if with_seeds else []
        table.append(
            [str(row.rank or "–"), label(row), *(value_of(row.settings[name]) for name in names), *seed,
             level(row.best), level(row.final), place(row.reached, comparison.alignment), stability(row),
             diagnosis(row)]
        )  # fmt: skip
    return table


def value_of(value: Value) -> str:
    text = clean(shown(value))
    return text if len(text) <= 24 else f"{text[:23]}…"


def group_table(comparison: Comparison) -> list[list[str]]:
    """One row a setting with its seeds: mean, 95 % interval, spread between seeds."""
    names = columns(comparison)
    table = [[*map(clean, names), "runs", "mean", "95 % interval", "seed spread", "unhealthy"]]
    groups = comparison.groups
    shown_groups = groups if len(groups) <= SHOWN_FIRST + SHOWN_LAST else groups[:SHOWN_FIRST]
    for group in shown_groups:
        interval = f"± {number(group.interval, 2)}" if math.isfinite(group.interval) else "one run"
        spread = number(group.spread, 2) if math.isfinite(group.spread) else "–"
        values = [value_of(group.settings[name]) for name in names]
        table.append([*values, str(len(group.runs)), number(group.mean), interval, spread, str(group.unhealthy)])
    return table


def explained(comparison: Comparison) -> str:
    return clean(summary_sentence(comparison.explanations, comparison.differing))


def explanation(one: Explanation) -> str:
    """One setting: the verdict, why, and what each of its values reached."""
    levels = ", ".join(f"{value_of(level.value)} → {number(level.mean)}" for level in one.levels[:6])
    more = f" and {len(one.levels) - 6} more" if len(one.levels) > 6 else ""
    return f"{clean(one.why)} Means: {levels}{more}." if one.levels else clean(one.why)


def helped(versus: Versus) -> str:
    """The first line of a before/after report."""
    word = HELPED[versus.verdict]
    if not math.isfinite(versus.improvement):
        if versus.verdict == "cannot tell":
            return f"{word}: {clean(versus.why)}"
        return f"{word}, by its symptoms; {clean(versus.why)}"
    if versus.verdict in ("helped", "worse") and abs(versus.improvement) <= versus.interval:
        word += ", by its symptoms; the metric alone would not say so"
    by = "worse" if versus.improvement < 0 else "better"
    levels = " → ".join(apart(versus.before, versus.after))
    if versus.verdict == "no difference":
        return f"{word}: {levels}, {by} by less than the ± {number(versus.interval, 2)} of chance; {clean(versus.why)}"
    return (
        f"{word}: {levels}, {by} by {number(abs(versus.improvement))} ± "
        f"{number(versus.interval, 2)}{_share(versus.relative)}; {clean(versus.why)}"
    )


def _share(relative: float) -> str:
    """How much that is of what there was: a percentage, or how many times where a percentage says nothing any more."""
    if not math.isfinite(relative):
        return ""
    return (
        f" ({relative * 100:+.1f} %)" if abs(relative) < MANIFOLD else f" ({number(1 + abs(relative))} times as large)"
    )


def versus_lines(versus: Versus) -> list[tuple[str, str]]:
    """Label and text of what else there is to say about before and after."""
    lines = [("health", f"{versus.health[0]} → {versus.health[1]}")]
    symptoms = [
        ("cleared", versus.cleared),
        ("new", versus.new),
        ("still", versus.still),
        ("not measured", versus.not_measured),
    ]
    lines += [(label, ", ".join(map(clean, ids))) for label, ids in symptoms if ids]
    if versus.changed and len(versus.changed) == 1:
        ((name, (old, new)),) = versus.changed.items()
        lines.append(("changed", f"{clean(name)} {value_of(old)} → {value_of(new)}, nothing else that is known"))
    if math.isnan(versus.before + versus.after) or (versus.before, versus.after) != versus.ends:
        lines.append(("at the end", f"{number(versus.ends[0])} → {number(versus.ends[1])}"))
    if versus.speed is not None:
        faster = versus.speed >= 1
        times = number(versus.speed if faster else 1 / max(versus.speed, 1e-12))
        pace = "as fast" if times == "1" else f"{times}x {'faster' if faster else 'more slowly'}"
        lines.append(("speed", f"reached the common target {pace}"))
    return [*lines, *(("caution", clean(caution)) for caution in versus.cautions)]
