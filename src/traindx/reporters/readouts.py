"""Single samples in words: what each was, what the model made of it, and what that cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from traindx.reporters.wording import amount, number

if TYPE_CHECKING:
    from traindx.measurements import ShownSample, ShownSamples


def heading(found: ShownSamples) -> str:
    of = "" if found.looked_at == found.rows else f" (of {amount(found.looked_at, 'sample')} looked at)"
    return f"Highest losses of a training batch of {found.rows} at step {found.seen}{of}, and others at random"


def asked_for(found: ShownSamples, sample: ShownSample) -> str:
    return f"label {_answer(found, sample.label)}" if sample.label else ""


def given(found: ShownSamples, sample: ShownSample) -> str:
    """'predicted 7 (2 % for the label)'."""
    if not sample.prediction:
        return ""
    said = f"predicted {_answer(found, sample.prediction)}"
    return said if sample.probability is None else f"{said} ({100 * sample.probability:.2g} % for the label)"


def loss_of(sample: ShownSample) -> str:
    return "loss is not finite" if sample.loss is None else f"loss {number(sample.loss)}"


def inputs(found: ShownSamples, sample: ShownSample) -> str:
    """Its range, and the first numbers where there is no picture."""
    if not sample.range:
        return ""
    low, mean, high = map(_number, sample.range)
    said = f"input {low} to {high}, mean {mean}"
    return f"{said}: {_list(sample.numbers)} …" if sample.numbers else said


def line(found: ShownSamples, sample: ShownSample) -> str:
    """All of it, for a terminal."""
    kind = "worst " if sample.worst else "random"
    parts = (asked_for(found, sample), given(found, sample), loss_of(sample), inputs(found, sample))
    return f"{kind} row {sample.row}: {', '.join(part for part in parts if part)}"


def _answer(found: ShownSamples, values: Sequence[float | None]) -> str:
    return _list(values) if found.labels != "class" else ", ".join("?" if v is None else f"{v:.0f}" for v in values)


def _list(values: Sequence[float | None]) -> str:
    return " ".join(map(_number, values))


def _number(value: float | None) -> str:
    return "NaN or Inf" if value is None else number(value)
