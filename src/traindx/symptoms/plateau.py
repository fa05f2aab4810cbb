"""plateau: fell, then stopped for a long stretch."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.progress import LEFT, MOVED, Progress
from traindx.signals.score import Score
from traindx.signals.started import fine_tuning
from traindx.symptoms import ends_off_best
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.divergence import left_for_good
from traindx.symptoms.recipes import cosine, falling, flat, then
from traindx.thresholds import Threshold

ID = "plateau"
MIN_POINTS = 12
STRETCH = Threshold(0.4, "of the run without progress", "a pause before a planned drop of the rate is a third at most")
STRETCH_OPEN = Threshold(
    0.6, "of the run without progress", "where the best possible return or score is unknown, half as much again"
)
PLAIN_STRETCH = 0.75
# 2.3 to 1.0 and two thirds of the run at rest, which people asked about, is 0.29
WAITED = Threshold(
    0.28,
    "of the first loss, left over and averaged over the run since it stopped",
    "reached by 4 of 25 labelled healthy logs of supervised trainings before what excuses a rest, and by the plateaus "
    "that people asked about (2.3 to 1.0, two thirds of the run at rest, is 0.29)",
)
OPEN = 0.6  # how plain a plateau can be there
AT_ONCE = 0.02  # of the run: a fall that is over by then
FELL = 0.3  # of the reconstruction beside an adversarial loss: it learnt, and went on
GOOD_SCORE = Threshold(0.9, "of the top of the score", "nine in ten right: a classifier that has arrived")
SCHEDULE = 5  # values of the rate that show a schedule
DECAYED = 0.05  # learning rate, as a share of its peak, below which standing still is the plan
PLAN_END = Threshold(
    0.15, "of the peak rate, at the end", "linear and cosine schedules end at 0 to 0.1 of it", side="below"
)
PLAN_MIDDLE = Threshold(0.25, "of the peak rate, half way", "linear and cosine schedules are at one half there")
FROZEN_CLEAR = 0.8  # batches differ, so a loss that no longer does is no longer made by the model
STILL = Threshold(
    1e-5,
    "of its level from value to value",
    "seven digits, the precision of float32, in a loss over batches that differ",
    side="below",
)


def detect(signals: Signals) -> Observation:
    curve = signals.main
    adversarial = Observation(ID, "unknown", "Adversarial losses are not expected to keep falling; not judged.")
    if curve is None or len(curve) < MIN_POINTS:
        few = Observation(ID, "unknown", "Too few values of an objective to tell a plateau from a pause.")
        return adversarial if signals.kind == "gan" else few
    since = None if left_for_good(curve) else stopped_at(curve)
    if signals.kind == "gan" and (since is not None or curve.reduction < FELL):
        return adversarial
    if since is None:
        return Observation(ID, "absent", f"{curve.name} kept improving or never did.")
    course = Progress(curve)
    level = num(curve.logged(curve.now))
    excuse = _arrived(signals, curve, course)
    if excuse:
        text = f"{curve.level_name} has stayed near {level} {_since(curve, since)}: {excuse}."
        # to rest far above what was reached is no excuse that a page should hold up beside it
        return Observation(ID, "absent", text, noted=ends_off_best.detect(signals).state != "present")
    frozen = _frozen(curve, since)
    stays = "has not changed by a digit since" if frozen else "has stayed at that level since"
    return Observation(
        ID, "present",
        f"{curve.level_name} went from {num(curve.logged(curve.initial))} to {level} by {curve.at(since)} and {stays} "
        f"({percent(course.rest)} of the run).",
        (since, float(curve.x[-1])), curve.name,
        max(clarity(course.rest, STRETCH.value, PLAIN_STRETCH) * _high(signals, curve), FROZEN_CLEAR * frozen),
    )  # fmt: skip


def _since(curve: Curve, since: float) -> str:
    """Where it came to rest; a log that begins with its fall has no step to name."""
    first, last = float(curve.x[0]), float(curve.x[-1])
    return f"since {curve.at(since)}" if since - first > AT_ONCE * (last - first) else "since its first steps"


def stopped_at(curve: Curve) -> float | None:
    """The step after which there was no progress worth the name, when that is long ago; None otherwise."""
    course = Progress(curve)
    if not course.moved or not MOVED.reached(course.share):
        return None
    long = (STRETCH if curve.sign > 0 else STRETCH_OPEN).reached(course.rest)
    return course.rest_since if long and not course.still_falls else None


def _high(signals: Signals, curve: Curve) -> float:
    """How plainly the level is too high: a loss stuck near its start is worse than one at a quarter of it,
    which may be all the task allows. What the best return or score is, no log says."""
    if signals.kind == "rl" or curve.sign < 0:
        return OPEN
    return float(np.interp(curve.reduction, [0.1, 0.4, 0.5, 0.8], [1.0, 0.6, 0.35, 0.25]))


def _frozen(curve: Curve, since: float) -> bool:
    """Values that no longer differ although every batch does."""
    rest = curve.y[curve.x > since]
    usual = float(np.median(np.abs(np.diff(rest)))) if len(rest) >= MIN_POINTS else np.inf
    return curve.now > 0 and STILL.reached(usual / curve.now)


def _arrived(signals: Signals, curve: Curve, course: Progress) -> str:
    """Why standing still is fine here, or ''."""
    since = course.rest_since
    loss = signals.kind != "rl" and curve.sign > 0
    if loss and not WAITED.reached((1 - course.share) * course.rest) and not _frozen(curve, since):
        return f"it fell by {percent(curve.reduction)} before that, as a training that converges does"
    better = signals.better_after(curve.clock_share(since)) if signals.kind == "supervised" else None
    if better is not None and better is not curve and _gained_since(better, curve.clock_share(since)):
        return f"{better.name} went on to {num(better.logged(better.best))}"
    score = signals.score
    if score is not None and len(score) > 2 and signals.kind != "rl":
        scale = Score(score)
        if scale.bounded and GOOD_SCORE.reached(scale.now):
            return f"{score.name} is {num(score.logged(score.now))}, so the training has converged"
    return _planned(signals, curve, since) or _near_the_most(signals, curve) or (fine_tuning(signals) if loss else "")


def _near_the_most(signals: Signals, curve: Curve) -> str:
    """A mean return near the highest one of single episodes, which is the same number in row after row: the most that
    can be earned."""
    if signals.kind != "rl":
        return ""
    for one in signals.run.of("reward"):
        if one.meaning.stat != "max" or len(one) < MIN_POINTS:
            continue
        late = one.values[len(one) // 2 :]
        if np.ptp(late) == 0 and late[0] > 0 and GOOD_SCORE.reached(curve.logged(curve.now) / float(late[0])):
            return f"{one.name} is {num(float(late[0]))} in row after row, the most that can be earned"
    return ""


def _gained_since(curve: Curve, share: float) -> bool:
    """Whether what it made after this share of the run is progress worth the name: a loss that approaches its floor is
    a little lower at every evaluation."""
    passed = curve.x - curve.x[0] > share * (curve.x[-1] - curve.x[0])
    best, whole = float(curve.y.min()), float(curve.y[0] - curve.y.min())
    return whole > 0 and not LEFT.reached((float(curve.y[~passed].min()) - best) / whole)


def _planned(signals: Signals, curve: Curve, since: float) -> str:
    """The learning rate went where a schedule ends: standing still is its plan."""
    lr = signals.lr
    if lr is None or len(lr) < SCHEDULE or not np.nanmax(lr.values) > 0:
        return ""
    rates, peak = np.nan_to_num(lr.values), float(np.nanmax(lr.values))
    end = float(lr.steps[-1])
    middle, half = (float(np.interp(place, lr.steps, rates)) for place in ((since + end) / 2, end / 2))
    if middle < DECAYED * peak:
        return f"the learning rate had decayed to {num(middle)} by the middle of that stretch"
    if loss_fell(curve) and PLAN_END.reached(float(rates[-1]) / peak) and PLAN_MIDDLE.reached(half / peak):
        return f"the learning rate went from {num(peak)} to {num(float(rates[-1]))} as planned"
    return ""


def loss_fell(curve: Curve) -> bool:
    """A good part of the loss is gone: what is left may be all the task allows."""
    return curve.sign > 0 and curve.reduction >= FELL / 2


SYMPTOM = Symptom(
    id=ID,
    title="stopped improving",
    severity="problem",
    family="no-progress",
    background=0.12,
    needs=("loss",),
    doc="""
## What is observed
The loss fell, then stood still for a long stretch, far from zero.

## How it is measured
The earliest bin after which less than 3 % of the whole progress (and less than two and a half times a level's
uncertainty) was still made. Present when that is at least 40 % of the run, no significant falling trend is left, and
what is left of the first loss times the part of the run since then is at least 0.28: a loss that fell from 2.3 to 1.0
and stood for two thirds of the run reaches it, one that lost three quarters does not. Standing still may be the plan:
with a score above 90 %, a learning rate that had decayed to under 5 % of its peak or went down over the whole run to
its planned end, and in the fine-tuning of a trained model, whose gain comes with the first steps. Where the validation
score or loss made more than 3 % of its progress later the training loss does not tell all. A loss over
batches that no longer changes in its sixth digit stands still whatever it has lost. For returns and scores the
ceiling is unknown: there the stretch must be 60 % of the run, and weighs less. Beside adversarial losses only the
reconstruction is looked at: its calm rules this out, a plateau of it says nothing.

## Healthy range
Every good run ends on a plateau near its floor. A pause of a few epochs before a planned drop of the learning rate is
normal.

## What it usually means
Learning rate too high to settle or decayed too early, capacity used up, a loss that cannot go lower (probabilities fed
into a loss that wants logits), saddle points with tiny gradients. A gradient norm near zero means a critical point; a
healthy norm means that the steps cancel each other.
""",
    detect=detect,
    cases=(
        Case("the reconstruction of an adversarial training stands", "unknown",
             lambda: {"G_GAN": flat(200, 1.0, 0.3), "D_real": flat(200, 0.5, 0.3, 1),
                      "cycle_A": then(falling(50, 2.4, 1.6, 0.01), flat(150, 1.6, 0.01))}),
        Case("the reconstruction of an adversarial training falls calmly", "absent",
             lambda: {"G_GAN": flat(200, 1.0, 0.3), "D_real": flat(200, 0.5, 0.3, 1),
                      "cycle_A": falling(200, 2.4, 0.8, pace=2)}),
        Case("stuck at two thirds of the start", "present",
             lambda: {"train_loss": then(falling(50, 2.4, 1.6, 0.01), flat(250, 1.6, 0.01))}),
        Case("return stuck early", "present", lambda: {"ep_rew_mean": then(-falling(20, -12, -209, 0),
                                                                           flat(100, 212, 0.01))}),
        Case("converged near zero", "absent", lambda: {"train_loss": then(falling(100, 2.4, 0.05),
                                                                          flat(200, 0.05, 0.05))}),
        Case("cosine schedule has ended", "absent",
             lambda: {"train_loss": then(falling(500, 2.4, 1.2, 0.01), flat(500, 1.2, 0.01)),
                      "lr": then(cosine(500, 0.1), flat(500, 1e-5, 0))}),
        Case("the score goes on rising", "absent",
             lambda: {"train_loss": then(falling(20, 29.6, 27.0, 0.002), flat(30, 27.0, 0.002)),
                      "val_acc": np.linspace(0.6, 0.81, 50)}),
        Case("fell by half, at rest for two thirds of the run", "present",
             lambda: {"train_loss": then(falling(100, 2.3, 1.0, 0.01), flat(200, 1.0, 0.01))}),
        Case("lost three quarters", "absent",
             lambda: {"train_loss": then(falling(100, 2.3, 0.5, 0.01), flat(200, 0.5, 0.01))}),
        Case("a planned schedule came to its end", "absent",
             lambda: {"train_loss": then(falling(100, 2.9, 2.0, 0.01), flat(200, 2.0, 0.01)), "lr": cosine(300, 5e-4)}),
        Case("validation creeps on towards the same floor", "present",
             lambda: {"train_loss": 2.1 + 0.2 * np.exp(-np.arange(60) / 5),
                      "val_loss": 2.12 + 0.2 * np.exp(-np.arange(60) / 5)}),
        Case("an adapter is trained", "absent",
             lambda: {"train_loss": then(falling(40, 1.9, 1.1, 0.01), flat(200, 1.1, 0.01))}, {"lora_r": 8}),
        Case("one number for nine tenths of the run", "present",
             lambda: {"train_loss": then(falling(20, 1.5, 0.25, 0.01), flat(200, 0.25, 0))}),
        Case("still falling slowly", "absent", lambda: {"train_loss": falling(500, 10.9, 3.0, 0.02, pace=3)}),
        Case("six values", "unknown", lambda: {"train_loss": [2.0, 1.5, 1.4, 1.4, 1.4, 1.4]}),
    ),
)  # fmt: skip
