"""plateau: fell, then stopped for a long stretch."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.stats import rolling_median
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.divergence import left_for_good
from traindx.symptoms.recipes import cosine, falling, flat, then

ID = "plateau"
MIN_POINTS = 12
STRETCH = 0.4  # of the run without progress
STRETCH_OPEN = 0.6  # where the best possible value is unknown (returns, scores): more patience
OPEN = 0.6  # how plain a plateau can be there
FELL = 0.3  # of the reconstruction beside an adversarial loss: it learnt, and went on
LEFT = 0.03  # of the whole progress may still be made on a plateau
CONVERGED = 0.8  # a loss that fell by this share has arrived, not got stuck
GOOD_SCORE = 0.9
DECAYED = 0.05  # learning rate, as a share of its peak, below which standing still is the plan


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
    share = 1 - curve.clock_share(since)
    level = num(curve.logged(curve.now))
    excuse = _arrived(signals, curve, since)
    if excuse:
        return Observation(ID, "absent", f"{curve.name} has stood at {level} since {curve.at(since)}: {excuse}.")
    return Observation(
        ID, "present",
        f"{curve.name} went from {num(curve.logged(curve.initial))} to {level} by {curve.at(since)} and has not "
        f"improved for the last {percent(share)} of the run.",
        (since, float(curve.x[-1])), curve.name, clarity(share, STRETCH, 0.75) * _high(signals, curve),
    )  # fmt: skip


def stopped_at(curve: Curve) -> float | None:
    """The step after which there was no progress worth the name, when that is long ago; None otherwise."""
    progress = curve.progress
    if progress <= 0 or progress < max(4 * curve.level_noise, 0.03 * abs(curve.initial)):
        return None
    y, x = rolling_median(curve.bins.median, 5), curve.bins.x
    slack = max(LEFT * progress, 2.5 * curve.level_noise)
    ahead = np.minimum.accumulate(y[::-1])[::-1]  # the best still to come
    standing = np.flatnonzero(y - ahead > slack)
    since = float(x[0] if not len(standing) else x[min(standing[-1] + 1, len(x) - 1)])
    if 1 - curve.clock_share(since) < (STRETCH if curve.sign > 0 else STRETCH_OPEN):
        return None
    change, z = curve.tail_trend(0.75 * (1 - curve.clock_share(since)))
    still_falling = z < -3.0 and -change > max(0.02 * progress, 0.01 * abs(curve.now))
    return None if still_falling else since


def _high(signals: Signals, curve: Curve) -> float:
    """How plainly the level is too high: a loss stuck near its start is worse than one at a quarter of it,
    which may be all the task allows. What the best return or score is, no log says."""
    if signals.kind == "rl" or curve.sign < 0:
        return OPEN
    return float(np.interp(curve.reduction, [0.1, 0.4, 0.5, CONVERGED], [1.0, 0.6, 0.35, 0.25]))


def _arrived(signals: Signals, curve: Curve, since: float) -> str:
    """Why standing still is fine here, or ''."""
    if signals.kind != "rl" and curve.sign > 0 and curve.reduction >= CONVERGED:
        return f"{percent(curve.reduction)} of the loss is gone, it has converged"
    better = signals.better_after(curve.clock_share(since)) if signals.kind == "supervised" else None
    if better is not None and better is not curve:
        return f"{better.name} went on to {num(better.logged(better.best))}"
    score = signals.score
    if score is not None and len(score) >= 3 and signals.kind != "rl":
        value = score.logged(score.now)
        top = 100.0 if value > 1.5 else 1.0
        if GOOD_SCORE * top <= value <= top:
            return f"{score.name} is {num(value)}, it has converged"
    lr = signals.lr
    if lr is not None and len(lr) >= 5 and np.nanmax(lr.values) > 0:
        middle = since + 0.5 * (float(curve.x[-1]) - since)
        level = float(np.interp(middle, lr.steps, np.nan_to_num(lr.values)))
        if level < DECAYED * float(np.nanmax(lr.values)):
            return f"the learning rate had decayed to {num(level)} by the middle of that stretch"
    return ""


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
standing still is not the plan: a loss that lost 80 % of its value, a score above 90 % or a learning rate that had
decayed to under 5 % of its peak has arrived rather than got stuck, and where the validation score or loss went on to
its best the training loss does not tell all. For returns and scores the ceiling is unknown: there the stretch must be
60 % of the run, and weighs less. Beside adversarial losses only the reconstruction is looked at: its calm rules this
out, a plateau of it says nothing.

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
        Case("still falling slowly", "absent", lambda: {"train_loss": falling(500, 10.9, 3.0, 0.02, pace=3)}),
        Case("six values", "unknown", lambda: {"train_loss": [2.0, 1.5, 1.4, 1.4, 1.4, 1.4]}),
    ),
)  # fmt: skip
