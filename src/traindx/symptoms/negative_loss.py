"""negative-loss: a loss goes below its theoretical floor."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.meaning import tokens_of
from traindx.run import Fact
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, clarity, num
from traindx.symptoms.observed import state_of
from traindx.symptoms.recipes import falling, flat, ramp, then

ID = "negative-loss"
FAR = 5.0  # times its first size, and falling: a likelihood that begins above zero ends about as far below
IMMENSE = 1e4  # times its first size, below zero: no likelihood of data gets there
MISTAKES = ("loss-maximised", "scores-as-log-probabilities", "labels-out-of-range")  # by which a loss gets below zero
_FREE_SIGN = frozenset({"elbo", "nll", "likelihood", "gan", "wgan", "kl", "energy", "contrastive", "cosine", "ssim",
                        "flow",
                        "density", "policy", "reward", "margin", "mi"})  # fmt: skip


def detect(signals: Signals) -> Observation:
    curve = signals.train
    if curve is None or len(curve) < 5 or curve.series.meaning.kind != "loss":
        return Observation(ID, "unknown", "No training loss was logged.")
    if signals.kind != "supervised":
        return Observation(ID, "unknown", "Losses of this kind of training have no floor at zero.")
    below = np.flatnonzero(curve.y < 0)
    if not len(below):
        return Observation(ID, "absent", f"The lowest {curve.name} is {num(float(curve.y.min()))}.")
    first = float(curve.x[below[0]])
    free = bool(set(tokens_of(curve.name)) & _FREE_SIGN) or float(curve.y[0]) < 0
    immense = curve.now < -IMMENSE * max(1.0, abs(curve.initial))
    falling = curve.tail_trend(0.4)[1] < -2 and abs(curve.now) > FAR * max(abs(curve.initial), abs(curve.y[0]))
    runaway = immense or (curve.y[-1] < 0 and falling)
    classifier = any(signals.run.of("score"))
    if (free and not runaway) or not (classifier or runaway):
        return Observation(
            ID,
            "unknown",
            f"{curve.name} is negative ({num(curve.now)}), which some losses may be; its formula is not known.",
        )
    if not runaway and _other_terms(signals):
        return Observation(
            ID,
            "unknown",
            f"{curve.name} is negative ({num(curve.now)}), and what its loss functions return in validation is not: it "
            f"has other terms.",
        )
    bolting = immense or (runaway and _gathers_speed(curve.y))
    return Observation(
        ID, "present", f"{curve.name} goes below zero at {curve.at(first)} and is {num(curve.now)} now; losses of this "
                       f"kind end at 0.",
        (first, float(curve.x[-1])), curve.name, clarity(0.5 * float(runaway) + float(bolting) + float(classifier),
                                                         0.45, 1.5),
    )  # fmt: skip


def _other_terms(signals: Signals) -> bool:
    """A recording knows what loss functions return: where that stays above zero and none of their mistakes was seen,
    what is below zero is a sum with other terms, such as the logarithm of a variance that is learnt."""
    val = signals.val
    if not signals.run.seen_inside or val is None or len(val) <= 1 or val.sign <= 0:
        return False
    return float(val.y.min()) > 0 and not any(state_of(signals, name) == "present" for name in MISTAKES)


def _gathers_speed(values: np.ndarray) -> bool:
    """The second half falls farther than the first: what is maximised without bound does, a likelihood that is learnt
    slows down."""
    half = len(values) // 2
    first, middle, last = (float(np.median(part)) for part in (values[:3], values[half - 1 : half + 2], values[-3:]))
    return first - middle < middle - last


SYMPTOM = Symptom(
    id=ID,
    title="loss below its floor",
    severity="problem",
    family="start",
    background=0.01,
    needs=("training loss",),
    doc="""
## What is observed
A loss that cannot be negative (cross entropy, squared error) is, and keeps going down.

## How it is measured
The first negative value of the training loss. Losses whose sign is free by nature (likelihoods of densities, ELBO,
Wasserstein, cosine, policy losses) or that begin negative are left alone unless they run away without bound. It counts
when scores show that this is a classifier, or when the loss keeps falling far beyond its own starting size; plainly
when it falls ever faster, as a loss does that is made large instead of small, or when it lies ten thousand times its
first size below zero. Where a recording sees loss functions return what is above zero in validation, and none of their
mistakes, the loss has other terms and is left alone.

## Healthy range
Zero is the floor of cross entropy, squared, absolute and hinge losses.

## What it usually means
The sign is flipped, probabilities go into a loss that wants log-probabilities (NLL of a softmax is negative and bounded
by -1), targets are outside the range the loss assumes, or a log of values above one.
""",
    detect=detect,
    cases=(
        Case("a sum with the logarithm of a variance", "unknown",
             lambda: {"train_loss": falling(300, 2.4, -0.7), "val_loss": falling(6, 0.04, 0.02),
                      "val_accuracy": ramp(6, 0.5, 0.93)},
             facts=(Fact("no-gradient", False, "All layers receive one."),)),
        Case("turned around", "present",
             lambda: {"train_loss": falling(300, 2.4, -0.7), "val_loss": ramp(6, 2.4, 9.0),
                      "val_accuracy": ramp(6, 0.5, 0.1)},
             facts=(Fact("loss-maximised", True, "The loss is negated."),)),
        Case("runs away below zero", "present", lambda: {"train_loss": ramp(100, 0.7, -40, 0.01)}),
        Case("classifier at -0.9", "present", lambda: {"train_loss": ramp(100, -0.1, -0.9),
                                                       "val_accuracy": ramp(100, 0.1, 0.9)}),
        Case("far below and stuck there", "present",
             lambda: {"train_loss": then(-np.exp(ramp(60, 0.0, 40.0)), flat(60, -2e17, 0.01))}),
        Case("ordinary loss", "absent", lambda: {"train_loss": falling(100, 2, 0.1)}),
        Case("negative from the beginning", "unknown", lambda: {"train_loss": -ramp(100, 3, 2)}),
    ),
)  # fmt: skip
