"""target-not-in-input: what a diffusion model is to predict is no part of what it is given."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import Measured, NoisedInputs
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.noise_schedule_off import ERRORS, LINEAR, ROWS, error_of, is_noise
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "target-not-in-input"
NONE = Threshold(
    0.1, "largest correlation of input and target at any time", "at the last times an input is nearly the noise that "
    "was added to it: 0.9 and more; independent numbers scatter by 0.02 over 2 000 elements", strong=0.05, side="below",
)  # fmt: skip
LEFT = Threshold(
    0.95, "of the target's mean square that is left as error", "predicting 0 leaves 1; a velocity, which may be "
    "uncorrelated with the input too, is learnt far below that within hundreds of updates", strong=0.98,
)  # fmt: skip
UPDATES = Threshold(200, "updates", "an untrained model leaves all of it too")


def judge(measured: Measured) -> Observation | None:
    look = measured.last(NoisedInputs)
    if look is None or not is_noise(look) or not UPDATES.reached(look.step):
        return None
    met = [
        abs(share) for share, count in zip(look.shares, look.counts, strict=True)
        if ROWS.reached(count) and NONE.reached(ERRORS * error_of(look, count))
    ]  # fmt: skip
    if not met:
        return None  # too few numbers to tell a small correlation from none
    largest = max(met)
    present = NONE.reached(largest) and LEFT.reached(look.left)
    text = (
        f"The target is noise of unit size, and its correlation with the model's input is {num(largest)} at most at "
        f"any time ({look.rows} rows); {percent(look.left)} of it is left as error after {look.step} updates"
        + (": it is other noise than what was added to the data." if present else ".")
    )  # fmt: skip
    return seen(
        ID, present, text, at=look, clarity=min(NONE.clarity(largest), LEFT.clarity(look.left)) if present else 1
    )


FRESH = replace(LINEAR, shares=(0.01, -0.02, 0.0, 0.01, 0.02, -0.01, 0.0, 0.01, 0.0, -0.01), left=1.0)

SYMPTOM = Symptom(
    id=ID,
    title="the target of the denoiser is not in its input",
    severity="problem",
    family=ID,
    background=0.001,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
A diffusion model is asked for noise that was never added to its input, and learns nothing.

## How it is measured
A recording keeps the correlation of the model's input with its target, by time, and the error that is left. Present
when the target is normal noise of unit size, no time has a correlation of more than 0.1, and 95 % of the target is
left as error after 200 updates.

## Healthy range
The noise that was added is nearly the whole input at the last times: a correlation of 0.9 and more there. A velocity of
data with unit variance may be uncorrelated as well, but is learnt: its error falls.

## What it usually means
`torch.randn_like` is called twice, once for the input and again for the target.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("the noise that was added", "absent", measured=(LINEAR,)),
        Case("other noise", "present", measured=(FRESH,)),
        Case("a velocity that is learnt", "absent", measured=(replace(FRESH, left=0.4),)),
        Case("in the first updates", "unknown", measured=(replace(FRESH, step=20),)),
        Case("points in a plane: too few numbers", "unknown", measured=(replace(FRESH, elements=2),)),
        Case("data are predicted", "unknown", measured=(replace(FRESH, neighbours=0.8),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
