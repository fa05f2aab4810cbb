"""Did the change help? Two runs, or two settings with seeds, before and after."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from traindx.comparison.result import Effect, Versus
from traindx.comparison.settings import Table, Value, shown
from traindx.comparison.statistics import welch_interval
from traindx.comparison.summary import Measure, Summary
from traindx.diagnosis import Verdict
from traindx.symptoms import symptoms

NORMAL95 = 1.96
FELL_APART = frozenset({"nonfinite-loss", "nonfinite-weight", "divergence"})
SEEN_DIRECTLY = 0.003  # background of a symptom that is a fact (engine/words.py: DIRECT)
# What another seed alone does to where a run ends, which a single run cannot know: these shares of its progress and of
# its level (for a score between 0 and 1, of what is missing to 1), and what it lost again after its best. How often
# that is too little, benchmarks/compare/honesty.py measures.
SEED_PROGRESS, SEED_LEVEL = 0.05, 0.1
TASK = ("classes", "num_classes", "target_shape")  # settings that say what is asked of the model


def versus(
    runs: Sequence[Summary],
    measures: Sequence[Measure | None],
    outcome: Literal["best", "final"],
    outcomes: Sequence[float],
    reached: Sequence[float | None],
    table: Table,
    before: Sequence[int],
    after: Sequence[int],
) -> Versus:
    """The report on two sides; `outcomes` are lower-is-better, NaN where a run has none."""
    olds, news = _finite(outcomes, before), _finite(outcomes, after)
    changed = _changes(table, before[0], after[0])
    cautions: list[str] = []
    other = _another_task(changed)
    improvement, interval, why = (
        (math.nan, math.nan, other) if other else _improvement(measures, outcome, olds, news, before, after, cautions)
    )
    cleared, new, still, open_ = _symptoms(runs, before, after)
    health = _health(runs, before), _health(runs, after)
    sign = next((m.sign for m in measures if m is not None), 1.0)
    old, now = (float(np.mean(side)) if side else math.nan for side in (olds, news))
    verdict: Effect = "cannot tell" if other else _verdict(improvement, interval, health, cleared, new)
    cautions += _what_was_changed(changed, table, before[0], after[0])
    return Versus(
        verdict=verdict, why=why, before=old * sign, after=now * sign, improvement=improvement, interval=interval,
        relative=improvement / abs(old) if old else math.nan, seeds=(len(before), len(after)), changed=changed,
        cleared=cleared, new=new, still=still, not_measured=open_, health=health, ends=_ends(measures, before, after),
        speed=None if other else _speed(reached, before, after), cautions=tuple(cautions),
    )  # fmt: skip


def _improvement(
    measures: Sequence[Measure | None],
    outcome: Literal["best", "final"],
    olds: Sequence[float],
    news: Sequence[float],
    before: Sequence[int],
    after: Sequence[int],
    cautions: list[str],
) -> tuple[float, float, str]:
    """How much lower (better) it is, the half-width of the 95 % interval, and where that comes from."""
    if not olds or not news:
        return math.nan, math.nan, "one side has no value to compare."
    if len(olds) >= 2 and len(news) >= 2:
        difference, half = welch_interval(olds, news)
        return -difference, half, f"interval over {len(olds)} and {len(news)} seeds"
    known = [measures[i] for i in (*before, *after)]
    errors = [m.best_error if outcome == "best" else m.final_error for m in known if m is not None]
    allowance = max((_allowance(m) for m in known if m is not None), default=0.0)
    noise = math.sqrt(sum(error**2 for error in errors if math.isfinite(error)))
    half = math.hypot(NORMAL95 * noise, allowance)
    cautions.append(
        "One run on a side: the interval is the noise of the curves and an allowance for what another seed may do. Two "
        "or more seeds "
        "on each side would measure it."
    )
    return (
        float(np.mean(olds) - np.mean(news)),
        half,
        "interval from the curves' own noise and an allowance for the seed",
    )


def _allowance(measure: Measure) -> float:
    level = abs(measure.final)
    if measure.kind == "score" and 0 <= measure.final <= 1:
        level = 1 - measure.final
    progress, rise = abs(measure.initial - measure.best), abs(measure.final - measure.best)
    return SEED_PROGRESS * progress + SEED_LEVEL * level + min(rise, progress)


def _verdict(
    improvement: float, interval: float, health: tuple[Verdict, Verdict], cleared: Sequence[str], new: Sequence[str]
) -> Effect:
    """The number decides where it can; where it cannot, a run that fell ill or recovered does."""
    if math.isfinite(improvement) and math.isfinite(interval) and abs(improvement) > interval:
        if improvement > 0:
            return "cannot tell" if new and health[1] == "unhealthy" and not cleared else "helped"
        return "cannot tell" if health == ("unhealthy", "healthy") else "worse"
    if health[0] == "unhealthy" and health[1] == "healthy" and _decisive(cleared):
        return "helped"
    if health[0] == "healthy" and health[1] == "unhealthy" and _decisive(new):
        return "worse"
    return "no difference" if math.isfinite(improvement) and math.isfinite(interval) else "cannot tell"


def _decisive(identifiers: Sequence[str]) -> bool:
    """Symptoms that do not come and go with the seed: what a recording sees directly, and a training that fell apart. A
    spike or a plateau more or less is chance."""
    known = symptoms()
    return any(i in FELL_APART or (i in known and known[i].background <= SEEN_DIRECTLY) for i in identifiers)


def _symptoms(
    runs: Sequence[Summary], before: Sequence[int], after: Sequence[int]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Problems cleared, new, still there, and gone from sight without having been measured again. With seeds, a problem
    counts where at least half of the side's runs show it."""
    old = _shown(runs, before)
    now = _shown(runs, after)
    absent_now = {i for i in old - now if all(i in runs[place].absent for place in after)}
    absent_then = {i for i in now - old if all(i in runs[place].absent for place in before)}
    return (
        tuple(sorted(absent_now)), tuple(sorted(absent_then)), tuple(sorted(old & now)),
        tuple(sorted((old ^ now) - absent_now - absent_then)),
    )  # fmt: skip


def _shown(runs: Sequence[Summary], side: Sequence[int]) -> set[str]:
    every = [set(runs[place].problems) for place in side]
    return {i for i in set().union(*every) if sum(i in shown_by for shown_by in every) * 2 >= len(side)}


def _health(runs: Sequence[Summary], side: Sequence[int]) -> Verdict:
    verdicts = [runs[place].verdict for place in side]
    if sum(verdict == "unhealthy" for verdict in verdicts) * 2 >= len(verdicts):
        return "unhealthy"
    return "healthy" if all(verdict == "healthy" for verdict in verdicts) else "inconclusive"


def _changes(table: Table, before: int, after: int) -> Mapping[str, tuple[Value, Value]]:
    old, new = table.values[before], table.values[after]
    return {name: (old[name], new[name]) for name in table.names if old[name] != new[name]}


def _another_task(changed: Mapping[str, tuple[Value, Value]]) -> str:
    """Why the losses of the two sides are those of different questions; '' where they are not."""
    found = next((name for name in TASK if name in changed), None)
    if found is None:
        return ""
    old, new = changed[found]
    return f"the task is another one ({found} {shown(old)} → {shown(new)}): its losses and scores do not compare."


def _what_was_changed(changed: Mapping[str, tuple[Value, Value]], table: Table, before: int, after: int) -> list[str]:
    if not table.known[before] or not table.known[after]:
        return ["The settings of both runs are not known, so what was changed is not either."]
    if not changed:
        return ["No known setting differs: what differs here is the seed, the data, or something that was not logged."]
    if len(changed) > 1:
        stated = ", ".join(f"{name} {shown(old)} → {shown(new)}" for name, (old, new) in list(changed.items())[:6])
        more = f" and {len(changed) - 6} more" if len(changed) > 6 else ""
        return [
            f"{len(changed)} settings differ ({stated}{more}), so these runs cannot say which of them did it: change "
            f"one at a time."
        ]
    return []


def _ends(measures: Sequence[Measure | None], before: Sequence[int], after: Sequence[int]) -> tuple[float, float]:
    """Where the two sides stand at the end; NaN for a side that broke."""
    sides = []
    for side in (before, after):
        finals = [math.nan if m.broke else m.final for i in side if (m := measures[i]) is not None]
        sides.append(float(np.mean(finals)) if finals else math.nan)
    return sides[0], sides[1]


def _speed(reached: Sequence[float | None], before: Sequence[int], after: Sequence[int]) -> float | None:
    olds = [value for i in before if (value := reached[i]) is not None]
    news = [value for i in after if (value := reached[i]) is not None]
    if not olds or not news or np.median(news) <= 0:
        return None
    return float(np.median(olds) / np.median(news))


def _finite(values: Sequence[float], side: Sequence[int]) -> list[float]:
    return [values[i] for i in side if math.isfinite(values[i])]
