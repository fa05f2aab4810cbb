"""Which setting explains what the runs reached, and where these runs cannot tell.

A setting is best judged among runs that agree in all others: one change at a time. Where a search drew everything at
random there are no such runs, and the others are taken out by regression. Either way a p-value comes from permuting the
outcomes, corrected for the number of settings asked about; settings that always change together are named instead of
guessed at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from traindx.comparison.result import Explanation, LevelOfSetting
from traindx.comparison.settings import UNSET, Table, Value, numeric, shown
from traindx.comparison.statistics import (
    Tested,
    explained_given,
    explained_within,
    f_test_within,
    holm,
    mean_interval,
    ranks,
)
from traindx.run import Floats

SIGNIFICANT = 0.05
LEAST_RUNS = 4
ENOUGH_PER_COLUMN = 3  # groups a regression needs for each column, or it fits anything
TOGETHER = 0.9  # rank correlation from which two numeric settings were changed together
MOST_LEVELS = 10  # of a setting in words; the rarer ones are one level
SHOWN_LEVELS = 12
LOG_RANGE = 10.0  # settings that span more than this are compared on a logarithmic scale


def explain(table: Table, outcomes: Floats, groups: Sequence[Sequence[int]]) -> list[Explanation]:
    """One explanation a setting, the most telling first. `outcomes` are lower-is-better, NaN for runs that cannot be
    ranked."""
    usable = [i for i in range(len(outcomes)) if np.isfinite(outcomes[i]) and table.known[i]]
    names = _distinct(table, usable)
    found: list[Explanation] = []
    tests: list[Tested] = []
    for name in names:
        explanation, tested = _one(name, names, table, outcomes, usable, groups)
        found.append(explanation)
        tests.append(tested)
    asked = [i for i, explanation in enumerate(found) if explanation.verdict == "no effect seen"]
    corrected = dict(zip(asked, holm([tests[i].p for i in asked]), strict=True))
    attainable = dict(zip(asked, holm([tests[i].least_p for i in asked]), strict=True))
    for i in asked:
        found[i] = _judged(found[i], corrected[i], attainable[i])
    weight = {"explains": 0, "confounded": 1, "no effect seen": 2, "cannot tell": 3}
    return sorted(found, key=lambda one: (weight[one.verdict], one.p, -one.share))


def _judged(explanation: Explanation, p: float, attainable: float) -> Explanation:
    stated = replace(explanation, p=p)
    if p <= SIGNIFICANT:
        return replace(stated, verdict="explains", why=f"{explanation.why} p = {p:.2g} (corrected).")
    if attainable > SIGNIFICANT:
        return replace(
            stated, verdict="cannot tell",
            why=f"{explanation.why} Even the clearest effect could not be told from chance with so few: repeat with "
                f"more seeds.",
        )  # fmt: skip
    return replace(stated, why=f"{explanation.why} p = {p:.2g} (corrected): no more than chance gives.")


def _one(
    name: str,
    names: Sequence[str],
    table: Table,
    outcomes: Floats,
    usable: Sequence[int],
    groups: Sequence[Sequence[int]],
) -> tuple[Explanation, Tested]:
    values = [table.values[i][name] for i in usable]
    levels = _levels(values, outcomes[usable])
    best = min(levels, key=lambda level: level.mean).value if levels else None
    nothing = Tested(0.0, 1.0, 1.0)
    open_ = Explanation(name, "cannot tell", "", 0.0, 1.0, "none", levels[:SHOWN_LEVELS], best)
    if len(usable) < LEAST_RUNS:
        few = f"Only {len(usable)} runs can be ranked; it takes {LEAST_RUNS} at the least."
        return replace(open_, why=few), nothing
    others = [other for other in names if other != name]
    strata = _strata(name, others, table, usable)
    inside = sum(len(stratum) for stratum in strata)
    partners = _partners(name, others, table, usable)
    units = _unit_means(groups, outcomes, usable)
    columns = 1 + sum(_features([table.values[i][other] for i, _ in units]).shape[1] for other in names)
    can_regress = not partners and len(units) >= ENOUGH_PER_COLUMN * columns
    if strata and (inside >= len(usable) / 2 or not can_regress):
        x = _features([table.values[i][name] for i in range(len(outcomes))])
        y = np.zeros(len(outcomes))
        y[usable] = ranks(outcomes[usable])
        tested = explained_within(x, y, strata)
        if tested.least_p > SIGNIFICANT and (p := f_test_within(x, np.nan_to_num(outcomes), strata)) is not None:
            tested = Tested(tested.share, p, 0.0)
        others_said = "agree in all other settings" if others else "differ in nothing else"
        why = f"Among {inside} runs that {others_said} it explains {_percent(tested.share)} of the order."
        return replace(open_, verdict="no effect seen", why=why, share=tested.share, design="controlled"), tested
    if partners:
        why = (
            f"It never changes without {' and '.join(partners)}: these runs cannot tell them apart. Change one at a "
            f"time."
        )
        return replace(open_, verdict="confounded", why=why, confounded_with=tuple(partners)), nothing
    if not can_regress:
        need = ENOUGH_PER_COLUMN * columns
        why = (
            f"{len(units)} different settings for {len(names)} that differ; it takes about {need}, or one change at "
            f"a time."
        )
        return replace(open_, why=why), nothing
    y = ranks(np.array([mean for _, mean in units]))
    x = _features([table.values[i][name] for i, _ in units])
    rest = [_features([table.values[i][other] for i, _ in units]) for other in others]
    tested = explained_given(x, np.column_stack(rest) if rest else np.empty((len(y), 0)), y)
    why = f"Over {len(units)} settings it explains {_percent(tested.share)} of the order that the others leave open."
    return replace(open_, verdict="no effect seen", why=why, share=tested.share, design="random"), tested


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _distinct(table: Table, usable: Sequence[int]) -> list[str]:
    """The settings that differ among these runs; of several with the same values everywhere the first stands for
    all."""
    seen: dict[tuple[Value, ...], str] = {}
    for name in table.names:
        values = tuple(table.values[i][name] for i in usable)
        if len(set(values)) > 1:
            seen.setdefault(values, name)
    return list(seen.values())


def _strata(name: str, others: Sequence[str], table: Table, usable: Sequence[int]) -> list[list[int]]:
    """Runs that agree in all other settings and not in this one."""
    found: dict[tuple[Value, ...], list[int]] = {}
    for i in usable:
        found.setdefault(tuple(table.values[i][other] for other in others), []).append(i)
    return [rows for rows in found.values() if len({table.values[i][name] for i in rows}) > 1]


def _partners(name: str, others: Sequence[str], table: Table, usable: Sequence[int]) -> list[str]:
    """Settings that changed whenever this one did, or that follow it closely."""
    mine = [table.values[i][name] for i in usable]
    partners: list[str] = []
    for other in others:
        theirs = [table.values[i][other] for i in usable]
        pairs = len(set(zip(mine, theirs, strict=True)))
        tied = (pairs == len(set(mine)) == len(set(theirs)) and pairs < len(usable)) or _correlated(mine, theirs)
        if tied or (len(set(mine)) == 2 and pairs == len(set(theirs)) == 2):
            partners.append(other)
    return partners


def _correlated(mine: Sequence[Value], theirs: Sequence[Value]) -> bool:
    if not (all(map(numeric, mine)) and all(map(numeric, theirs))) or len(mine) < LEAST_RUNS:
        return False
    one, two = ranks(np.array(mine, dtype=np.float64)), ranks(np.array(theirs, dtype=np.float64))
    if one.std() == 0 or two.std() == 0:
        return False
    return bool(abs(np.corrcoef(one, two)[0, 1]) >= TOGETHER)


def _unit_means(groups: Sequence[Sequence[int]], outcomes: Floats, usable: Sequence[int]) -> list[tuple[int, float]]:
    """A representative run and the mean outcome of every group: seeds of one setting are not settings of their own."""
    allowed = set(usable)
    units = []
    for group in groups:
        members = [i for i in group if i in allowed]
        if members:
            units.append((members[0], float(outcomes[members].mean())))
    return units


def _features(values: Sequence[Value]) -> Floats:
    """A setting as columns: numbers with their square, so that a best value in the middle shows; words one column
    each."""
    if all(map(numeric, values)):
        x = np.array(values, dtype=np.float64)
        if x.min() > 0 and x.max() / x.min() >= LOG_RANGE:
            x = np.log(x)
        if x.std() == 0:
            return np.zeros((len(x), 1))
        x = (x - x.mean()) / x.std()
        return np.column_stack([x, x**2]) if len(np.unique(x)) > 2 else x[:, None]
    text = [shown(value) for value in values]
    known, counts = np.unique(text, return_counts=True)
    kept = [known[i] for i in np.argsort(-counts, kind="stable")[: MOST_LEVELS + 1]][1:]
    return (
        np.column_stack([[float(value == level) for value in text] for level in kept])
        if kept
        else np.zeros((len(text), 1))
    )


def _levels(values: Sequence[Value], outcomes: Floats) -> tuple[LevelOfSetting, ...]:
    """What was reached with each value, in the order of the values."""
    by_value: dict[Value, list[float]] = {}
    for value, outcome in zip(values, outcomes, strict=True):
        by_value.setdefault(value, []).append(float(outcome))
    order = sorted(
        by_value, key=lambda value: (value == UNSET, not numeric(value), value if numeric(value) else 0.0, str(value))
    )
    return tuple(LevelOfSetting(value, *mean_interval(by_value[value]), len(by_value[value])) for value in order)


def turned(explanations: Sequence[Explanation], sign: float) -> tuple[Explanation, ...]:
    """The explanations with their levels as logged again."""
    return tuple(
        replace(one, levels=tuple(replace(level, mean=level.mean * sign) for level in one.levels))
        for one in explanations
    )


def summary_sentence(explanations: Sequence[Explanation], settings: Mapping[str, Value] | Sequence[str]) -> str:
    """One line: what explains, or that these runs cannot tell."""
    explaining = [one.setting for one in explanations if one.verdict == "explains"]
    if explaining:
        return f"{' and '.join(explaining)} explain{'s' if len(explaining) == 1 else ''} what the runs reached."
    if not settings:
        return "The known settings do not differ."
    confounded = [one for one in explanations if one.verdict == "confounded"]
    if confounded:
        return "Cannot tell from these runs: settings were changed together."
    if any(one.verdict == "cannot tell" for one in explanations):
        return "Cannot tell from these runs: too few for the settings that differ."
    return "None of the differing settings explains what the runs reached."
