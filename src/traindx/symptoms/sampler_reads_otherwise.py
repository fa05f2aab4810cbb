"""sampler-reads-otherwise: the sampler takes the output of a diffusion model for something else than it learnt."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import Measured, NoisedInputs, SamplerSteps
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.noise_schedule_off import LINEAR, ORDER, is_noise
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "sampler-reads-otherwise"
CALLS = Threshold(5, "pairs of calls", "a median of fewer is too uncertain")
FIT = Threshold(0.5, "of the next input that input and output explain", "less is noise or another rule of sampling")
AMPLIFIED = Threshold(
    1.0005, "times the input", "where the output is noise, the input grows by 1 / sqrt(alpha), at least 1.00005 and "
    "mostly 1.01 (Ho, Jain and Abbeel 2020), or by more in larger steps", strong=1.003,
)  # fmt: skip
SHRUNK = Threshold(
    0.998, "times the input", "where the output is data, the input is moved towards it by about a hundredth; where it "
    "is a velocity, by the square of the step's angle, far less", strong=0.995, side="below",
)  # fmt: skip
SUBTRACTED = Threshold(
    -0.01, "weight of the output in the next input", "noise is subtracted with 0.02 at the last of 1000 times, and "
    "a velocity with the step's angle; data never are", side="below",
)  # fmt: skip


def judge(measured: Measured) -> Observation | None:
    look, steps = measured.last(NoisedInputs), measured.last(SamplerSteps)
    if look is None or steps is None or not CALLS.reached(steps.calls) or not FIT.reached(steps.fit):
        return None
    learnt, taken = _learnt(look), _taken(steps)
    if not learnt or not taken:
        return None
    does = (
        f"subtracts its output (weight {num(steps.added)})"
        if taken == "noise"
        else "moves its input towards its output"
    )
    text = (
        f"The model is trained to give the {learnt}. The sampler {does}: the next input keeps {steps.kept:.4f} of the "
        f"last one (median of {steps.calls} steps; input and output explain {percent(steps.fit)} of it)"
    )
    if learnt == taken:
        return seen(ID, False, f"{text}, as it should.", at=steps)
    side = AMPLIFIED if taken == "noise" else SHRUNK
    return seen(ID, True, f"{text}, as if it were the {taken}.", at=steps, clarity=side.clarity(steps.kept))


def _taken(steps: SamplerSteps) -> str:
    """What the sampler takes the output for; '' where it cannot be told."""
    if AMPLIFIED.reached(steps.kept) and steps.added < 0:
        return "noise"
    return "data" if SHRUNK.reached(steps.kept) and not SUBTRACTED.reached(steps.added) else ""


def _learnt(look: NoisedInputs) -> str:
    """What the target is: the noise, or the data, which is in the inputs of the first times. Else ''."""
    if is_noise(look):
        return "noise" if ORDER.reached(max(look.shares)) else ""
    return "data" if ORDER.reached(look.shares[0] - look.shares[-1]) and ORDER.reached(look.shares[0]) else ""


CLEAN = replace(LINEAR, shares=LINEAR.shares[::-1], peaks=1.8, neighbours=0.6, scales=(0.6,) * 10)
SUBTRACTS = SamplerSteps(calls=30, kept=1.005, added=-0.02, fit=0.98, step=900)

SYMPTOM = Symptom(
    id=ID,
    title="sampler and training disagree on what the model gives",
    severity="problem",
    family=ID,
    background=0.001,
    needs=("a recording of the training (traindx run) that also draws samples",),
    doc="""
## What is observed
A diffusion model learns to give the noise, and its sampler takes what it gives for the clean data; or the other way
round. The loss looks fine and every sample is noise.

## How it is measured
A recording compares the targets of the training with its inputs (noise: normal, of unit size, more of it at later
times; data: the reverse), and calls without gradients whose time falls: the next input is fitted by the last input and
the last output. A sampler that takes the output for noise subtracts it and enlarges its input a little; one that takes
it for data shrinks its input.

## Healthy range
The two fit.

## What it usually means
`prediction_type` of the sampler's scheduler differs from the target of the training, or a hand-written sampler is for
another parametrisation.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("noise is learnt and subtracted", "absent", measured=(LINEAR, SUBTRACTS)),
        Case("data are learnt and subtracted", "present", measured=(CLEAN, SUBTRACTS)),
        Case("noise is learnt and added", "present", measured=(LINEAR, replace(SUBTRACTS, added=0.3, kept=0.7))),
        Case("data are learnt and added", "absent", measured=(CLEAN, replace(SUBTRACTS, added=0.3, kept=0.7))),
        Case("no samples are drawn", "unknown", measured=(LINEAR,)),
        Case("a velocity is read", "unknown", measured=(CLEAN, replace(SUBTRACTS, kept=0.99, added=-0.15))),
        Case("another rule of sampling", "unknown", measured=(LINEAR, replace(SUBTRACTS, fit=0.2))),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
