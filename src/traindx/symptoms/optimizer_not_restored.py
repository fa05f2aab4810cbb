"""optimizer-not-restored: a training goes on from a checkpoint with an optimiser that starts from nothing."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.restored import EXAMPLE, done, resumed

ID = "optimizer-not-restored"


def judge(measured: Measured) -> Observation | None:
    look = resumed(measured)
    if look is None or not look.stateful:
        return None
    if look.optimizer_loaded:
        return seen(ID, False, f"The optimiser's state was restored with the weights after {done(look)}.", at=look)
    there = ", although the checkpoint holds it" if "optimizer" in look.offered else ""
    return seen(
        ID,
        True,
        f"The training goes on from a checkpoint of {done(look)}, and the optimiser's state was not restored{there}: "
        f"its moments start from nothing.",
        at=look,
    )


LOST = replace(EXAMPLE, optimizer_loaded=False)

SYMPTOM = Symptom(
    id=ID,
    title="optimiser state was not restored at a resume",
    severity="problem",
    family="resume",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Weights come from a checkpoint that says how many updates were made, and the optimiser, which keeps moments, begins with
none.

## How it is measured
A recording sees what `torch.load` gives back (a count of steps or epochs beside weights), what the Hugging Face Trainer
resumes from, and whether `optimizer.load_state_dict` was called or the optimiser holds a state before its first update.
Judged only where the training surely goes on: a trainer resumes it, the script saves to the directory it loaded from,
or it restored another part (scheduler, random numbers). A checkpoint as the start of a fine-tuning is none of these.

## Healthy range
The state is restored, or the optimiser has none (plain SGD).

## What it usually means
Only `model.load_state_dict` was called, or `optimizer.pt` is missing beside the weights.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("weights alone", "present", measured=(LOST,)),
        Case("everything", "absent", measured=(EXAMPLE,)),
        Case("a start for another training", "unknown",
             measured=(replace(LOST, own=False, scheduler_loaded=False, rng_loaded=False),)),
        Case("plain SGD", "unknown", measured=(replace(LOST, stateful=False),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
