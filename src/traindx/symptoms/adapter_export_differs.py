"""adapter-export-differs: an adapter does not fit its base, or merged weights are not base plus adapter."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "adapter-export-differs"

SYMPTOM = Symptom(
    id=ID,
    title="exported adapter does not match its base",
    severity="problem",
    family="export",
    background=0.002,
    needs=("a checkpoint of the adapter with its base (traindx checkpoint ADAPTER --against BASE)",),
    doc="""
## What is observed
Tensors of a saved adapter find no module in the base model, or have shapes that do not fit it, or merged weights differ
from base plus scale times B·A by more than rounding.

## How it is measured
`traindx checkpoint ADAPTER --against BASE` reads both from disk. Every pair is looked up in the base by its module's
name, with the prefixes that libraries put before it taken off, and checked for its shapes and for the rank of
`adapter_config.json`. With `--merged MERGED`, base + scale·B·A is calculated row by row and compared with the merged
tensor, by the rounding of the type it is stored in.

## Healthy range
Every pair finds its module, and the merged weights agree within rounding.

## What it usually means
Names with another prefix (trained on a wrapped model, loaded on a plain one), another base or another revision of it,
a merge with another scale, a merge into quantised weights, or a merge that was made twice.
""",
    detect=from_fact(ID),
    cases=(
        Case("names do not match", "present",
             facts=(Fact(ID, True, "None of 28 adapter pairs finds its module in the base."),)),
        Case("all match", "absent", facts=(Fact(ID, False, "All 28 adapter pairs find their module."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
