"""A NaN that a logger or a library wrote as a number."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from traindx.run import Floats, Series
from traindx.signals import ENOUGH, Signals
from traindx.signals.curve import counted
from traindx.signals.inside import FAILED_NORM, printed_step

EXACT = 1e-4  # how far 87.3365 as it is printed is off: one such row is no coincidence
ROWS = 3  # in a row: one may be a gap in the log,
PAIR = 2  # and two are none where the loss had hardly fallen
GROUPS = np.sqrt(np.arange(2, 9))  # DeepSpeed adds up the squares of its -1 for each parameter group (stage_1_and_2.py)
SAME = 1e-4  # how far printed digits may be off
ABRUPT = 20.0  # printed steps in one row: a loss that wears away reaches 0 through its last digits
STILL_HIGH, HARDLY_FALLEN = 0.05, 0.3  # of the first loss, just before it is 0
NOTHING = -float(
    np.log(np.finfo(np.float32).tiny)
)  # 87.3365: Caffe takes the logarithm of the smallest float32 instead of 0


@dataclass(frozen=True)
class Hidden:
    """Where a NaN hides in a series, in one sentence."""

    series: Series
    first: float
    last: float
    sentence: str


def hidden_nan(signals: Signals) -> Hidden | None:
    """The training loss that stands for a NaN, if any."""
    if signals.hidden is not None:
        return signals.hidden
    train = signals.train
    if train is None or not len(train.series):
        return None
    claimed = _zero_despite_norm(train.series, signals.grad_norm)
    if claimed is not None or signals.kind != "supervised":
        return claimed  # the losses of policies and adversaries may be 0
    return _zero_at_once(train.series) or _probability_of_nothing(train.series)


def unmasked(signals: Signals) -> Signals:
    """The same with NaN where a NaN was written as a number, so that no curve, best value or trend counts it. Left as
    it is where hardly anything else would remain."""
    hidden = hidden_nan(signals)
    if hidden is None or hidden.series.name not in signals.run.series:
        return signals
    series = mask(hidden)
    if int((~np.isnan(series.values)).sum()) < ENOUGH:
        return signals
    run = replace(signals.run, series={**signals.run.series, series.name: series})
    found = Signals(run, signals.settings)
    found.hidden = hidden
    return found


def mask(hidden: Hidden) -> Series:
    """The series with NaN where it hides one."""
    series = hidden.series
    hides = (series.steps >= hidden.first) & (series.values == series.values[series.steps == hidden.first][0])
    return replace(series, values=np.where(hides, np.nan, series.values))


def _zero_despite_norm(loss: Series, norm: Series | None) -> Hidden | None:
    """Hugging Face's logging_nan_inf_filter leaves NaN losses out of its sum, so that the log shows exactly 0; the norm
    of the gradient beside it tells."""
    if norm is None:
        return None
    same = len(loss) >= ROWS and np.ptp(loss.values) == 0
    idle = loss.steps if same else loss.steps[loss.values == 0.0]
    plain = np.intersect1d(idle, norm.steps[~np.isfinite(norm.values) | (norm.values == FAILED_NORM)])
    coded = np.intersect1d(idle, norm.steps[_of_groups(norm.values)])
    rows = plain if len(plain) else coded if len(coded) >= ROWS else plain
    if not len(rows) or len(rows) < 0.5 * len(idle):
        return None
    shown = norm.values[np.searchsorted(norm.steps, rows[0])]
    since = f"{loss.name} is {loss.values[loss.steps == rows[0]][0]:.4g} beside a gradient norm of"
    place = f"from {loss.axis} {counted(float(rows[0]))} ({len(rows)} rows)"
    if np.isfinite(shown):
        stated = "DeepSpeed writes -1 for each parameter group whose norm is not finite, √2 for two of them"
        return Hidden(
            loss, float(rows[0]), float(rows[-1]), f"{since} {shown:.4g} {place}: {stated}, so the gradient is NaN."
        )
    return Hidden(
        loss, float(rows[0]), float(rows[-1]), f"{since} NaN {place}: the logger's NaN filter hides a NaN loss."
    )


def _of_groups(norms: Floats) -> NDArray[np.bool_]:
    """The square root of a small whole number, the same in every row that has one."""
    near: NDArray[np.bool_] = np.abs(norms[:, None] - GROUPS).min(axis=1) < SAME
    return near if len(np.unique(np.round(norms[near], 3))) == 1 else np.zeros(len(norms), dtype=bool)


def _zero_at_once(loss: Series) -> Hidden | None:
    """A loss that was high falls to exactly 0 from one row to the next and stays there."""
    nonzero = np.flatnonzero(loss.values != 0.0)
    zeros = len(loss) - 1 - int(nonzero[-1]) if len(nonzero) else 0
    if zeros < PAIR:
        return None
    before = loss.values[: nonzero[-1] + 1]
    before = before[np.isfinite(before) & (before != 0.0)]
    if not len(before):
        return None
    level = float(np.median(np.abs(before[-ROWS:])))
    high = STILL_HIGH if zeros >= ROWS else HARDLY_FALLEN
    if level < max(ABRUPT * printed_step(before), high * abs(float(before[0]))):
        return None
    first = float(loss.steps[nonzero[-1] + 1])
    return Hidden(
        loss, first, float(loss.steps[-1]),
        f"{loss.name} falls from {before[-1]:.4g} to exactly 0 at {loss.axis} {counted(first)} and stays there "
        f"({len(loss) - 1 - int(nonzero[-1])} rows): loggers that filter NaN write it as 0.",
    )  # fmt: skip


def _probability_of_nothing(loss: Series) -> Hidden | None:
    """The cross entropy of a probability that is 0 in single precision, again and again: the outputs overflowed."""
    other = np.flatnonzero(~(np.abs(loss.values - NOTHING) < NOTHING * SAME))
    start = int(other[-1]) + 1 if len(other) else 0
    exact = start < len(loss) and abs(float(loss.values[start]) - NOTHING) < EXACT
    if len(loss) - start < (1 if exact else ROWS):
        return None
    first = float(loss.steps[start])
    return Hidden(
        loss, first, float(loss.steps[-1]),
        f"{loss.name} is {loss.values[start]:.6g} from {loss.axis} {counted(first)} on, the logarithm of the smallest "
        "float32: the outputs are NaN or Inf.",
    )  # fmt: skip
