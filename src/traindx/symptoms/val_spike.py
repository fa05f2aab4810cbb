"""val-spike: validation jumps while training is calm."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, clarity, num
from traindx.symptoms.loss_spike import find_spikes
from traindx.symptoms.recipes import falling, put

ID = "val-spike"
MIN_POINTS = 6
FEW_SHARE = 0.1  # of the evaluations
AT_ITS_BEST = 0.1  # of all that was gained: a run that ends this close to its best was not harmed by its jumps
MILD = 1.5  # times the level beside it: less is nothing then,
PASSING = 0.4  # and more is worth a line,
PASSING_ONCE = 0.2  # a short one where it happened once and the best came after it


def detect(signals: Signals) -> Observation:
    val, train = signals.val, signals.train
    if signals.kind != "supervised" or val is None or len(val) < MIN_POINTS:
        return Observation(ID, "unknown", "Too few validation losses to see a jump.")
    spikes = [spike for spike in find_spikes(val) if spike.back is not None]
    if not spikes:
        return Observation(ID, "absent", f"No jump of {val.name} stands out.")
    if train is not None and len(train) >= MIN_POINTS and find_spikes(train):
        return Observation(ID, "absent", f"{val.name} jumps, but so does the training loss: that is a loss spike.")
    worst = max(spikes, key=lambda spike: spike.height / max(abs(spike.base), 1e-300))
    ratio = worst.height / max(abs(worst.base), 1e-300)
    clear = clarity(ratio, 1.3, 4.0)
    if len(spikes) <= FEW_SHARE * len(val) and val.rise < AT_ITS_BEST * max(val.progress, 0.0):
        if ratio < MILD:
            return Observation(ID, "absent", f"{val.name} jumps to {num(worst.height)} once and is at its best since.")
        clear = min(clear, PASSING_ONCE if len(spikes) == 1 and val.best_at > worst.step else PASSING)
    return Observation(
        ID, "present", f"{val.name} jumps from {num(worst.base)} to {num(worst.height)} at {val.at(worst.step)} and "
                       f"back "
        "while the training loss is calm.",
        (spikes[0].step, spikes[-1].step), val.name, clear,
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="validation jumps while training is calm",
    severity="problem",
    family="validation",
    background=0.06,
    needs=("validation loss",),
    doc="""
## What is observed
Single evaluations are far off while the training loss runs smoothly through the same steps.

## How it is measured
The spike search of loss-spike on the validation loss; jumps that come back count, and only when the training loss has
none of its own. Where few evaluations jump and the run ends at its best, a jump by less than half is left out and a
higher one is reported with little weight, less still where it was the only one and the best evaluation came after it.

## Healthy range
Small validation sets scatter; see val-noisy for that.

## What it usually means
BatchNorm statistics that do not fit (tiny batches, evaluation in training mode, a momentum that is too high), a
learning rate at the edge, or a validation set so small that single examples decide.
""",
    detect=detect,
    cases=(
        Case("one bad evaluation", "present",
             lambda: {"train_loss": falling(60, 2.3, 0.3), "val_loss": put(falling(60, 2.2, 0.5, 0.01), 40, 6.0)}),
        Case("calm", "absent", lambda: {"train_loss": falling(60, 2.3, 0.3), "val_loss": falling(60, 2.2, 0.5)}),
        Case("both jump", "absent",
             lambda: {"train_loss": put(falling(60, 2.3, 0.3), 40, 5.0),
                      "val_loss": put(falling(60, 2.2, 0.5), 40, 6.0)}),
        Case("no validation", "unknown", lambda: {"train_loss": falling(60, 2.3, 0.3)}),
    ),
)  # fmt: skip
