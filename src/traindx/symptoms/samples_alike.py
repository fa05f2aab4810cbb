"""samples-alike: a generator gives nearly the same sample whatever it is given."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import GeneratedSamples, Measured
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "samples-alike"
MEASURED = "benchmarks/generative: in sound generators it is 0.3 or more after 300 updates, in collapsed ones below 0.1"
SPREAD = Threshold(0.1, "of how far real samples differ", MEASURED, strong=0.03, side="below")
MIN_LOOKS = Threshold(
    4, "looks in a row", "an untrained generator gives samples that are alike too; a trained one recovers"
)
UPDATES = Threshold(300, "updates", "an untrained generator gives samples that are alike too")
WIDE_ONCE = Threshold(0.3, "of how far real samples differ, at some look", MEASURED)
NEVER_WIDE = Threshold(3000, "updates", "slow generators are still untrained after hundreds (benchmarks/generative)")


def judge(measured: Measured) -> Observation | None:
    last = measured.last(GeneratedSamples)
    if last is None or not (UPDATES.reached(last.step) and MIN_LOOKS.reached(len(last.spreads))):
        return None
    recent = last.spreads[-int(MIN_LOOKS.value) :]
    widest = max(recent)
    same = not any(last.inputs)
    collapsed = same or WIDE_ONCE.reached(last.widest) or NEVER_WIDE.reached(last.step)
    present = SPREAD.reached(widest) and collapsed
    if SPREAD.reached(widest) and not present:
        return None  # it may not have learnt to differ yet
    text = (
        f"Samples of {last.generator} differ by {percent(recent[-1])} of what real ones do (batches of {last.samples}, "
        f"{len(recent)} checks in a row at {percent(widest)} or less)"
        + (": what it is given does not differ either." if same and present else f", although its inputs differ by "
           f"{num(last.inputs[-1])}." if present else ".")
    )  # fmt: skip
    return seen(ID, present, text, at=last, where=last.generator, clarity=SPREAD.clarity(widest) if present else 1.0)


WIDE = GeneratedSamples(
    where="Discriminator", generator="Generator", looks=9, samples=64, widest=0.95, spreads=(0.4, 0.8, 0.9, 0.95, 0.9),
    inputs=(1.0, 1.0, 1.0, 1.0, 1.0), real=(1.2, 1.0, 0.8, 0.9, 1.0), generated=(-1.0, -0.8, -0.7, -0.9, -1.1),
    above=(0.9, 0.88, 0.85, 0.86, 0.9), loss="binary_cross_entropy_with_logits", shares=False, step=900,
)  # fmt: skip
ALIKE = replace(WIDE, spreads=(0.3, 0.02, 0.01, 0.012, 0.01))

SYMPTOM = Symptom(
    id=ID,
    title="generated samples are nearly all the same",
    severity="problem",
    family=ID,
    background=0.001,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
All samples that a generator makes in a batch are nearly the same, while real ones differ.

## How it is measured
A recording finds the discriminator as the network that is given another one's output and other inputs of that shape.
Over the batch, the standard deviation of each element of the generated samples is compared with that of the real ones.
Present when it is a tenth or less in four looks in a row, after 300 updates, and was a third or more before (or the
generator is given the same noise for every sample, or 3000 updates have gone by).

## Healthy range
From about a third to slightly more than one. An untrained generator gives samples that are alike: early looks are not
counted.

## What it usually means
The generator has found one output that the discriminator accepts at the moment (mode collapse), or its noise is not
used: always the same, or too small beside the other inputs.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("as wide as the data", "absent", measured=(WIDE,)),
        Case("one sample for every noise", "present", measured=(ALIKE,)),
        Case("the noise is the same too", "present", measured=(replace(ALIKE, inputs=(0.0,) * 5, widest=0.02),)),
        Case("never wide yet", "unknown", measured=(replace(ALIKE, widest=0.08),)),
        Case("never wide, after thousands", "present", measured=(replace(ALIKE, widest=0.08, step=9000),)),
        Case("wide again in the last look", "absent", measured=(replace(ALIKE, spreads=(0.02, 0.02, 0.02, 0.5)),)),
        Case("in the first updates", "unknown", measured=(replace(ALIKE, step=40),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
