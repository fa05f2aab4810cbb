"""Where the first NaN or Inf of a training came from, read off one measurement by the symptoms of each origin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from traindx.diagnosis import Observation, State
from traindx.measurements import BadData, FirstNonFinite, GradientReach, LossesSeen, Measured, Operation
from traindx.symptoms.base import Case
from traindx.symptoms.observed import seen
from traindx.thresholds import Threshold, fitted

INPUTS, LOG, DIVISION = "nonfinite-inputs", "nan-from-log", "nan-from-division"
HALF, GROWTH = "nan-from-half-overflow", "nan-from-growth"

SKIPPED = Threshold(
    20,
    "losses that are not finite, with a gradient scaler",
    "torch's scaler begins at 2^16 and halves: after 16 updates that it skips, the scale is 1 and was not the reason",
)
LOSSES = Threshold(3, "losses, all of them finite", "fewer are over before anything could go wrong")
TWO_LOSSES = Threshold(2, "finite losses before", "growth lies between two")
GROWN = fitted(f"{GROWTH}.grown", 1e3, unit="times the smallest of the first losses")
HUGE = fitted(f"{GROWTH}.huge", 1e12, unit="size of the last finite loss")
ABOVE_USUAL = fitted(f"{GROWTH}.above-usual", 10, unit="times the median of the losses before")
IMMENSE = Threshold(1e18, "size of a number on the way to the loss", "its square ends the range of single precision")
FLOAT16 = Threshold(65504, "size of a float16 number", "the largest that IEEE 754 half precision holds")
SMALLEST_LOSS = 1e-6  # a loss below this counts as so much, or any loss after it would be growth

LOGS = ("log", "log2", "log10")
ARCS = ("arc cosine", "arc sine")
# by the names that torch has for them, where the model was run again
RERUN_LOGS = ("log", "log2", "log10", "log1p", "acos", "asin", "sqrt")  # not defined everywhere
RERUN_DIVISIONS = ("div", "reciprocal", "rsqrt", "pow", "norm", "linalg_vector_norm")
STEEP = {"sqrt": DIVISION, "division": DIVISION, "power": DIVISION, "arc": DIVISION, "log": LOG}


class Origin(NamedTuple):
    symptom: str | None  # None where the operation is known and belongs to no symptom
    evidence: str
    line: str = ""
    rerun: bool = False  # found inside the model by running it again, or hidden in a compiled part


def judged(identifier: str, measured: Measured) -> Observation | None:
    """What the measurements say of one of the five origins."""
    first = examined(measured)
    if first is None:
        seen_all = measured.last(LossesSeen)
        # growth may stop short of NaN, so that finite losses do not rule it out
        if seen_all is None or seen_all.nonfinite or not LOSSES.reached(seen_all.losses) or identifier == GROWTH:
            return None
        return seen(identifier, False, "No loss was NaN or Inf.", at=seen_all)
    origin, begin = origin_of(first), headline(first)
    if origin is not None and origin.symptom is not None:
        if origin.symptom != identifier:
            return seen(identifier, False, f"{begin} for another reason: {origin.evidence}.", at=first)
        kept = f" The batch is in {first.batch} of the recording." if first.batch else ""
        return seen(identifier, True, f"{begin}: {origin.evidence}.{kept}", at=first, where=origin.line)
    if identifier == HALF and first.path is not None and first.path.half is False:
        return seen(identifier, False, f"{begin}, but no number on the way to it is a float16.", at=first)
    if identifier == INPUTS and first.searched:
        return seen(identifier, False, f"{begin}, but inputs and targets are.", at=first)
    return None


def examined(measured: Measured) -> FirstNonFinite | None:
    """The measurement of the first NaN; a scaler that skips a few such updates does what it is for."""
    first = measured.last(FirstNonFinite)
    return None if first is None or (first.scaled and not SKIPPED.reached(first.nonfinite)) else first


def headline(first: FirstNonFinite) -> str:
    of, verb = ("gradients", "are") if first.what == "gradients" else ("loss", "is")
    return f"The {of} of update {first.update} {verb} not finite"


def origin_of(first: FirstNonFinite) -> Origin | None:
    """The first that explains it: data, growth of the loss, an operation, what running the model again has shown."""
    if first.data is not None:
        return _of_data(first.data)
    grown = _growth(first.first, first.recent)
    if grown:
        return Origin(GROWTH, grown)
    if first.what == "gradients":
        return _of_gradients(first)
    return _of_graph(first) or _of_rerun(first)


# --- data -------------------------------------------------------------------------------------------------------------


def _of_data(data: BadData) -> Origin:
    spoilt = f"{_place(data)} of the {data.of}"
    if data.made_by is not None:
        zero = f", where {data.made_by.zero} is 0" if data.made_by.zero else ""
        symptom = LOG if data.made_by.operation == "log" else DIVISION
        made = f"which `{data.made_by.code}`{zero} made of finite numbers"
        return Origin(symptom, f"{spoilt}, {made}", data.made_by.line)
    if data.batch_finite:
        made = "the batch that the loader gave out is finite, so the code between loader and model made it"
        return Origin(DIVISION, f"{spoilt}; {made} (normalised by a spread of zero?)")
    return Origin(INPUTS, spoilt)


def _place(data: BadData) -> str:
    """'NaN in 1 of 128 values, row 3 (sample 77 of the data set), column 2'."""
    parts = [f"{data.kind} in {data.bad} of {data.elements} values"]
    if data.rows:
        samples = f" ({_listed('sample', data.samples, data.rows_bad)} of the data set)" if data.samples else ""
        parts.append(f"{_listed('row', data.rows, data.rows_bad)}{samples}")
    if data.columns:
        parts.append(_listed("column", data.columns, data.columns_bad))
    return ", ".join(parts)


def _listed(word: str, indices: Sequence[int], count: int) -> str:
    """'row 3', 'rows 3 and 7', 'rows 3, 7, 9, 12 and 5 more'."""
    names = [str(index) for index in indices]
    if count > len(names):
        names.append(f"{count - len(names)} more")
    shown = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return f"{word}{'s' if count > 1 else ''} {shown}"


# --- growth -----------------------------------------------------------------------------------------------------------


def _growth(first: Sequence[float], recent: Sequence[float]) -> str:
    """The loss had grown by orders of magnitude before it left the numbers."""
    if not first or not TWO_LOSSES.reached(len(recent)):
        return ""
    last, start = recent[-1], max(min(first), SMALLEST_LOSS)
    usual = max(sorted(recent)[len(recent) // 2], SMALLEST_LOSS)
    rising = any(after > before for before, after in zip(recent[-3:], recent[-2:], strict=False)) or len(recent) == 2
    grown = GROWN.reached(last / start) or (HUGE.reached(last) and ABOVE_USUAL.reached(last / usual))
    return f"the loss had grown from {start:.3g} to {last:.3g}" if rising and grown else ""


# --- operations -------------------------------------------------------------------------------------------------------


def _of_graph(first: FirstNonFinite) -> Origin | None:
    """The operation farthest from the loss came first; but a float16 that holds Inf comes before what it does to
    others."""
    sound = first.path if first.weights_finite is not False else None
    origins = [_of_operation(one) for one in first.operations]
    if sound is not None and sound.half_infinite and not any(origin.symptom == HALF for origin in origins):
        inside = f"a float16 tensor in {sound.half_infinite} holds Inf; float16 ends at 65504"
        loss = "the loss is a float16 number that passed 65504"
        return Origin(HALF, loss if sound.half_infinite == "loss" else inside)
    if origins:
        return origins[-1]
    if sound is not None and sound.infinite and IMMENSE.reached(sound.largest):
        reached = f"numbers on the way through the model grow to {sound.largest:.3g} and past the end of their range"
        return Origin(GROWTH, f"from finite inputs and weights, {reached}")
    return None


def _of_operation(one: Operation) -> Origin:
    layer = f", after layer {one.layer}" if one.layer else ""
    symptom, text = _explained(one)
    return Origin(symptom, f"{text}{layer}", one.line)


def _explained(one: Operation) -> tuple[str, str]:
    count = f"{one.singular} of {one.elements}"
    between = f"range {one.low:.3g} to {one.high:.3g}"
    if one.name in LOGS:
        return LOG, f"{one.name} of {count} values that are zero or less ({between})"
    if one.name in ARCS and one.gradient:
        return DIVISION, f"{one.name} of {count} values that are -1 or 1: its gradient divides by zero"
    if one.name in ARCS:
        return LOG, f"{one.name} of values from {one.low:.3g} to {one.high:.3g}; it is defined from -1 to 1"
    if one.name == "sqrt" and one.gradient:
        return DIVISION, f"square root of zero ({count} values): its gradient divides by zero"
    if one.name == "power":
        return _of_power(one)
    fixed = {
        "empty mean": (DIVISION, "a mean over no elements"),
        "counted targets": (
            DIVISION,
            "cross-entropy over a batch in which every target is ignored: a mean over no elements",
        ),
        "sqrt": (LOG, "square root of a negative number"),
        "reciprocal": (DIVISION, "one over zero"),
    }
    return fixed.get(one.name, (DIVISION, f"division by zero ({count} divisors, {between})"))


def _of_power(one: Operation) -> tuple[str, str]:
    top = max(abs(one.low), abs(one.high))
    if one.dtype == "float16" and top > 0 and not FLOAT16.reached(top) and FLOAT16.reached(_power(top, one.exponent)):
        return HALF, f"values up to {top:.3g} to the power {one.exponent:g} in float16, which ends at 65504"
    if one.exponent < 0:
        return DIVISION, f"zero to the power {one.exponent:g}"
    if one.gradient:
        count = f"{one.singular} of {one.elements} values"
        return DIVISION, f"zero to the power {one.exponent:g} ({count}): its gradient divides by zero"
    return LOG, f"values down to {one.low:.3g} to the power {one.exponent:g}: a root of a negative number"


def _power(base: float, exponent: float) -> float:
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf


# --- gradients and models that were run again -------------------------------------------------------------------------


def _of_gradients(first: FirstNonFinite) -> Origin | None:
    if first.operations:
        return _of_operation(first.operations[-1])
    return _of_reach(first.reach) if first.reach is not None else None


def _of_reach(reach: GradientReach) -> Origin:
    """A parameter with a finite gradient vouches for every operation between it and the loss: where only one kind of
    operation is left, it did it."""
    good = f", those of {_named(reach.good, reach.good_layers)} are" if reach.good else ""
    text = f"the loss is finite and the gradients of {_named(reach.bad, reach.bad_layers)} are not{good}"
    if len(reach.suspects) != 1:
        return Origin(None, text)
    after = f" after layer {reach.layer}" if reach.layer else ""
    (kind,) = reach.suspects
    if kind:
        return Origin(STEEP.get(kind), f"{text}; the {kind}{after} lies before all of them", reach.line)
    function = reach.function or "a custom function"
    return Origin(None, f"{text}: the backward of {function}{after} returned them", reach.line)


def _named(names: Sequence[str], count: int) -> str:
    return ", ".join(names) + (f" and {count - len(names)} more" if count > len(names) else "")


def _of_rerun(first: FirstNonFinite) -> Origin | None:
    one = first.rerun
    if one is None:
        text = f"it began inside the compiled {first.compiled}, whose operations cannot be seen"
        return Origin(None, text, rerun=True) if first.compiled else None
    given = f" of values from {one.low:.3g} to {one.high:.3g}" if one.elements else ""
    symptom = HALF if one.dtype == "float16" and one.infinite else None
    if one.name in RERUN_LOGS:
        symptom = LOG
    elif one.name in RERUN_DIVISIONS:
        symptom = DIVISION
    return Origin(symptom, f"{one.name}{given}, found by running the model again", one.line, rerun=True)


# --- cases of the symptoms --------------------------------------------------------------------------------------------


def case(story: str, state: State, **found: Any) -> Case:
    """A loss that was not finite at update 12 and had not grown before, and what else was found about it."""
    known: dict[str, Any] = {
        "what": "loss",
        "update": 12,
        "nonfinite": 1,
        "scaled": False,
        "first": (1.5, 1.4, 1.3),
        "recent": (1.3, 1.2, 1.1),
        "where": "train.py:40",
        "step": 11,
    }
    return Case(story, state, measured=(FirstNonFinite(**{**known, **found}),))


def other_cases(identifier: str) -> tuple[Case, ...]:
    """Those in which no origin is found, the same for all of them."""
    finite = LossesSeen(losses=50, nonfinite=0)
    few = LossesSeen(losses=2, nonfinite=0)
    return (
        Case("every loss is finite", "unknown" if identifier == GROWTH else "absent", measured=(finite,)),
        Case("two losses are too few to say", "unknown", measured=(few,)),
        case("nothing was found", "unknown"),
        case("a scaler skips an update or two", "unknown", scaled=True, operations=(Operation("log"),)),
        Case("a log alone", "unknown"),
    )
