"""nonfinite-loss: the loss is NaN or Inf."""

from __future__ import annotations

import re

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Event, Series
from traindx.signals import Signals, choose
from traindx.signals.curve import counted
from traindx.signals.disguise import hidden_nan
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.recipes import falling, flat, put, then

ID = "nonfinite-loss"
NORMS = 3  # rows
STATED = 0.8  # clarity of what follows from other numbers
PASSED = 0.5  # of a NaN that the training survived
_BAD = r"(?:nan|inf|infinite|infinity|not finite|non-?finite|not a number)"
_SAYS = re.compile(rf"\bloss\w*\b[^.]{{0,30}}\b{_BAD}\b|\b{_BAD}\b[^.]{{0,20}}\bloss", re.IGNORECASE)
_SKIPS = re.compile(r"skip|ignor|dropp", re.IGNORECASE)


def detect(signals: Signals) -> Observation:
    losses = [s for s in choose.usable(signals.run, "loss") if not s.meaning.where]
    # where a log has no loss by name, its objective is one ('train mse', 'perplexity')
    losses += [c.series for c in (signals.train, signals.val) if c is not None and c.series.meaning.kind != "loss"]
    hidden = hidden_nan(signals)
    if hidden is not None:
        steps = (hidden.first, hidden.last)
        return Observation(ID, "present", hidden.sentence, steps, hidden.series.name, conclusive=True)
    worded = _in_words(signals)
    left_out = _left_out(signals)
    if left_out is not None:
        return left_out
    if not losses:
        return worded or Observation(ID, "unknown", "No loss was logged.")
    finding = min(
        (f for f in map(_in_series, losses) if f), key=lambda f: (-f.clarity, f.steps or (0, 0)), default=None
    )
    return finding or worded or Observation(ID, "absent", f"All {sum(map(len, losses))} logged losses are finite.")


def _in_words(signals: Signals) -> Observation | None:
    """A line that says so; where steps are skipped, or finite losses follow, the training went on."""
    event = next((e for e in signals.run.events if _SAYS.search(e.text)), None)
    if event is None:
        return None
    train = signals.train
    after = event.step is not None and train is not None and len(train) and float(train.x[-1]) > event.step
    went_on = bool(after) or _SKIPS.search(event.text) is not None
    step = None if event.step is None else (event.step, event.step)
    text = f"The log says: {event.text[:120]}"
    return Observation(ID, "present", text, step, None, PASSED if went_on else 1.0, conclusive=not went_on)


def _left_out(signals: Signals) -> Observation | None:
    """Rows at the end, or all of them, that hold no loss and a gradient norm that is NaN: Megatron leaves a loss that
    is NaN out of its mean, and one of which nothing remains out of the row."""
    train = signals.train
    since = -np.inf if train is None else float(train.series.steps[-1])
    for norm in signals.run.of("grad_norm"):
        late = norm.steps > since
        alike = train is None or train.series.axis == norm.axis
        if not alike or norm.meaning.where or late.sum() < NORMS or not np.isnan(norm.values[late]).all():
            continue
        place = f"from step {counted(float(norm.steps[late][0]))} on" if train is not None else "throughout"
        text = (
            f"{norm.name} is NaN {place} ({late.sum()} rows), and no loss stands beside it: trainers leave out a NaN."
        )
        return Observation(
            ID, "present", text, (float(norm.steps[late][0]), float(norm.steps[-1])), norm.name, STATED,
            conclusive=True,
        )  # fmt: skip
    return None


def _in_series(series: Series) -> Observation | None:
    bad = np.flatnonzero(~np.isfinite(series.values))
    if not len(bad):
        return None
    count = len(series)
    # a rate or an average printed before the first batch is NaN in many loggers: no fault of the training
    if len(bad) == 1 and bad[0] == 0 and count >= 3:
        return None
    kind = "NaN" if np.isnan(series.values[bad[0]]) else "Inf"
    first = float(series.steps[bad[0]])
    before = series.values[: bad[0]]
    last_good = f"; last finite value {before[np.isfinite(before)][-1]:.4g}" if np.isfinite(before).any() else ""
    lasting = len(bad) >= 0.5 * (count - bad[0])
    ending = "and stays so" if lasting else f"in {len(bad)} of {count} values, finite again in between"
    where = series.name
    total = not series.meaning.part
    return Observation(
        ID, "present", f"{series.name} is {kind} from {series.axis} {counted(first)} {ending}{last_good}.",
        (first, float(series.steps[bad[-1]])), where, 1.0 if lasting and total else 0.7 if lasting else 0.5,
        conclusive=lasting and total,
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="loss is NaN or Inf",
    severity="problem",
    family="nonfinite",
    background=0.005,
    needs=("loss",),
    doc="""
## What is observed
The loss stops being a number. The first step matters more than the rest: everything after it is damage.

## How it is measured
Every loss series is searched for NaN and Inf; the page names the first step, the last finite value and whether the loss
came back. A single NaN in the very first row is what loggers print before there is anything to average and is not
counted. Messages such as "loss is nan, stopping training" count as well.

Some logs write NaN as a number, and traindx reports that as what it is. The Hugging Face Trainer leaves NaN out of its
mean, so that the loss is exactly 0: beside a NaN gradient norm, or three rows at least after a loss that was still high
one row before. DeepSpeed returns -1 as the norm of each parameter group that is not finite, and two groups make √2 =
1.41421: beside a loss that is 0 or never changes, three rows of it count. Megatron leaves the loss out of the row:
three rows or more at the end without one count, where their gradient norm is NaN. A loss of 87.3365, the
logarithm of the smallest float32, is Caffe's for outputs that are NaN.

## Healthy range
None. Under mixed precision single skipped steps are normal, but the logged loss stays finite.

## What it usually means
Of confirmed threads about NaN losses, about 45 % end at half precision, 23 % at bad inputs or labels, 18 % at the
learning rate and 14 % at numerics of an operation (log, division, a fused kernel). Early NaN (the first steps) points
to data, precision or initialisation; late NaN after a rising gradient norm points to instability.
""",
    detect=detect,
    cases=(
        Case("the log says that it stopped for a loss that is not finite", "present", lambda: {"loss": [2.1, 2.0, 1.9]},
             {}, (Event("traceback", "ValueError: Loss is not finite and patience is exhausted", 3.0),)),
        Case("one batch was skipped and the loss went on", "present", lambda: {"loss": falling(40, 2.1, 1.2)},
             {}, (Event("warning", "NaN loss detected, skipping the batch", 12.0),)),
        Case("one row with the gradient NaN and loss 0", "present",
             lambda: {"loss": [0.0], "grad_norm": [float("nan")]}),
        Case("diverges to NaN", "present", lambda: {"train_loss": put(falling(100, 2, 1), 60, *[float("nan")] * 40)}),
        Case("HF hides NaN as zero", "present",
             lambda: {"loss": put(falling(20, 2, 1), 10, *[0.0] * 10),
                      "grad_norm": put(falling(20, 1, 1), 10, *[float("nan")] * 10)}),
        Case("zero from one row to the next", "present",
             lambda: {"loss": then(falling(20, 2.7, 2.4), flat(20, 0.0, 0))}),
        Case("DeepSpeed's norm of two groups", "present",
             lambda: {"loss": flat(20, 0.0, 0), "grad_norm": flat(20, 1.41421, 0)}),
        Case("Caffe's largest loss", "present", lambda: {"loss": then(falling(20, 6.9, 6.8), flat(20, 87.3365, 0))}),
        Case("a loss that wears away to zero", "absent",
             lambda: {"loss": np.round(then(falling(40, 2.7, 0.0, 0), flat(20, 0.0, 0)), 3)}),
        Case("a clipped norm beside a loss that moves", "absent",
             lambda: {"loss": falling(20, 2.7, 1.4), "grad_norm": flat(20, 1.41421, 0)}),
        Case("the norm alone is logged, and is NaN", "present",
             lambda: {"grad norm": [float("nan")] * 4, "learning rate": [3e-4] * 4}),
        Case("rows without a loss begin, and their norms are NaN", "present",
             lambda: {"lm loss": falling(20, 9.0, 7.0),
                      "grad norm": then(flat(20, 1.0, 0.2), flat(5, float("nan"), 0))}),
        Case("the norm alone is logged after the loss ended, and is finite", "absent",
             lambda: {"lm loss": falling(20, 9.0, 7.0), "grad norm": flat(25, 1.0, 0.2)}),
        Case("only the first row is NaN", "absent", lambda: {"train_loss": put(falling(50, 2, 1), 0, float("nan"))}),
        Case("an error measure that is NaN throughout", "present", lambda: {"train mse": [float("nan")] * 20}),
        Case("ordinary loss", "absent", lambda: {"train_loss": falling(100, 2, 0.3)}),
        Case("no loss logged", "unknown", lambda: {"lr": [0.1, 0.1, 0.1]}),
    ),
)  # fmt: skip
