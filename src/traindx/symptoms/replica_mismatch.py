"""replica-mismatch: ranks that should agree do not."""

from __future__ import annotations

import re

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Fact, Run, Series
from traindx.signals import Signals
from traindx.signals.inside import by_rank
from traindx.symptoms.base import Case, Symptom, clarity, num
from traindx.symptoms.observed import from_fact
from traindx.symptoms.recipes import falling, flat, ramp

ID = "replica-mismatch"
MIN_POINTS = 5
DIFFER = 1e-3  # relative; equal replicas differ by rounding only, 1e-6 or so
PLAIN = 0.1
_LOCAL = re.compile(r"local|before|unreduced|shard", re.IGNORECASE)
_SHARDED = re.compile(
    r"fsdp|zero_?(stage|optim)|tensor_(model_)?parallel|pipeline_(model_)?parallel|shard", re.IGNORECASE
)


def detect(signals: Signals) -> Observation:
    must_agree = by_rank(signals.run, "grad_norm", "weight_norm", "lr")
    must_agree = {name: members for name, members in must_agree.items() if not _LOCAL.search(name)}
    if not must_agree:
        losses = by_rank(signals.run, "loss")
        why = (
            "Only losses are logged by rank, and each rank has its own batch" if losses else "Nothing is logged by rank"
        )
        return Observation(ID, "unknown", f"{why}; gradient or weight norms by rank would tell.")
    compared = {name: found for name, members in must_agree.items() if (found := _difference(members)) is not None}
    if not compared:
        return Observation(ID, "unknown", f"The ranks share fewer than {MIN_POINTS} logged steps.")
    name = max(compared, key=lambda key: compared[key][0])
    size, first, last = compared[name]
    summary = f"{name} differs by {num(size)} (relative, median) between {len(must_agree[name])} ranks"
    if size <= DIFFER:
        return Observation(ID, "absent", f"{summary}: rounding.")
    sharded = _setting(signals.run)
    if sharded:
        return Observation(ID, "unknown", f"{summary}, but the config says {sharded}: each rank holds its own part.")
    return Observation(
        ID, "present", f"{summary}, from step {num(first)} on (healthy below {num(DIFFER)}).", (first, last), name,
        clarity(np.log10(size), np.log10(DIFFER), np.log10(PLAIN)),
    )  # fmt: skip


def _difference(members: list[Series]) -> tuple[float, float, float] | None:
    """The relative difference over the steps all ranks logged, and the first and last step at which it shows."""
    steps = members[0].steps
    for one in members[1:]:
        steps = np.intersect1d(steps, one.steps)
    if len(steps) < MIN_POINTS:
        return None
    table = np.array([one.values[np.searchsorted(one.steps, steps)] for one in members])
    known = np.isfinite(table).all(axis=0)
    if known.sum() < MIN_POINTS:
        return None
    table, steps = table[:, known], steps[known]
    largest = np.maximum(np.abs(table).max(axis=0), 1e-300)
    apart = (table.max(axis=0) - table.min(axis=0)) / largest
    shown = steps[apart > DIFFER]
    ends = (float(shown[0]), float(shown[-1])) if len(shown) else (float(steps[0]), float(steps[-1]))
    # replicas that drift apart agree at first: the second half counts
    return float(np.median(apart[len(apart) // 2 :])), *ends


def _setting(run: Run) -> str:
    for key, value in run.config.items():
        on = str(value).lower() not in ("false", "0", "1", "none", "", "no")
        if on and (_SHARDED.search(key) or (isinstance(value, str) and _SHARDED.search(value))):
            return f"{key} = {value}"
    return ""


SYMPTOM = Symptom(
    id=ID,
    title="replicas disagree",
    severity="problem",
    family="replicas",
    background=0.002,
    needs=("gradient or weight norms by rank, or a recording (traindx run)",),
    doc="""
## What is observed
In data-parallel training every rank must hold the same weights and, after the all-reduce, the same gradients. Here
they do not.

## How it is measured
Gradient norms, weight norms and learning rates that were logged once a rank are compared at the steps all ranks share;
the largest relative difference counts, as its median over the second half of the run, since replicas that drift apart
agree at first. Present above 1e-3, plain above 0.1. Norms that are called local or sharded, and runs whose config
shards the model, are not judged.

A recording knows more: every rank writes fingerprints of the first 1024 numbers of up to 32 parameters, at the first steps and
then each time an eighth of the steps has gone by. Replicas of DistributedDataParallel whose fingerprints differ by more than
1e-4 of a parameter's size are called, with the first step and the first parameter; equal is below 1e-6. Without a wrapper it
takes models that were equal before the first update. Sharded parameters, groups of some of the ranks only and communication
hooks, by which replicas may drift on purpose, are not compared.

## Healthy range
Rounding, 1e-6 or less. Losses differ from rank to rank by right, since every rank has its own batch: they are never
taken as a mismatch.

## What it usually means
A model that was wrapped before it was changed or loaded, gradients that are not synchronised (no_sync left open, a
hook that replaces them), a seed by rank used for initialisation, batch-norm statistics or buffers that are kept apart,
or a rank that resumed from another checkpoint.
""",
    detect=from_fact(ID, detect),
    cases=(
        Case("a recording saw it", "present",
             facts=(Fact(ID, True, "At step 30 3.bias is another one on rank 1 than on rank 0, by 0.098 of its size.", "3.bias", 30.0),)),
        Case("a recording compared", "absent",
             facts=(Fact(ID, False, "4 parameters were equal on all 2 ranks at 47 steps.", step=66.0),)),
        Case("gradients are not synchronised", "present",
             lambda: {"rank0/grad_norm": flat(60, 1.0, 0.2, 0), "rank1/grad_norm": flat(60, 1.0, 0.2, 1)}),
        Case("weights drift apart", "present",
             lambda: {"weight_norm/rank0": ramp(60, 30.0, 33.0), "weight_norm/rank1": ramp(60, 30.0, 36.0)}),
        Case("equal up to rounding", "absent",
             lambda: {"rank0/grad_norm": flat(60, 1.0, 0.2, 0), "rank1/grad_norm": flat(60, 1.0, 0.2, 0) * (1 + 1e-7)}),
        Case("losses differ by right", "unknown",
             lambda: {"loss/rank0": falling(60, 2.3, 0.4, 0.1, 0), "loss/rank1": falling(60, 2.3, 0.4, 0.1, 1)}),
        Case("sharded model", "unknown",
             lambda: {"rank0/grad_norm": flat(60, 1.0, 0.2, 0), "rank1/grad_norm": flat(60, 2.0, 0.2, 1)}, {"strategy": "fsdp"}),
        Case("one process", "unknown", lambda: {"loss": falling(60, 2.3, 0.4), "grad_norm": flat(60, 1.0, 0.2)}),
    ),
)  # fmt: skip
