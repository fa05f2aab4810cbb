"""updates-lost-to-rounding: updates round to nothing in low-precision weights."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, UnmovedElements, WeightTypes
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.learning import listed, since
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "updates-lost-to-rounding"
UPDATES = Threshold(3, "updates", "the median of fewer is that of a single update, and the first may be a warm-up")
SHARE = fitted(f"{ID}.share", 0.6, unit="of the elements with a gradient; in fp32 it is next to none", strong=0.8)
CLEAR = 0.7  # clarity of a finding that is not strong
HALF = frozenset({"bfloat16", "float16"})


def judge(measured: Measured) -> Observation | None:
    if not measured.last(UnmovedElements):
        return _by_type(measured)
    looks = [look for look in measured.all(UnmovedElements) if UPDATES.reached(look.looks)]
    if not looks:
        return None
    last = looks[-1]
    present = SHARE.reached(last.share)
    return seen(
        ID,
        present,
        f"The weights are kept in {last.dtype}, and an update leaves {last.share * 100:.1f} % of the elements that "
        f"have a gradient exactly as they were ({listed(last.names, last.parameters)}).",
        at=since(looks, lambda look: SHARE.reached(look.share) is present),
        where=last.names[0] if last.names else None,
        clarity=max(CLEAR, SHARE.clarity(last.share)),
    )


def _by_type(measured: Measured) -> Observation | None:
    types = measured.last(WeightTypes)
    if types is None or not UPDATES.reached(types.step) or HALF.intersection(types.dtypes):
        return None
    return seen(ID, False, f"The weights are kept in {', '.join(types.dtypes)}.", at=types)


SYMPTOM = Symptom(
    id=ID,
    title="updates are lost to rounding",
    severity="problem",
    family="rounding",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The weights themselves are bf16 or fp16, and an update leaves most of their elements exactly as they were
although they have a gradient.

## How it is measured
The weights just before and just after an update on steps that are looked at closely: the share of elements with a
gradient other than zero that did not change by a single bit. Present when the median of three such steps or more is 60
%, plain from 80 %.

In a checkpoint with weights and moments in bf16: the share of elements that the last update, made again, would not
change.

## Healthy range
In fp32 nearly every element moves. Autocast keeps fp32 weights and is not concerned.

## What it usually means
model.to(bfloat16) or .half() with an ordinary optimiser, at a rate whose updates are smaller than half of the spacing
of the numbers.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("bf16 weights", "present", measured=(UnmovedElements(dtype="bfloat16", share=0.981, looks=5),)),
        Case("most of them move", "absent", measured=(UnmovedElements(dtype="bfloat16", share=0.55, looks=5),)),
        Case(
            "at first only",
            "absent",
            measured=(
                UnmovedElements(dtype="bfloat16", share=0.9, looks=3),
                UnmovedElements(dtype="bfloat16", share=0.2, looks=40, step=90),
            ),
        ),
        Case("too few updates", "unknown", measured=(UnmovedElements(dtype="bfloat16", share=0.981, looks=2),)),
        Case("fp32 weights", "absent", measured=(WeightTypes(dtypes=("float32",), step=400),)),
        Case(
            "bf16 weights of which no update was seen",
            "unknown",
            measured=(WeightTypes(dtypes=("bfloat16",), step=400),),
        ),
        Case("a log alone", "unknown"),
    ),
)
