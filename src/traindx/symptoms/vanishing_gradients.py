"""vanishing-gradients: gradients fade, along the depth of the model or altogether."""

from __future__ import annotations

import math

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import Measured, RateAlong
from traindx.run import Series
from traindx.signals import Signals
from traindx.signals.chance import no_better_than_one_answer
from traindx.signals.inside import depth_profile, layers, learned, left_over, level, objective, printed_step
from traindx.symptoms.base import Case, Symptom, clarity, num
from traindx.symptoms.fades_over_time import longest_memory, shows_fading
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.rates_along import FADED as FADED_AT_ONCE
from traindx.symptoms.rates_along import along_depth, change, gradient_sentence, is_sure
from traindx.symptoms.recipes import falling, flat, ramp

ID = "vanishing-gradients"
MIN_POINTS = 10
TINY = 1e-7  # the usual checklist figure for early layers, used here for any norm
SMALL = 1e-2  # the usual figure for a whole model, which suggests it beside a loss that rests (small-gradient-norm)
FADED = 1e-4  # of its level at the beginning
DEPTH_RATIO = 1e-3  # first layer by last layer; checklists ask for this factor between any two layers
PLAIN_RATIO = 1e-6
UNMOVED = 1e-5  # the first layers stay at their random initialisation even where the last ones learn,
UNFITTED = 0.1  # as long as this much of the loss is left
ORDERED = 0.6  # of all pairs of layers must stand in order of depth
SAMPLE = 0.1  # the beginning and the end are medians over a tenth of the run


def judge(measured: Measured) -> Observation | None:
    """Along the depth, at the moment of a probe. One that fades along time is not said to keep its size."""
    look = along_depth(measured, "gradient")
    if look is None:
        return None
    sentence, lost = gradient_sentence(look), change(look)
    if not FADED_AT_ONCE.reached(lost):
        memory = longest_memory(measured)
        if memory is not None and shows_fading(memory):
            return None
        return seen(ID, False, f"The gradient keeps its size along the depth: {sentence}.", at=look)
    if not is_sure(look):
        return None
    text = f"The gradient fades towards the input: {sentence}; {num(10**-lost)} of it is left at {look.first}."
    return seen(ID, True, text, at=look, where=look.first, clarity=FADED_AT_ONCE.clarity(lost))


def detect(signals: Signals) -> Observation:
    works = False if no_better_than_one_answer(signals) else learned(objective(signals))
    by_depth = _along_depth(signals, works)
    if by_depth is not None and by_depth.state == "present":
        return by_depth
    norm = signals.grad_norm
    if norm is None or len(norm) < MIN_POINTS:
        return by_depth or Observation(ID, "unknown", f"Fewer than {MIN_POINTS} gradient norms were logged.")
    return _over_time(norm, works)


def _over_time(norm: Series, works: bool | None) -> Observation:
    few = max(5, round(len(norm) * SAMPLE))
    early, late = level(norm.values[:few]), level(norm.values[-few:])
    # a printed 0.000 only says: less than half of the last digit
    late = max(late, printed_step(norm.values) / 2)
    summary = f"{norm.name} is {num(late)} over the last tenth of the run, {num(early)} over the first"
    gone = late < TINY or late < FADED * early
    if not gone or math.isnan(late) or works:
        if works is False and late < SMALL:
            return Observation(
                ID,
                "unknown",
                f"{summary}: small while the loss stands; whether it fades on its way norms by layer tell.",
            )
        ending = ", and the loss came down: converged" if gone and works else ""
        return Observation(ID, "absent", f"{summary}{ending}.")
    if works is None:
        return Observation(ID, "unknown", f"{summary}, but no loss tells whether the run had converged by then.")
    limit = TINY if late < TINY else FADED * early
    below = np.flatnonzero(~(norm.values > limit))
    return Observation(
        ID, "present", f"{summary} (fades below {num(limit)}), and the loss is still high.",
        (float(norm.steps[below[0]]), float(norm.steps[-1])), norm.name,
        clarity(-math.log10(max(late, 1e-30)), -math.log10(limit), -math.log10(limit) + 3),
    )  # fmt: skip


def _along_depth(signals: Signals, works: bool | None) -> Observation | None:
    profile = depth_profile(layers(signals.run, "grad_norm", matrices=True))
    if profile is None:
        return None
    if profile.ratio > DEPTH_RATIO or profile.order < ORDERED:
        return Observation(ID, "absent", f"Gradient norms along the depth: {profile.summary}.")
    curve = objective(signals)
    unmoved = profile.ratio < UNMOVED and curve is not None and left_over(curve) > UNFITTED
    if works and not unmoved:
        return Observation(
            ID, "absent", f"Gradients fade towards the input ({profile.summary}), but the loss came down."
        )
    clear = clarity(-math.log10(profile.ratio), -math.log10(DEPTH_RATIO), -math.log10(PLAIN_RATIO))
    return Observation(
        ID, "present", f"Gradients fade towards the input: {profile.summary}.", profile.steps, profile.names[0],
        clear if works is False else min(clear, 0.5),
    )  # fmt: skip


def _rate(per_layer: float, error: float = 0.01) -> RateAlong:
    return RateAlong(what="gradient", per_step=per_layer, error=error, steps=14, first="fc1", last="fc14")


SYMPTOM = Symptom(
    id=ID,
    title="gradients vanish",
    severity="problem",
    family="gradient-size",
    background=0.02,
    needs=("gradient norm", "gradient norms by layer"),
    doc="""
## What is observed
The gradient is too small to move the weights while there is still much to learn: in the layers near the input, where
it has passed through all the others, or in the whole model.

## How it is measured
By layer: median norms of weight matrices that differ only in their layer number, ordered by depth. Present when the
first is below 1/1000 of the last and at least 80 % of all pairs stand in order; plain from 1e-6. Common checklists
compare the largest with the smallest norm of any parameters by the same factor; biases, norms and embeddings reach it
in good health, so they are left out, and the order along the depth is asked for. Altogether: the median of the last
tenth of the run is below 1e-7 (the usual figure for early layers) or below 1/10 000 of the first tenth. Both only
count while less than half of the first loss is gone; along the depth, below 1e-5, while a tenth of it is left.

## Healthy range
Norms of neighbouring layers within one or two orders of magnitude. The absolute size says little: it scales with the
loss, the batch reduction and the model, so the often quoted range of 0.1 to 10 is not used. A norm that fades as the
loss goes to zero is convergence.

## What it usually means
Depth with sigmoid or tanh, recurrence over long sequences, weights initialised too small, missing skip connections or
normalisation; saturated outputs; dead units, when the norm is exactly zero. Raising the learning rate does not help
the first layers: it moves the last ones too far before.
""",
    detect=from_measurements(ID, judge, otherwise=detect),
    cases=(
        Case("a probe sees it fade", "present", probed=(_rate(3.0),)),
        Case("a probe sees it fade, but the loss came down", "unknown",
             lambda: {"loss": falling(60, 1.0, 0.02)}, probed=(_rate(3.0),)),
        Case("a probe is not sure of the rate", "unknown", probed=(_rate(3.0, error=0.5),)),
        Case("a probe sees it keep its size", "absent", probed=(_rate(1.1),)),
        Case("fades along the depth", "present",
             lambda: {"loss": flat(60, 2.3, 0.004),
                      **{f"grad_norm/layers.{i}.weight": flat(60, 10.0 ** (i - 6), 0.3, i) for i in range(7)}}),
        Case("the last layers learn alone", "present",
             lambda: {"loss": falling(60, 1.0, 0.3),
                      **{f"grad_norm/layers.{i}.weight": flat(60, 10.0 ** (i - 6), 0.3, i) for i in range(7)}}),
        Case("fades along the depth, all is learnt", "absent",
             lambda: {"loss": falling(60, 1.0, 0.02),
                      **{f"grad_norm/layers.{i}.weight": flat(60, 10.0 ** (i - 6), 0.3, i) for i in range(7)}}),
        Case("fades over time with the loss still high", "present",
             lambda: {"loss": flat(200, 0.69, 0.003), "grad_norm": falling(200, 1.0, 1e-9, 0.1, pace=30)}),
        Case("converged", "absent", lambda: {"loss": falling(200, 2.3, 1e-5, pace=12),
                                             "grad_norm": falling(200, 1.0, 1e-6, pace=14)}),
        Case("layers of one size", "absent",
             lambda: {"loss": flat(60, 2.3, 0.004),
                      **{f"grad_norm/layers.{i}.weight": flat(60, 0.1 + 0.1 * i, 0.3, i) for i in range(7)}}),
        Case("small but steady", "unknown", lambda: {"loss": flat(100, 2.3, 0.004), "grad_norm": flat(100, 3e-4, 0.2)}),
        Case("ordinary and steady", "absent",
             lambda: {"loss": flat(100, 2.3, 0.004), "grad_norm": flat(100, 0.3, 0.2)}),
        Case("fades, no loss logged", "unknown", lambda: {"grad_norm": falling(100, 1.0, 1e-9, 0.1, pace=30)}),
        Case("no norm logged", "unknown", lambda: {"loss": ramp(100, 2.3, 2.2)}),
    ),
)  # fmt: skip
