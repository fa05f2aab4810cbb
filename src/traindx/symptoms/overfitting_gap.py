"""overfitting-gap: training improves while validation gets worse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals, choose
from traindx.signals.curve import MAX_BINS, Curve
from traindx.signals.score import Score, top_of
from traindx.signals.stats import mann_kendall, rank_sum
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.recipes import falling, flat, ramp, then

ID = "overfitting-gap"
MIN_POINTS = 4
FEW_VAL = 8  # evaluations: too few to tell their scatter
MANY_VAL = 30  # evaluations from which a tenth of them has a level
ONE_BAD = 0.5  # of the fall: what the last of a few evaluations may rise alone
RISE = 0.1  # of the best validation loss; half of it is plain
PLAIN_RISE = 0.5
CLEAR_RISE = 0.2  # is plain enough where training is at the bottom:
MEMORISED = 0.05  # of the validation loss
SCORE_STILL_RISING = 0.25  # a rise below this is excused by a validation score that is at its best now
CLIMB_Z = 2.2  # z score of the rise since the best evaluation: once in seventy by chance
CLIMB_POINTS = 8
ALONE = 0.4  # how clear it can be without a training loss,
DOUBLED, ALONE_PLAIN = 1.0, 0.75  # unless it rose so far that nothing is well, whichever of the two it is
LEARNS_ON = 0.25  # of the training loss at the best evaluation gone since: the gap opens from both sides
CREEP_POINTS = 12  # evaluations since the best,
CREEP_Z = 4.0  # that rise beyond any doubt,
CREEP_NOISE = 4.0  # by so many times the scatter between them
CREEP_RISE = 0.01  # and by this share of the best, count a little
CREEP_LEARNS = 0.05  # of the training loss gone since
CREEP_CLEAR = 0.3
FIRST_BEST = 1  # of the evaluations, counted from 0, is the best one: nothing that was learnt carried over,
NEVER_Z, NEVER_RISE, NEVER_LEARNS = 3.0, 0.02, 0.03  # where they rise beyond doubt by this much while training learns
NEVER_CLEAR = 0.5
BY_HEART = 0.85  # of the training data right,
BY_HEART_POINTS = 0.15  # more than of the held-out data, and
BY_HEART_TIMES = 3.0  # the training loss: no labelled log of a sound training is so far apart in both
BY_HEART_ROWS = 3
BY_HEART_CLEAR = 0.7
PART_RISE = 0.12
PART_SCORE_DROP = 0.02
SCORE_DROP = 0.04  # of the best score, where only scores are logged
SCATTERED = 16  # evaluations, whose last third is compared with the best sixth before it,
LEAST_WINDOW = 5  # of so many at least
RANKS_APART = 2.5  # standard deviations between their ranks: one pair in 160 lies so far apart by chance
SCATTERED_RISE, SCATTERED_PLAIN = 0.08, 0.4  # of the better level
SCATTERED_LEARNS = 0.15  # of the training loss gone in between
UNBROKEN = 4  # evaluations, each worse than the one before: one row of five is in that order once in 120 by chance
UNBROKEN_RISE = 0.05  # of the best, while a tenth of the training loss went
UNBROKEN_LEARNS = 0.1
UNBROKEN_CLEAR = 0.4
BEYOND_DOUBT = 0.8  # how clear a rise is that goes on for a dozen evaluations and is large as well


@dataclass(frozen=True)
class _Turn:
    """Where validation was best, and where it is now."""

    val: Curve
    best_at: float
    best: float
    now: float

    @property
    def rise(self) -> float:
        return self.now - self.best

    @property
    def relative(self) -> float:
        return self.rise / max(abs(self.best), 1e-300)

    @property
    def lowest(self) -> int:
        """One lucky evaluation decides nothing, but it is the one that was saved."""
        return int(np.argmin(self.val.y))

    @property
    def summary(self) -> str:
        val, lowest = self.val, self.lowest
        shown = f"{num(val.logged(float(val.y[lowest])))} ({val.at(float(val.x[lowest]))})"
        return f"{val.name} was best at {shown} and is {num(val.logged(self.now))} now{self.averaged}"

    @property
    def averaged(self) -> str:
        """Over what, where it is not the last value, which the curve names."""
        if num(self.now) == num(float(self.val.y[-1])):
            return ""
        return ", the median of the last 3 evaluations" if len(self.val) < MANY_VAL else ", the level of the last tenth"

    @property
    def since(self) -> str:
        """The rise from the lowest evaluation, in percent."""
        lowest = float(self.val.y[self.lowest])
        return percent((self.now - lowest) / max(abs(lowest), 1e-300))

    def present(self, evidence: str, clear: float) -> Observation:
        steps = (float(self.val.x[self.lowest]), float(self.val.x[-1]))
        return Observation(ID, "present", evidence, steps, self.val.name, clear)


def detect(signals: Signals) -> Observation:
    if signals.kind != "supervised":
        return Observation(ID, "unknown", "There is no validation loss in this kind of training.")
    found = _from_losses(signals)
    return found if found.state == "present" else _by_heart(signals) or found


def _from_losses(signals: Signals) -> Observation:
    val = signals.val
    if val is None or len(val) < MIN_POINTS:
        return _from_scores(signals)
    turn = _Turn(val, *_best(val), _now(val))
    pair = signals.train_at(np.array([turn.best_at, val.x[-1]]))
    if pair is None:
        return _alone(turn)
    train = float(pair[0]), float(pair[1])
    memorised = 0 <= train[1] < MEMORISED * turn.now
    climbs = _climbs(val, turn.best_at)
    enough = RISE / 2 if memorised and climbs else RISE
    beyond = (1.5 if climbs else 2.5) * _scatter(val)
    small = turn.relative < enough or turn.rise < beyond or val.clock_share(turn.best_at) > 0.93
    if small or _one_bad_evaluation(val, turn.best_at, turn.rise):
        return _small_rise(signals, turn, train)
    if turn.relative < SCORE_STILL_RISING and _score_at_its_best(signals.score) and not (memorised and climbs):
        assert signals.score is not None
        return Observation(ID, "absent", f"{turn.summary}, but {signals.score.name} is still at its best.")
    train_fell = train[0] - train[1]
    if train_fell < -0.02 * abs(train[0]):
        text = f"{turn.summary}, but the training loss rose too: not a gap but a loss of both."
        return Observation(ID, "absent", text)
    clear = clarity(turn.relative, RISE, PLAIN_RISE)
    learns_on = train_fell > LEARNS_ON * abs(train[0])
    if turn.relative > CLEAR_RISE and (memorised or (climbs and learns_on)):
        clear = max(clear, 0.8)
    elif memorised and climbs:
        clear = max(clear, 0.7)
    elif _creeps(val, turn.best_at, turn.rise, turn.relative):
        clear = max(clear, BEYOND_DOUBT)
    course = f"while the training loss went from {num(train[0])} to {num(train[1])}"
    return turn.present(f"{turn.summary} (+{turn.since}) {course}.", clear)


def _by_heart(signals: Signals) -> Observation | None:
    """Training data known by heart, held-out data not, wherever validation turned: a log may begin after that."""
    curves = [one for one in (signals.train, signals.val, signals.train_score, signals.score) if one is not None]
    if len(curves) < 4 or min(map(len, curves)) < MIN_POINTS:
        return None
    loss, val, known, score = curves
    if val.uncounted or score.sign > 0 or known.sign > 0:
        return None
    top = top_of(np.concatenate([known.series.values, score.series.values]))
    train, held = (float(np.median(one.y[-BY_HEART_ROWS:])) for one in (loss, val))
    right, carried = (-float(np.median(one.y[-BY_HEART_ROWS:])) / top for one in (known, score))
    apart = train > 0 and held >= BY_HEART_TIMES * train and right - carried >= BY_HEART_POINTS
    if not apart or right < BY_HEART:
        return None
    return Observation(
        ID, "present",
        f"{known.name} is {num(right * top)} and {score.name} {num(carried * top)}, {val.name} {num(held)} and "
        f"{loss.name} {num(train)} (medians of the last {BY_HEART_ROWS} evaluations): the training data are "
        "known by heart.", (float(val.x[0]), float(val.x[-1])), val.name, BY_HEART_CLEAR,
    )  # fmt: skip


def _alone(turn: _Turn) -> Observation:
    """Evaluations without a training loss beside them."""
    val, relative = turn.val, turn.relative
    small = relative < RISE or turn.rise < 2.5 * _scatter(val)
    if small or val.clock_share(turn.best_at) > 0.93 or len(val) < CLIMB_POINTS:
        return Observation(ID, "unknown", f"{turn.summary}; no training loss to compare with.")
    return turn.present(
        f"{turn.summary} (+{turn.since}); no training loss was logged beside it, so both may have risen.",
        ALONE if relative < DOUBLED else ALONE_PLAIN,
    )


def _small_rise(signals: Signals, turn: _Turn, train: tuple[float, float]) -> Observation:
    """A rise too small to count by its size: it may still go on and on, or be that of a part."""
    val, relative = turn.val, turn.relative
    worse = _unbroken(turn, train) or _through_scatter(signals, val)
    if worse is not None:
        return worse
    if (
        _creeps(val, turn.best_at, turn.rise, relative)
        and train[0] - train[1] > CREEP_LEARNS * abs(train[0])
        and not _score_at_its_best(signals.score)
    ):
        course = f"while the training loss went from {num(train[0])} to {num(train[1])}"
        return turn.present(f"{turn.summary} (+{turn.since}), evaluation by evaluation, {course}.", CREEP_CLEAR)
    climbs_from_the_first = turn.lowest <= FIRST_BEST and _climbs(val, float(val.x[turn.lowest]), NEVER_Z)
    if climbs_from_the_first and relative > NEVER_RISE and _fell(signals) and not _score_at_its_best(signals.score):
        text = f"{turn.summary} (+{turn.since}): it rises from the first evaluations on while training learns."
        return turn.present(text, NEVER_CLEAR)
    return _in_a_part(signals) or Observation(ID, "absent", f"{turn.summary} ({turn.since} off its best).")


def _creeps(val: Curve, best_at: float, rise: float, relative: float) -> bool:
    """A rise that is small but beyond doubt: many evaluations since the best, each a little worse than the last."""
    since = val.y[val.x >= best_at]
    if len(since) > MAX_BINS:
        since = val.bins.median[val.bins.x >= best_at]
    small = len(since) < CREEP_POINTS or relative < CREEP_RISE or rise < CREEP_NOISE * _scatter(val)
    return not small and mann_kendall(since) > CREEP_Z


def _unbroken(turn: _Turn, train: tuple[float, float]) -> Observation | None:
    """The run ends in a row of evaluations each of which is worse than the one before."""
    val = turn.val
    since = val.y[turn.lowest :]
    rise = (float(since[-1]) - float(since[0])) / max(abs(float(since[0])), 1e-300)
    unbroken = len(since) > UNBROKEN and bool(np.all(np.diff(since) > 0))
    if not unbroken or rise < UNBROKEN_RISE or train[0] - train[1] < UNBROKEN_LEARNS * abs(train[0]):
        return None
    return turn.present(
        f"{turn.summary} (+{percent(rise)}): each of the last {len(since) - 1} evaluations is worse than the one "
        f"before, while the training loss went from {num(train[0])} to {num(train[1])}.", UNBROKEN_CLEAR,
    )  # fmt: skip


def _through_scatter(signals: Signals, val: Curve) -> Observation | None:
    """Evaluations that scatter too much for the last one to say anything: their last third as a whole against the best
    sixth before it."""
    found = _thirds(val)
    if found is None or found.relative < SCATTERED_RISE:
        return None
    pair = signals.train_at(np.array([found.best_at, val.x[-1]]))
    if pair is None or pair[0] - pair[1] < SCATTERED_LEARNS * abs(float(pair[0])):
        return None
    return Observation(
        ID, "present",
        f"The last third of {val.name} lies at {num(found.now)}, {percent(found.relative)} above the level around "
        f"{val.at(found.best_at)} ({num(found.best)}) whatever its scatter, while the training loss went from "
        f"{num(float(pair[0]))} to {num(float(pair[1]))}.",
        (found.best_at, float(val.x[-1])), val.name, clarity(found.relative, SCATTERED_RISE, SCATTERED_PLAIN),
    )  # fmt: skip


@dataclass(frozen=True)
class _Thirds:
    best_at: float
    best: float
    now: float

    @property
    def relative(self) -> float:
        return (self.now - self.best) / max(abs(self.best), 1e-300)


def _thirds(curve: Curve) -> _Thirds | None:
    """The last third and the best sixth of the run before it, where their ranks differ beyond chance."""
    third, width = len(curve) // 3, max(LEAST_WINDOW, len(curve) // 6)
    if len(curve) < SCATTERED:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(curve.y[: len(curve) - third], width)
    levels = np.median(windows, axis=1)
    index = int(np.argmin(levels))
    last = curve.y[-third:]
    if rank_sum(last, windows[index]) < RANKS_APART:
        return None
    return _Thirds(float(curve.x[index + width // 2]), float(levels[index]), float(np.median(last)))


def _in_a_part(signals: Signals) -> Observation | None:
    """One part of a summed validation loss may turn while another hides it (a detector's box and class losses): counts
    when its training twin kept falling and the validation score fell from its best as well."""
    score = signals.score
    if score is None or len(score) < 8 or score.rise < PART_SCORE_DROP * max(abs(score.best), 1e-12):
        return None
    losses = choose.usable(signals.run, "loss")
    twins = {
        series.meaning.part: series
        for series in losses
        if series.meaning.split in ("train", "") and series.meaning.part
    }
    for series in losses:
        twin = twins.get(series.meaning.part)
        if series.meaning.split != "val" or twin is None or len(series) < 8 or len(twin) < 8:
            continue
        part, train = Curve(series), Curve(twin)
        relative = part.rise / max(abs(part.best), 1e-300)
        falling_on = train.level_at(part.best_at) - train.now > 0.05 * abs(train.now)
        if relative > PART_RISE and part.rise > 4 * part.level_noise and falling_on:
            return Observation(
                ID, "present", f"{part.name} was best at {num(part.best)} ({part.at(part.best_at)}) and is "
                               f"{num(part.now)} now "
                f"(+{percent(relative)}) while {train.name} kept falling, and {score.name} fell from "
                f"{num(score.logged(score.best))} "
                f"to {num(score.logged(score.now))}.", (part.best_at, float(part.x[-1])), part.name, 0.5,
            )  # fmt: skip
    return None


def _best(val: Curve) -> tuple[float, float]:
    """Best validation value; over three neighbours where there are enough, so that one lucky evaluation is no best."""
    if len(val) < 12:
        index = int(np.argmin(val.y))
        return float(val.x[index]), float(val.y[index])
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(val.y, 3), axis=1)
    index = int(np.argmin(smooth))
    return float(val.x[index + 1]), float(smooth[index])


def _fell(signals: Signals) -> bool:
    train = signals.train
    return train is not None and train.x[0] < 0.2 * train.x[-1] and train.reduction > NEVER_LEARNS


def _climbs(val: Curve, best_at: float, beyond: float = CLIMB_Z) -> bool:
    """Whether the evaluations since the best one rise beyond doubt, one by one, however they scatter."""
    since = val.y[val.x >= best_at]
    if len(since) > MAX_BINS:
        since = val.bins.median[val.bins.x >= best_at]
    return len(since) >= CLIMB_POINTS and mann_kendall(since) > beyond


def _now(val: Curve) -> float:
    return float(np.median(val.y[-1 if len(val) < FEW_VAL else -3 :])) if len(val) < MANY_VAL else val.now


def _one_bad_evaluation(val: Curve, best_at: float, rise: float) -> bool:
    """Of a few evaluations only the last lies above the best, by less than half of what they fell: noise does that
    too."""
    return (
        len(val) < FEW_VAL
        and int((val.x > best_at).sum()) == 1
        and rise < ONE_BAD * (float(val.y[0]) - float(val.y.min()))
    )


def _scatter(val: Curve) -> float:
    """Noise between evaluations, where there are enough of them to tell."""
    return val.noise if len(val) >= FEW_VAL else 0.0


def _score_at_its_best(score: Curve | None) -> bool:
    if score is None or len(score) < MIN_POINTS:
        return False
    return Score(score).at_its_best


def _from_scores(signals: Signals) -> Observation:
    """Without a validation loss: a validation score that fell from its best while the training one rose."""
    score, train = signals.score, signals.train_score
    if (
        score is None
        or len(score) < 6
        or score.series.meaning.split not in ("val", "test")
        or train is None
        or len(train) < 6
    ):
        few = signals.val
        text = "No validation loss was logged, so overfitting cannot be seen."
        if few is not None and len(few):
            text = f"{few.name} has {len(few)} values; {MIN_POINTS} show whether it turns."
        return Observation(ID, "unknown", text)
    drop = score.rise / max(abs(score.best), 1e-300)
    summary = f"{score.name} is {num(score.logged(score.now))}, its best was {num(score.logged(score.best))}"
    if drop > SCORE_DROP and score.rise > 4 * score.level_noise and train.clock_share(train.best_at) > 0.7:
        return Observation(
            ID, "present", f"{summary} while {train.name} kept rising.", (score.best_at, float(score.x[-1])),
            score.name,
            clarity(drop, SCORE_DROP, 0.2),
        )  # fmt: skip
    thirds = _thirds(score)
    learns = train.level_at(thirds.best_at) - train.now if thirds is not None else 0.0
    if thirds is not None and thirds.relative > SCORE_DROP and learns > SCORE_DROP * abs(train.now):
        return Observation(
            ID, "present", f"The last third of {score.name} lies at {num(score.logged(thirds.now))}, it was "
            f"{num(score.logged(thirds.best))} around {score.at(thirds.best_at)}, while {train.name} rose to "
            f"{num(train.logged(train.now))}.", (thirds.best_at, float(score.x[-1])), score.name,
            clarity(thirds.relative, SCORE_DROP, 0.2),
        )  # fmt: skip
    return Observation(ID, "absent", f"{summary}.")


SYMPTOM = Symptom(
    id=ID,
    title="validation gets worse while training improves",
    severity="problem",
    family="generalisation",
    background=0.06,
    needs=("validation loss",),
    doc="""
## What is observed
The validation loss has turned upwards while the training loss still falls. The step of the best validation value is the
one to go back to.

## How it is measured
The validation loss now against its best (over three neighbouring evaluations): present from +10 %, plain from +50 %,
when that is two and a half times the scatter between evaluations and the training loss did not rise as well. Where the
evaluations since the best one rise beyond doubt (z above 2.2 over eight or more), one and a half times the scatter is
enough, and half the rise where the training loss is below a twentieth of validation. Of fewer than eight evaluations a
last one that alone lies above the best counts only beyond half of what they fell. A rise below 25 % is excused while
the validation score is still at its best: losses can grow through overconfidence on the same mistakes. Without a
training loss a rise counts little, and so does one of 1 % or more that twelve evaluations since the best put beyond
doubt (z above 4, four times the scatter) while training lost 5 % and the score is past its best, or one of 2 % that
begins with the first evaluations (z above 3). Of a loss with parts, one that rose 12 % while its training twin and the
validation score fell. Whatever validation did, also where 85 % of the training data and 15 points fewer of the held-out
data are right while the validation loss is three times the training loss. Without a validation loss, a validation
score that lost 4 % of its best while the training score rose.

## Healthy range
Train below validation is normal, and a constant gap alone is no disease. Validation below train is normal with dropout,
augmentation or epoch-averaged training losses.

## What it usually means
The model memorises: too much capacity or too many epochs for the data. When it shows from the first epoch on, suspect
the split instead: unshuffled tail splits, other preprocessing, other labels.
""",
    detect=detect,
    cases=(
        Case("validation turns", "present",
             lambda: {"train_loss": falling(50, 2.2, 0.02),
                      "val_loss": then(falling(15, 2.0, 0.8, 0.01), ramp(35, 0.8, 1.5, 0.01))}),
        Case("one part turns, the score falls", "present",
             lambda: {"train/box_loss": falling(60, 0.1, 0.017, 0.01), "train/cls_loss": falling(60, 0.3, 0.1, 0.01),
                      "val/box_loss": then(falling(25, 0.07, 0.021, 0.01), ramp(35, 0.021, 0.027, 0.01)),
                      "val/cls_loss": falling(60, 0.3, 0.12, 0.01),
                      "metrics/mAP_0.5": then(ramp(30, 0.1, 0.88, 0.005), ramp(30, 0.88, 0.84, 0.005))}),
        Case("noisy evaluations that climb", "present",
             lambda: {"train_loss": falling(16, 0.6, 0.16, 0.01),
                      "val_loss": [0.41, 0.6, 0.47, 0.45, 0.38, 0.34, 0.42, 0.41, 0.31, 0.58, 0.59, 0.5, 0.69, 0.55,
                                   0.61, 0.66]}),
        Case("memorised, validation creeps up from the first evaluation", "present",
             lambda: {"train_loss": then(np.array([0.3]), np.zeros(13)), "val_loss": ramp(14, 1.5, 1.74, 0.002),
                      "val_accuracy": [0.60, 0.605, 0.6] * 4 + [0.603, 0.604]}),
        Case("creeps up beyond doubt", "present",
             lambda: {"train_loss": falling(55, 5.8, 2.9, 0.002, pace=2),
                      "val_loss": then(falling(36, 5.8, 4.13, 0.001), ramp(19, 4.13, 4.22, 0.0008))}),
        Case("rises a little from the first evaluation on", "present",
             lambda: {"train_loss": falling(120, 0.693, 0.63, 0.01), "val_loss": ramp(12, 0.685, 0.717, 0.002)}),
        Case("the last evaluations rise one after the other", "present",
             lambda: {"train_loss": ramp(10, 0.52, 0.32, 0.002),
                      "val_loss": [0.51, 0.477, 0.472, 0.477, 0.475, 0.465, 0.484, 0.490, 0.498, 0.505]}),
        Case("rises through a wide scatter", "present",
             lambda: {"train_loss": falling(60, 0.69, 0.2, 0.01),
                      "val_loss": then(falling(20, 0.72, 0.6, 0.12), ramp(40, 0.62, 0.85, 0.15))}),
        Case("scatters about one level", "absent",
             lambda: {"train_loss": falling(60, 0.69, 0.2, 0.01), "val_loss": falling(60, 0.72, 0.6, 0.15)}),
        Case("validation accuracy sinks through its scatter", "present",
             lambda: {"train_acc": ramp(120, 55.0, 84.0, 0.01),
                      "val_acc": then(ramp(30, 51, 72, 0.03), ramp(90, 73.0, 66.0, 0.03))}),
        Case("a constant gap", "absent", lambda: {"train_loss": falling(50, 2.2, 0.1),
                                                  "val_loss": falling(50, 2.2, 0.4, 0.01)}),
        Case("validation below train", "absent", lambda: {"train_loss": falling(30, 1.4, 0.1),
                                                          "val_loss": falling(30, 0.5, 0.02)}),
        Case("both rise", "absent", lambda: {"train_loss": ramp(20, 3.4, 4.4), "val_loss": ramp(20, 3.4, 4.6)}),
        Case("the last of seven evaluations is a bad one", "absent",
             lambda: {"train_loss": falling(60, 0.9, 0.02, 0.01),
                      "val_loss": [0.37, 0.11, 0.1, 0.012, 0.023, 0.0096, 0.09]}),
        Case("a piece of a log, the training data known by heart", "present",
             lambda: {"loss": (range(76, 84), flat(8, 0.23, 0.01)), "val_loss": (range(76, 84), flat(8, 3.3, 0.1)),
                      "acc": (range(76, 84), flat(8, 0.95, 0.005)), "val_acc": (range(76, 84), flat(8, 0.66, 0.01))}),
        Case("a piece of a log, held-out data a little worse", "absent",
             lambda: {"loss": (range(76, 84), flat(8, 0.23, 0.01)), "val_loss": (range(76, 84), flat(8, 0.4, 0.01)),
                      "acc": (range(76, 84), flat(8, 0.95, 0.005)), "val_acc": (range(76, 84), flat(8, 0.88, 0.01))}),
        Case("no validation", "unknown", lambda: {"train_loss": falling(50, 2.2, 0.1)}),
    ),
)  # fmt: skip
