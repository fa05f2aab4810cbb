"""Find the learning rates that work: sweep them on the captured batches, try the best ones, and place yours among them.

A coarse sweep finds the order of magnitude, a fine one the shape: where the loss begins to fall, where it falls
fastest, where it turns up for good. Short trainings at constant rates, all from the same state, then decide; the sweep
alone only guesses, because a rate that rises all the time is never the rate that acts. Where no rate works, none is
suggested."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from traindx.measurements import RateTrials
from traindx.probes.base import Deadline, Probe
from traindx.probes.rate_curve import RateCurve, read_curve
from traindx.probes.subject import Subject
from traindx.probes.sweep import Ground, Trial
from traindx.reading import Chart, Line, Mark, Reading, Table
from traindx.symptoms.base import num
from traindx.symptoms.base import times as short

ID = "lr-range"
LOWEST, HIGHEST = 1e-8, 1e3
COARSE_STEPS = 34  # three a decade
FINE_STEPS = (80, 50, 30)  # the most that fit into FINE_SHARE of the time left
FINE_SHARE = 0.4
BELOW, ABOVE = 10**3.5, 5.0  # how far the fine sweep reaches around the coarse one's edge
TRIAL_STEPS = (64, 40, 24)  # the most of which USUAL_TRIALS fit
FACTOR = 2.0  # from one tried rate to the next
USUAL_TRIALS, MOST_TRIALS = 6, 9
MARGIN = 2.0  # a few dozen updates on a few batches bear higher rates than a training does (docs/benchmarks.md)
CAUTION = 3.0  # below the edge, where time allowed no trials
NEGLIGIBLE = 0.005  # of the loss: where the best trial takes away less, no rate is what is missing


def measure(subject: Subject, deadline: Deadline) -> Reading:
    assert subject.optimizer is not None
    if any(
        not isinstance(group.get("lr"), int | float) and not hasattr(group.get("lr"), "item")
        for group in subject.optimizer.param_groups
    ):
        return _refusal("the optimiser chooses its own learning rate.")
    ground = Ground(subject, subject.extra_state().restore)
    if not ground.base > 0:
        return _refusal("the learning rate of every parameter group is zero.")
    if not np.isfinite(ground.first).all():
        return _refusal("the loss is not finite before the first update.")
    rates, found = ground.sweep(LOWEST, HIGHEST, COARSE_STEPS, deadline)
    each = ground.seconds
    coarse = read_curve(rates, found, ground.size)
    edge = coarse.edge or float(rates[-1])
    steps = next((n for n in FINE_STEPS if n * each <= FINE_SHARE * deadline.left), None)
    if deadline.passed or steps is None:
        return _refusal(f"one update takes {num(each)} s; a sweep does not fit into the time of a probe.")
    curve = read_curve(*ground.sweep(edge / BELOW, edge * ABOVE, steps, deadline), ground.size)
    length = next((n for n in TRIAL_STEPS if n * ground.seconds * USUAL_TRIALS <= deadline.left), 0)
    trials = _search(ground, curve, length, deadline) if length and curve.refusal is None else []
    return _reading(subject, ground, curve, sorted(trials, key=lambda trial: trial.rate))


def _search(ground: Ground, curve: RateCurve, length: int, deadline: Deadline) -> list[Trial]:
    """Try the script's rate, then climb from the steepest one to the best in both directions."""
    assert curve.steepest is not None
    own = ground.trial(ground.base, length)
    tried = {0: ground.trial(curve.steepest, length)}
    for direction in (1, -1):
        place = 0
        while len(tried) < MOST_TRIALS - 1 and not deadline.passed:
            place += direction
            tried[place] = ground.trial(curve.steepest * FACTOR**place, length)
            best = min(trial.score(ground.batches) for trial in tried.values())
            # two worse ones in a row end the climb: one may be bad luck
            ahead = [tried[place].score(ground.batches), tried[place - direction].score(ground.batches)]
            if min(ahead) > best or math.isinf(ahead[0]):
                break
    return [own, *tried.values()]


def suggestion(curve: RateCurve, trials: Sequence[Trial], batches: int) -> float | None:
    """Half the rate of the best trial; without trials the steepest rate of the sweep, kept away from the edge."""
    if curve.refusal is not None or curve.steepest is None:
        return None
    if not trials:
        return min(curve.steepest, curve.edge / CAUTION) if curve.edge else curve.steepest
    best = min(trials, key=lambda trial: trial.score(batches))
    return best.rate / MARGIN if best.score(batches) < 0 else None


def _reading(subject: Subject, ground: Ground, curve: RateCurve, trials: list[Trial]) -> Reading:
    rate = suggestion(curve, trials, ground.batches)
    refusal = curve.refusal or ("no rate that was tried brings the loss down for good" if rate is None else None)
    gained = max((-trial.score(ground.batches) for trial in trials), default=math.inf)
    if rate is not None and gained < NEGLIGIBLE * ground.size:
        rate, refusal = None, f"no rate that was tried lowers the loss by more than {gained / ground.size:.1%}"
    stable = _stable(curve, trials, ground)
    yours = f"Yours is {ground.base:.3g}"
    if rate is None:
        summary = f"No learning rate can be suggested: {refusal}. {yours}."
    else:
        reach = f" Above {stable:.2g} training is unstable." if stable is not None else ""
        factor = ground.base / rate
        times = max(factor, 1 / factor)
        place = "close to it" if times <= 3 else f"about {short(times)}x {'higher' if factor > 1 else 'lower'}"
        summary = f"Suggested learning rate ≈ {rate:.2g} (yours: {ground.base:.3g}, {place}).{reach}"
    return Reading(
        ID, summary, measured=tuple(_measured(ground, rate, stable, trials)),
        config={"probe.lr": rate} if rate is not None else {},
        tables=_tables(trials, ground), charts=(_chart(curve, rate, stable, ground), *_trial_chart(trials, ground)),
        unknown=(f"A learning rate to suggest: {refusal}.",) if rate is None else (),
    )  # fmt: skip


def _stable(curve: RateCurve, trials: list[Trial], ground: Ground) -> float | None:
    """The highest rate that is known to work: of trials that ended below their start, where one above ended higher or
    broke."""
    if not trials:
        return curve.edge
    failed = [trial.rate for trial in trials if trial.score(ground.batches) > 0]
    worked = [
        trial.rate for trial in trials if trial.score(ground.batches) < 0 and trial.rate < min(failed, default=math.inf)
    ]
    if failed and worked:
        return max(worked)
    return curve.edge if curve.edge is not None and curve.edge > max(worked, default=0.0) else None


def _measured(ground: Ground, rate: float | None, stable: float | None, trials: list[Trial]) -> Iterator[RateTrials]:
    own = next((trial for trial in trials if trial.rate == ground.base), None)
    if own is None or rate is None:
        return
    best = min(trials, key=lambda trial: trial.score(ground.batches))
    change = own.score(ground.batches)
    yield RateTrials(
        rate=ground.base, change=change if math.isfinite(change) else None, suggested=rate, stable=stable,
        best_rate=best.rate, best_change=best.score(ground.batches), updates=len(best.losses), size=ground.size,
        warms=ground.warms,
    )  # fmt: skip


def _tables(trials: list[Trial], ground: Ground) -> tuple[Table, ...]:
    if not trials:
        return ()
    rows = []
    for trial in trials:
        change = trial.score(ground.batches)
        note = "yours" if trial.rate == ground.base else ""
        rows.append((f"{trial.rate:.3g}", len(trial.losses), change if math.isfinite(change) else "NaN or Inf", note))
    return (Table("Short trainings at constant rates", ("rate", "updates", "change of the loss", ""), tuple(rows)),)


def _chart(curve: RateCurve, rate: float | None, stable: float | None, ground: Ground) -> Chart:
    shown = min(len(curve.raw), len(curve.smooth) or len(curve.raw))
    x = tuple(curve.rates[:shown].tolist())
    ceiling = max(2 * curve.descent, ground.size)
    lines = [Line("each update", x, tuple(np.minimum(curve.raw[:shown], ceiling).tolist()), "faint")]
    if len(curve.smooth):
        lines.append(Line("smoothed", x, tuple(np.minimum(curve.smooth, ceiling).tolist())))
    marks = [Mark(curve.begin, f"falls from {curve.begin:.1g} on")] if curve.begin is not None else []
    marks += [Mark(rate, f"suggested {rate:.2g}")] if rate is not None else []
    marks += [Mark(stable, f"stable up to {stable:.2g}")] if stable is not None else []
    marks += [
        Mark(ground.base, f"yours {ground.base:.2g}", urgent=rate is not None and not 1 / 30 < ground.base / rate < 30)
    ]
    return Chart(
        "Loss while the learning rate rises",
        "learning rate",
        "change of the loss",
        tuple(lines),
        tuple(marks),
        log_x=True,
    )


def _trial_chart(trials: list[Trial], ground: Ground) -> tuple[Chart, ...]:
    ended = [
        (trial.rate, trial.score(ground.batches)) for trial in trials if math.isfinite(trial.score(ground.batches))
    ]
    if len(ended) < 2:
        return ()
    ceiling = max(ground.size, -2 * min(score for _, score in ended))
    line = Line(
        "end of a short training", tuple(r for r, _ in ended), tuple(min(s, ceiling) for _, s in ended), "points"
    )
    return (Chart("Short trainings at constant rates", "learning rate", "change of the loss", (line,), log_x=True),)


def _refusal(why: str) -> Reading:
    return Reading(ID, f"No learning rate can be suggested: {why}", unknown=(f"A learning rate to suggest: {why}",))


PROBE = Probe(ID, "learning-rate range", measure, needs=("loss", "optimizer"), seconds=8.0, whole=True)
