"""divergence: the objective left its best value for good."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.chance import chance_of
from traindx.signals.curve import Curve
from traindx.signals.few import loss_thrown_off
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.policy import rivals
from traindx.symptoms.recipes import falling, flat, ramp, then
from traindx.symptoms.token_counts import counts_of

ID = "divergence"
MIN_POINTS = 8
FEW_CLEAR = 0.4  # for the last row of a handful
MIN_COURSE = 10  # values: too few to see a course in
MIN_VALUES = 4  # of them, beside many evaluations
LEFT = 0.1  # of its best: how far an evaluation, and the training loss, is off
ALMOST_ALL = 0.9
BOTH = 1.5  # times its best: where both losses stand once they have left it together
VALIDATION_ALONE = 0.5  # how clear it can be where only evaluations are logged
LOST_SHARE = 0.3  # of the progress made; 0.7 lost again is plain
DRIFT_SHARE = 0.012  # of the level, for runs that only ever get worse
MANY_TIMES = 10.0  # its best: more is recognised by the values, since nobody reads such a percentage
KNEW = 0.75  # of what a guess costs: a first loss below belongs to a model that was trained before
NEVER_BACK = 1.2  # times the first loss, where the lowest level since is: batches differ by less
FIRST = 3  # values, the largest of which is compared with the last quarter,
EXPLODED = 100.0  # times as large: of 105 runs in labelled sound logs none ends above them (0.98 at most)
DRIFT_Z = 3.5  # Mann-Kendall score of such a drift
NOISE_FACTOR = 5.0


def detect(signals: Signals) -> Observation:
    curve = signals.main
    if curve is None or len(curve) < MIN_POINTS:
        apart = _both_left(signals, curve) if curve is not None and len(curve) >= MIN_VALUES else None
        return (
            apart
            or _at_once(signals)
            or Observation(ID, "unknown", "Too few values of an objective to see whether it left its best for good.")
        )
    if curve.uncounted:
        return Observation(
            ID, "unknown", f"{curve.name} is logged without steps: these may be results of several folds or models."
        )
    abandoned = _before_resuming(signals, curve)
    if abandoned is not None:
        return abandoned
    found = _judge(curve)
    if found is not None and signals.kind == "rl":
        return _of_returns(signals, curve, found)
    if found is not None and found.steps is not None and signals.kind == "supervised" and curve is signals.train:
        better = signals.better_after(curve.clock_share(found.steps[0]))
        if better is not None:
            return Observation(
                ID, "absent", f"{curve.name} rose to {num(curve.logged(curve.now))}, but {better.name} went on to its "
                              f"best: "
                "another loss is logged since, or the data got harder.",
            )  # fmt: skip
    if found is not None and curve.series.meaning.split in ("val", "test") and signals.kind == "supervised":
        text = f"{found.evidence} No training loss was logged beside it: memorised data look the same."
        return Observation(ID, "present", text, found.steps, found.where, min(found.clarity, VALIDATION_ALONE))
    if found is not None:
        gone = signals.kind == "supervised" and signals.ordinary and _exploded(curve)
        return replace(found, clarity=1.0, conclusive=True) if gone else found
    apart = _both_left(signals, curve) or _both_rose(signals) or _never_back(signals, curve)
    if apart is not None:
        return apart
    return Observation(
        ID,
        "absent",
        f"{curve.name} is at {num(curve.logged(curve.now))}, its best level was {num(curve.logged(curve.best))}.",
    )


def _exploded(curve: Curve) -> bool:
    """All of the last quarter lies so far above the first values that no noise of batches and no further step brings it
    back."""
    first = float(np.max(curve.y[:FIRST]))
    return curve.sign > 0 and first > 0 and float(np.min(curve.y[-max(2, len(curve) // 4) :])) > EXPLODED * first


def _at_once(signals: Signals) -> Observation | None:
    """A handful of rows, the last of which lie far off all others."""
    found = loss_thrown_off(signals)
    if found is None:
        return None
    one, certain = found
    steps = (one.step, float(one.curve.x[-1]))
    return Observation(
        ID, "present", one.sentence, steps, one.curve.name, 1.0 if certain else FEW_CLEAR, conclusive=certain
    )  # fmt: skip


def _of_returns(signals: Signals, curve: Curve, found: Observation) -> Observation:
    """A return that had gained nothing has only its level to lose; where it sinks from the start, reward-falls says
    so."""
    if rivals(signals):
        return Observation(ID, "absent", f"{curve.name} is that of one agent: {rivals(signals)}")
    if curve.progress <= 0 and curve.rise < LOST_SHARE * abs(curve.best):
        return Observation(ID, "absent", f"{curve.name} never rose above where it began, and is near it now.")
    return found


def _before_resuming(signals: Signals, curve: Curve) -> Observation | None:
    """A divergence in what a resumed run has replaced since."""
    for aside in signals.run.series.values():
        if (
            aside.meaning.part == "superseded"
            and aside.meaning.kind == curve.series.meaning.kind
            and len(aside) >= MIN_POINTS
        ):
            found = _judge(Curve(aside, curve.sign))
            if found is not None:
                text = f"Before the run was resumed: {found.evidence}"
                return Observation(ID, "present", text, found.steps, found.where, found.clarity)
    return None


def _both_left(signals: Signals, curve: Curve) -> Observation | None:
    """A handful of training losses that end above where they began, beside many evaluations that left their best."""
    val = signals.val
    if val is None or signals.kind != "supervised" or len(curve) >= MIN_COURSE or len(val) < MIN_COURSE or val is curve:
        return None
    best = int(np.argmin(val.y))
    since, lowest = val.y[best + 1 :], float(val.y[best])
    left = len(since) >= MIN_COURSE // 2 and float(np.mean(since - lowest > LEFT * abs(lowest))) > ALMOST_ALL
    if not left or curve.now - curve.initial <= LEFT * abs(curve.initial) or curve.sign < 0:
        return None
    return Observation(
        ID, "present", f"{val.name} rose from {num(lowest)} ({val.at(float(val.x[best]))}) to {num(val.now)} and never "
                       f"recovered; "
        f"{curve.name} rose from {num(curve.initial)} to {num(curve.now)}.",
        (float(val.x[best]), float(val.x[-1])), val.name, 0.7,
    )  # fmt: skip


def _both_rose(signals: Signals) -> Observation | None:
    """Evaluations that left their best for good while the training loss rose too. A first loss far above all others
    makes everything since look like progress; where validation was best is the place to compare with."""
    train, val = signals.train, signals.val
    if train is None or val is None or signals.kind != "supervised" or len(train) < MIN_COURSE:
        return None
    best = int(np.argmin(val.y))
    since, lowest = val.y[best + 1 :], float(val.y[best])
    if len(val) < MIN_COURSE and not np.all(since > BOTH * lowest):
        return None
    place = train.x[0] + val.clock_share(float(val.x[best])) * (train.x[-1] - train.x[0])
    passed = train.x > (float(val.x[best]) if val.series.axis == train.series.axis else place)
    if len(since) < MIN_COURSE // 2 or passed.sum() < MIN_COURSE // 2 or lowest <= 0 or passed.all():
        return None
    rose = float(np.median(train.y[passed])) - float(train.y[~passed].min())
    left = float(np.mean(since - lowest > LEFT * lowest)) > ALMOST_ALL and val.now > BOTH * lowest
    if not left or rose < (BOTH - 1) * abs(float(train.y[~passed].min())) or signals.better_after(0.5) is not None:
        return None
    return Observation(
        ID, "present", f"{val.name} rose from {num(lowest)} ({val.at(float(val.x[best]))}) to {num(val.now)} and never "
                       f"recovered; {train.name} has stayed above its own best since then too.",
        (float(val.x[best]), float(val.x[-1])), val.name, 0.7,
    )  # fmt: skip


def _never_back(signals: Signals, curve: Curve) -> Observation | None:
    """A model that knew its data at the first update and never again: what follows falls from where it was thrown."""
    if curve is not signals.train or curve.sign < 0 or signals.kind != "supervised" or len(curve) < 2 * MIN_COURSE:
        return None
    guess, first = _guess(signals, curve), float(curve.y[0])
    if guess is None or not 0 < first < KNEW * guess:
        return None
    nearest = float(curve.bins.median.min())
    if nearest < NEVER_BACK * first:
        return None
    return Observation(
        ID, "present",
        f"{curve.name} began at {num(first)}, which a guess does not reach ({num(guess)}), and never came back to "
        f"it: it ends at {num(curve.now)}.",
        (float(curve.x[0]), float(curve.x[-1])), curve.name, clarity(nearest / first, NEVER_BACK, 1.5),
    )  # fmt: skip


def _guess(signals: Signals, curve: Curve) -> float | None:
    """What guessing costs among classes or tokens whose number is known."""
    chance = chance_of(signals, curve)
    if chance is not None and chance.known in ("given", "config"):
        return chance.loss
    counts = counts_of(signals.run.measured[0]) if signals.run.measured else None
    return math.log(counts.vocabulary) if counts is not None and counts.vocabulary > 1 else None


def _judge(curve: Curve) -> Observation | None:
    return _turned(curve) or _drifted(curve)


def _turned(curve: Curve) -> Observation | None:
    """Got better, then worse, and did not come back."""
    rise, gained = curve.rise, max(curve.progress, 0.0)
    if rise <= NOISE_FACTOR * max(curve.level_noise, 1e-300) or curve.clock_share(curve.best_at) > 0.88:
        return None
    lost = rise / gained if gained > 0 else np.inf
    after = curve.bins.median[curve.bins.x > curve.best_at]
    ending = curve.bins.median[-max(2, len(curve.bins.median) // 10) :]
    if len(after) < 2 or ending.min() < curve.best + 0.4 * rise:
        return None
    if lost <= LOST_SHARE or rise < 0.03 * abs(curve.best):
        return None
    left = float(curve.bins.x[np.flatnonzero(curve.bins.median <= curve.best + 0.15 * rise)[-1]])
    got_better = curve.best_at > float(curve.bins.x[0])  # a best at the very start is no improvement that was lost
    share = f", losing {percent(lost)} of its improvement" if lost < 1 and got_better else ""
    return Observation(
        ID, "present",
        f"{curve.level_name} went from {num(curve.logged(curve.best))} ({curve.at(curve.best_at)}) to "
        f"{num(curve.logged(curve.now))} and never recovered{share}.",
        (left, float(curve.x[-1])), curve.name, clarity(min(lost, 1.0), LOST_SHARE, 0.7),
    )  # fmt: skip


def _drifted(curve: Curve) -> Observation | None:
    """Got slowly and steadily worse all through: too slow for a turn to stand out, too steady for chance."""
    change, z = curve.tail_trend(1.0)
    share = change / max(abs(curve.best), 1e-300)
    if z < DRIFT_Z or share < DRIFT_SHARE or curve.now <= curve.initial or change <= 2 * curve.bin_noise:
        return None
    rise = f"by {percent(share)}" if share < MANY_TIMES else f"from {num(curve.logged(curve.initial))}"
    way = "rises" if curve.sign > 0 else "falls"
    return Observation(
        ID, "present",
        f"{curve.level_name} {way} steadily over the whole log, {rise} to {num(curve.logged(curve.now))}.",
        (float(curve.x[0]), float(curve.x[-1])), curve.name, clarity(share, DRIFT_SHARE, 0.1),
    )  # fmt: skip


def left_for_good(curve: Curve) -> bool:
    """Whether a curve left its best value for good; for other symptoms that must not be confused with it."""
    return len(curve) >= MIN_POINTS and _judge(curve) is not None


SYMPTOM = Symptom(
    id=ID,
    title="left its best value for good",
    severity="problem",
    family="instability",
    background=0.02,
    needs=("loss",),
    doc="""
## What is observed
The loss fell, turned and stayed up; or it rose from the beginning. In reinforcement learning: the return collapsed.

## How it is measured
The level over the last tenth of the run is compared with the best level held over a tenth. Present when more than 30 %
of the progress made is lost again (or the run only ever rose, by more than 1.2 % of its level with a Mann-Kendall score
above 3.5), the rise is more than five times the uncertainty of a level, and no bin of the last tenth comes near the
best again; a return that had gained nothing must lose 30 % of its level, and none is judged beside that of another
agent that rises. A training loss whose last quarter lies a hundred times above its first values is conclusive, however
few steps there are. The step given is where the curve last stood near its best. What a resume replaced is looked at
too.
Where fewer than ten training losses stand beside many evaluations: present when nine in ten evaluations since the best
are a tenth above it and the training loss rose by a tenth as well. Beside more of them: validation half above its best
and never back, and training half above what it had reached by then. Where only evaluations are logged, memorised data
look the same, and it counts half. A model that knew its data at the first update (a loss below three quarters of what a
guess costs) and stays a fifth above that for good is counted too. In a handful of rows the last ones must lie far off
all others: by half in training and validation loss alike, by three times in two rows, by five times in one row of a
training loss; single steps at the start leave it open.

## Healthy range
Noise, restarts of a cyclic learning rate and short spikes come back; they are not divergence.

## What it usually means
The step is too large for the curvature the run reached, clipping is missing, precision or a bad batch threw it out, or
the gradient is not the gradient of the loss (accumulated gradients, a flipped sign).
""",
    detect=detect,
    cases=(
        Case("a loss that explodes within thirty steps", "present",
             lambda: {"train_loss": np.geomspace(14.0, 8e31, 30)}),
        Case("few evaluations, far above the first, training up as well", "present",
             lambda: {"train_loss": (range(25, 1525, 25), then(falling(10, 0.8, 0.13), ramp(50, 0.13, 0.3, 0.02))),
                      "eval_loss": (range(250, 1750, 250), [0.219, 0.416, 0.423, 0.41, 0.438, 0.402])}),
        Case("few losses, many evaluations, both up", "present",
             lambda: {"loss": (range(500, 3000, 500), [1.24, 2.03, 2.16, 1.98, 1.79]),
                      "eval_loss": (range(130, 2700, 130),
                                    [2.55, *[3.6, 3.2, 4.0, 3.7, 3.4] * 3, 3.3, 3.2, 3.4, 3.3])}),
        Case("an absurd first loss hides that both rise", "present",
             lambda: {"train_loss": np.append([4e6], np.linspace(200, 1500, 13)),
                      "val_loss": np.append([40.0], np.linspace(32, 70, 13))}),
        Case("falls, then climbs for good", "present",
             lambda: {"train_loss": then(falling(100, 2.4, 0.6), ramp(100, 0.6, 7.9, 0.05))}),
        Case("rises from the beginning", "present", lambda: {"train_loss": ramp(300, 3.4, 3.95, 0.02)}),
        Case("a pretrained model that is thrown far off at once", "present",
             lambda: {"train_loss": then(np.array([2.9, 5.5, 8.2]), falling(120, 7.0, 4.2, 0.05))},
             config={"classes": 900}),
        Case("a pretrained model that rises a little", "absent",
             lambda: {"train_loss": then(np.array([2.9, 3.3, 3.4]), falling(120, 3.3, 2.4, 0.05))},
             config={"classes": 900}),
        Case("return collapses", "present", lambda: {"ep_rew_mean": then(ramp(100, 2, 8, 0.1),
                                                                         ramp(100, 8, 1.5, 0.1))}),
        Case("a term is added and the score goes on", "absent",
             lambda: {"train_loss": then(falling(8, 0.12, 0.02), flat(16, 0.7)),
                      "val_acc": 1 - falling(24, 0.1, 0.01, 0.0)}),
        Case("ordinary descent", "absent", lambda: {"train_loss": falling(300, 2.4, 0.4, 0.1)}),
        Case("one spike that recovers", "absent",
             lambda: {"train_loss": then(falling(150, 2.4, 0.6), flat(4, 5.0), falling(150, 0.6, 0.5))}),
        Case("both losses of five evaluations double", "present",
             lambda: {"train_loss": [10.7, 4.3, 3.5, 7.2, 7.4], "val_loss": [10.7, 4.4, 3.6, 7.3, 7.4]}),
        Case("the third loss of three is a hundred times the others", "present",
             lambda: {"loss": [11.2, 22.0, 3100.0]}),
        Case("four batches of a fine-tuning", "unknown", lambda: {"loss": [0.8, 0.3, 0.9, 0.7]}),
        Case("four values", "unknown", lambda: {"train_loss": [1.0, 0.5, 2.0, 3.0]}),
    ),
)  # fmt: skip
