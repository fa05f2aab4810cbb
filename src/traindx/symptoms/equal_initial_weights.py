"""equal-initial-weights: all units of a layer start with the same weights."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import InitialUnits, InitialZeros, Measured, ZerosLater
from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.dead_units import listed
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "equal-initial-weights"
SHARE = fitted(f"{ID}.share", 0.5, unit="of the hidden matrices")
SINGLE_CLARITY = 0.7  # of fewer matrices that are constant and not zero
ZEROS = Threshold(
    2, "matrices of zeros without a gradient", "one alone is let through by the others; two block each other"
)


def judge(measured: Measured) -> Observation | None:
    units = measured.last(InitialUnits)
    if units is not None:
        return _judge_units(units, measured.last(ZerosLater))
    zeros = measured.last(InitialZeros)
    if zeros is None or not ZEROS.reached(zeros.zero):
        return None
    evidence = (
        f"{listed(zeros.names, zeros.zero)} hold zeros only when training begins and get a gradient of exactly zero: "
        "none of them can begin to learn."
    )
    return seen(ID, True, evidence, at=zeros, where=zeros.names[0])


def _judge_units(units: InitialUnits, later: ZerosLater | None) -> Observation | None:
    if units.by_unit and 0 < units.equal < units.matrices and not units.nonzero:
        # beside random matrices zeros are good practice where those tell the units apart: what became of them decides
        if later is None:
            return None
        if not SHARE.reached(later.equal / later.matrices):
            text = f"{units.equal} of {units.matrices} hidden weight matrices start with zeros; after {later.updates} "
            return seen(ID, False, f"{text}updates the units of {later.matrices - later.equal} differ.", at=later)
    most = SHARE.reached(units.equal / units.matrices)
    same = "all units start with the same weights" if units.by_unit else "all weights start as one number"
    text = f"In {units.equal} of {units.matrices} hidden weight matrices {same}"
    names = listed(units.names, units.equal) + ("" if units.nonzero else ", all zero")
    # zeros may be the ends of residual branches; where the side of the units is not known, one matrix says too little
    if not (most or (units.by_unit and units.nonzero)):
        return seen(ID, False, f"{text} ({names})." if units.equal else f"{text}.", at=units)
    return seen(
        ID,
        True,
        f"{text} ({names}): units that start alike stay copies of each other.",
        at=units,
        where=units.names[0],
        clarity=1.0 if most else SINGLE_CLARITY,
    )


def _later(equal: int, matrices: int = 12) -> ZerosLater:
    return ZerosLater(matrices=matrices, equal=equal, updates=8)


def _units(equal: int, nonzero: int, *, by_unit: bool = True) -> InitialUnits:
    names = tuple(f"fc{number}.weight" for number in range(1, equal + 1))
    return InitialUnits(matrices=12, equal=equal, nonzero=nonzero, names=names[:5], by_unit=by_unit)


SYMPTOM = Symptom(
    id=ID,
    title="units start as copies of each other",
    severity="problem",
    family="symmetry",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
In hidden layers every unit begins with the same weights. Equal units receive equal gradients and stay equal.

## How it is measured
The weight matrices just before the first update: all rows equal. The last layer, biases, norms, embeddings and
adapters may start at zero. Present when half of the hidden matrices are so, or one that is not zero. Matrices of zeros
beside random ones are looked at again after eight updates: where most of them have units that differ by then, they
started so on purpose. Of parameters
without modules it is not known which side the units are on: present when half of them hold one number everywhere. Where
no hidden matrix can be compared, present when two matrices hold zeros only and get a gradient of exactly zero.

In a checkpoint: all rows of a hidden matrix are still the same, and not zero.

## Healthy range
Random weights in every hidden layer. Single zero matrices at the end of residual branches are good practice.

## What it usually means
zeros_, ones_ or constant_ on weights, parameters made with torch.zeros or torch.ones, or a checkpoint of zeros.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("all zero", "present", measured=(_units(12, 0), _later(0))),
        Case("most of them zero, not looked at again", "unknown", measured=(_units(10, 0),)),
        Case("most of them zero, and still so", "present", measured=(_units(10, 0), _later(10, 10))),
        Case("most of them zero, whose units differ later", "absent", measured=(_units(10, 0), _later(0, 10))),
        Case("random", "absent", measured=(_units(0, 0),)),
        Case("half of them zero", "present", measured=(_units(6, 0), _later(6, 6))),
        Case("fewer of them zero", "absent", measured=(_units(5, 0), _later(5, 5))),
        Case("one that is constant and not zero", "present", measured=(_units(1, 1),)),
        Case("one that is constant, without modules", "absent", measured=(_units(1, 1, by_unit=False),)),
        Case(
            "zeros behind zeros",
            "present",
            measured=(InitialZeros(matrices=2, zero=2, names=("table.weight", "head.weight")),),
        ),
        Case("a head of zeros", "unknown", measured=(InitialZeros(matrices=2, zero=1, names=("head.weight",)),)),
        Case(
            "zeros behind zeros, and other layers whose units differ",
            "absent",
            measured=(InitialZeros(matrices=14, zero=2, names=("a.weight", "b.weight")), _units(2, 0), _later(0, 2)),
        ),
        Case(
            "a checkpoint shows it",
            "present",
            facts=(Fact(ID, True, "All rows of fc1.weight are the same.", "fc1.weight"),),
        ),
        Case("a log alone", "unknown"),
    ),
)
