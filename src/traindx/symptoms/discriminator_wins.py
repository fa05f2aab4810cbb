"""discriminator-wins: the discriminator of a GAN tells every generated sample from every real one."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from traindx.diagnosis import Observation, State
from traindx.measurements import GeneratedSamples, Measured
from traindx.run import Floats, Series
from traindx.signals import Signals
from traindx.signals.choose import discriminator_losses, generator_losses
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.recipes import falling, flat, ramp
from traindx.symptoms.samples_alike import WIDE
from traindx.thresholds import Threshold

ID = "discriminator-wins"
BALANCE = "at balance a discriminator with cross-entropy gives 0.5 to both (Goodfellow et al. 2014); "
GENERATED = Threshold(
    0.01, "mean score of generated samples, as a share", BALANCE + "at 0.01 the generator's gradient through "
    "log(1 - D) is a hundredth of it", strong=0.001, side="below",
)  # fmt: skip
REAL = Threshold(0.95, "mean score of real samples, as a share", BALANCE + "real samples are all recognised at 0.95")
ABOVE = Threshold(0.999, "of the pairs of a real and a generated sample", "the real one scores higher in all of them")
MIN_LOOKS = Threshold(4, "looks in a row", "sound trainings reach it for moments (benchmarks/generative)")
UPDATES = Threshold(300, "updates", "a discriminator learns faster than the generator at first")
LOSS = Threshold(
    0.05, "loss of the discriminator", "4 % of the 1.386 of a discriminator that knows nothing", strong=0.01,
    side="below",
)  # fmt: skip
GENERATOR_LOSS = Threshold(
    4.0, "loss of the generator", "minus the logarithm of a score of 0.018; 0.69 at balance", strong=8.0
)
ROWS = Threshold(20, "values", "fewer are the beginning of a training")
LAST = 0.5  # of a log, by rows, that is judged


def judge(measured: Measured) -> Observation | None:
    last = measured.last(GeneratedSamples)
    if last is None or not (UPDATES.reached(last.step) and MIN_LOOKS.reached(len(last.real))):
        return None
    shares = _as_shares(last)
    if shares is None:
        return None
    count = int(MIN_LOOKS.value)
    real, generated = min(shares[0][-count:]), max(shares[1][-count:])
    present = ABOVE.reached(min(last.above[-count:])) and REAL.reached(real) and GENERATED.reached(generated)
    text = (
        f"{last.where} gives generated samples {num(generated)} and real ones {num(real)} (balance "
        f"is 0.5) in the last {count} checks"
        + (f": {last.generator} gets no useful signal." if present else ".")
    )  # fmt: skip
    return seen(ID, present, text, at=last, clarity=GENERATED.clarity(generated) if present else 1.0)


def _as_shares(look: GeneratedSamples) -> tuple[list[float], list[float]] | None:
    """Scores of real and generated samples as probabilities, where the loss makes such of them."""
    if look.shares and look.loss in ("binary_cross_entropy", "mse_loss", ""):
        return list(look.real), list(look.generated)
    if look.loss == "binary_cross_entropy_with_logits":
        return [_sigmoid(one) for one in look.real], [_sigmoid(one) for one in look.generated]
    return None


def _sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(value, -50, 50))))


def _in_log(signals: Signals) -> Observation:
    """The same from the losses of both networks, where they are cross-entropies."""
    judge_loss, maker_loss = discriminator_losses(signals.run), generator_losses(signals.run)
    if judge_loss is None or maker_loss is None or not ROWS.reached(min(len(judge_loss), len(maker_loss))):
        return Observation(ID, "unknown", "No losses of a discriminator and a generator, and no recording.")
    lost, made = _last(judge_loss), _last(maker_loss)
    if not len(lost) or not len(made) or float(np.nanmin(judge_loss.values)) < 0:
        return Observation(ID, "unknown", f"{judge_loss.name} is no cross-entropy: it goes below 0.")
    level, cost = float(np.quantile(lost, 0.75)), float(np.median(made))
    present = LOSS.reached(level) and GENERATOR_LOSS.reached(cost)
    text = (
        f"In the second half of the log {judge_loss.name} stays below {num(level)} in three of four rows (1.39 or 0.69 "
        f"at balance) and {maker_loss.name} is {num(cost)} in the median"
        + (": the discriminator recognises every generated sample." if present else ".")
    )  # fmt: skip
    place = (float(judge_loss.steps[len(judge_loss) // 2]), float(judge_loss.steps[-1]))
    state: State = "present" if present else "absent"
    return Observation(ID, state, text, place, judge_loss.name, min(LOSS.clarity(level), GENERATOR_LOSS.clarity(cost)))


def _last(series: Series) -> Floats:
    values = series.values[int(len(series) * (1 - LAST)) :]
    return np.asarray(values[np.isfinite(values)])


LOST = replace(WIDE, real=(9.0,) * 5, generated=(-9.0,) * 5, above=(1.0,) * 5)

SYMPTOM = Symptom(
    id=ID,
    title="the discriminator recognises every generated sample",
    severity="problem",
    family=ID,
    background=0.003,
    needs=("the losses of both networks, or a recording of the training (traindx run)",),
    doc="""
## What is observed
The discriminator is certain about every sample: real ones near 1, generated ones near 0, for a long time.

## How it is measured
From inside: the mean scores of the real and the generated samples of a batch, as probabilities, in the last four looks
after 300 updates, where the loss is a binary cross-entropy (or squares of shares). Present when generated samples get
0.01 or less, real ones 0.95 or more, and every real sample scores above every generated one.
From a log: in its second half the discriminator's loss stays below 0.05 and the generator's is 4 or more.
Critics of a Wasserstein loss have no such scale and are not judged.

## Healthy range
0.5 for both at balance; 0.6 to 0.9 for real and 0.05 to 0.4 for generated samples is usual.

## What it usually means
The discriminator learns faster than the generator: a higher rate, more updates, more capacity; or the generator hardly
learns at all (a rate too low, frozen, cut off).
""",
    detect=from_measurements(ID, judge, otherwise=_in_log),
    cases=(
        Case("both near balance", "absent", measured=(WIDE,)),
        Case("certain of all", "present", measured=(LOST,)),
        Case("one doubtful look", "absent", measured=(replace(LOST, generated=(-9.0, -9.0, -1.0, -9.0, -9.0)),)),
        Case("in the first updates", "unknown", measured=(replace(LOST, step=100),)),
        Case("a critic without a scale", "unknown", measured=(replace(LOST, loss=""),)),
        Case("losses of a log: won", "present",
             lambda: {"loss_D": falling(100, 1.2, 0.004), "loss_G": ramp(100, 2.0, 9.0, 0.05)}),
        Case("losses of a log: balance", "absent", lambda: {"loss_D": flat(100, 1.2, 0.1), "loss_G": flat(100, 0.9)}),
        Case("a critic's loss below 0", "unknown", lambda: {"loss_D": flat(100, -3.0, 0.2), "loss_G": flat(100, 5)}),
        Case("no such losses", "unknown", lambda: {"loss": falling(100, 2.0, 0.5)}),
    ),
)  # fmt: skip
