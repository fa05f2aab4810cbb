"""replica-mismatch: ranks that should agree do not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import RankStep
from traindx.run import Floats, Run, Series
from traindx.signals import Signals
from traindx.signals.inside import by_rank
from traindx.symptoms.base import Case, Symptom, clarity, num
from traindx.symptoms.observed import seen
from traindx.symptoms.ranks import Rank, measured_by, ranks_of, shared_steps
from traindx.symptoms.recipes import falling, flat, ramp
from traindx.thresholds import Threshold

ID = "replica-mismatch"
MIN_POINTS = 5
DIFFER = 1e-3  # relative; equal replicas differ by rounding only, 1e-6 or so
STRONG_DIFFER = 0.1
EQUAL = Threshold(
    1e-6, "of a parameter's size", "what sums in single precision differ by on unlike machines", side="below"
)
APART = Threshold(
    1e-4, "of a parameter's size", "below, machines that round in their own ways may get there in a long training"
)
UNTIED_CLEAR = 0.9  # replicas that nothing ties together may be meant so
_LOCAL = re.compile(r"local|before|unreduced|shard", re.IGNORECASE)
_SHARDED = re.compile(
    r"fsdp|zero_?(stage|optim)|tensor_(model_)?parallel|pipeline_(model_)?parallel|shard", re.IGNORECASE
)


def detect(signals: Signals) -> Observation:
    ranks = ranks_of(signals.run)
    found = _compare(ranks) if ranks else None
    return found if found is not None else _of_logs(signals)


def _compare(ranks: Sequence[Rank]) -> Observation | None:
    first = ranks[0]
    if any(rank.spread != first.spread or rank.names != first.names for rank in ranks) or not first.names:
        return None
    if first.spread not in ("replicated", "apart"):
        return None
    apart = {step: found for step in shared_steps(ranks) if (found := _distance(ranks, step)) is not None}
    if not apart:
        return None
    steps, furthest = list(apart), [float(values.max()) for values in apart.values()]
    if first.spread == "apart" and (len(steps) < 2 or not EQUAL.reached(furthest[0])):
        return None  # never equal: each rank may have a model of its own by design
    bad = [step for step, most in zip(steps, furthest, strict=True) if APART.reached(most)]
    if bad:
        # those that come together again are averaged from time to time, as in local SGD
        drifted = len(bad) >= len([one for one in steps if one >= bad[0]]) / 2
        return _drifted(ranks, apart, bad[0]) if drifted else None
    if not EQUAL.reached(max(furthest)):
        return None
    text = f"{len(first.names)} parameters were equal on all {len(ranks)} ranks at {len(steps)} steps."
    return seen(ID, False, text, at=first.steps[steps[-1]])


def _distance(ranks: Sequence[Rank], step: int) -> Floats | None:
    """By parameter, how far the ranks' sums are apart, relative to its norm."""
    looks = [rank.steps[step] for rank in ranks]
    lengths = {len(look.sums) for look in looks} | {len(look.norms) for look in looks}
    if len(lengths) != 1 or not lengths.pop():
        return None
    sums, norms = np.array([look.sums for look in looks]), np.array([look.norms for look in looks])
    if not (np.isfinite(sums).all() and np.isfinite(norms).all()):
        return None
    distance: Floats = (sums.max(axis=0) - sums.min(axis=0)) / np.maximum(norms.max(axis=0), 1e-30)
    return distance


def _drifted(ranks: Sequence[Rank], apart: dict[int, Floats], step: int) -> Observation:
    first, last = ranks[0], list(apart)[-1]
    place = next(index for index, one in enumerate(apart[step]) if APART.reached(float(one)))
    sums = [rank.steps[step].sums[place] for rank in ranks]
    odd = max(range(1, len(ranks)), key=lambda index: abs(sums[index] - sums[0]))
    before = max((one for one in apart if one < step), default=None)
    still = f"; they were equal at step {before}" if before is not None else ""
    differing = sum(APART.reached(float(one)) for one in apart[last])
    replicated = first.spread == "replicated"
    tied = "" if replicated else " No DistributedDataParallel or sharding ties the ranks' models together."
    return seen(
        ID,
        True,
        f"At step {step} {first.names[place]} is another one on rank {ranks[odd].number} than on rank "
        f"{first.number}, by {apart[step][place]:.2g} of its size{still}. {differing} of {len(first.names)} parameters "
        f"compared differ at step {last}.{tied}",
        at=first.steps[step],
        where=first.names[place],
        clarity=1.0 if replicated else UNTIED_CLEAR,
    )


def _of_logs(signals: Signals) -> Observation:
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
        ID,
        "present",
        f"{summary}, from step {num(first)} on (healthy below {num(DIFFER)}).",
        (first, last),
        name,
        clarity(np.log10(size), np.log10(DIFFER), np.log10(STRONG_DIFFER)),
    )


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


def _steps(offset: float, since: int = 30, ranks: int = 2) -> Iterator[RankStep]:
    """Ranks of which the last has another second parameter from one step on."""
    for step in range(0, 60, 4):
        for rank in range(ranks):
            moved = offset if rank == ranks - 1 and step >= since else 0.0
            yield RankStep(
                rank=rank,
                steps=step,
                whole=0.05 * step,
                own=0.005 * step,
                waited=0.001 * step,
                host=True,
                sums=(1.0, 2.0 + moved),
                norms=(1.0, 1.0),
                step=step,
            )


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

A recording knows more: every rank writes fingerprints of the first 1024 numbers of up to 32 parameters, at the first
steps and then each time an eighth of the steps has gone by. Replicas of DistributedDataParallel whose fingerprints
differ by more than 1e-4 of a parameter's size are called, with the first step and the first parameter; equal is below
1e-6. Without a wrapper it takes models that were equal before the first update. Sharded parameters, groups of some of
the ranks only and communication hooks, by which replicas may drift on purpose, are not compared.

## Healthy range
Rounding, 1e-6 or less. Losses differ from rank to rank by right, since every rank has its own batch: they are never
taken as a mismatch.

## What it usually means
A model that was wrapped before it was changed or loaded, gradients that are not synchronised (no_sync left open, a
hook that replaces them), a seed by rank used for initialisation, batch-norm statistics or buffers that are kept apart,
or a rank that resumed from another checkpoint.
""",
    detect=detect,
    cases=(
        Case("a recording saw it", "present", measured=measured_by(_steps(0.1))),
        Case("a recording compared", "absent", measured=measured_by(_steps(0.0))),
        Case("rounded in other ways", "absent", measured=measured_by(_steps(1e-9))),
        Case("more than rounding, less than a fault", "unknown", measured=measured_by(_steps(1e-5))),
        Case("just a fault", "present", measured=measured_by(_steps(2e-4))),
        Case("nothing ties them together", "present", measured=measured_by(_steps(0.1), "apart")),
        Case("models that never were equal", "unknown", measured=measured_by(_steps(0.1, since=0), "apart")),
        Case("shards", "unknown", measured=measured_by(_steps(0.1), "sharded")),
        Case("one rank of a recording", "unknown", measured=measured_by(_steps(0.0, ranks=1))),
        Case(
            "gradients are not synchronised",
            "present",
            lambda: {"rank0/grad_norm": flat(60, 1.0, 0.2, 0), "rank1/grad_norm": flat(60, 1.0, 0.2, 1)},
        ),
        Case(
            "weights drift apart",
            "present",
            lambda: {"weight_norm/rank0": ramp(60, 30.0, 33.0), "weight_norm/rank1": ramp(60, 30.0, 36.0)},
        ),
        Case(
            "equal up to rounding",
            "absent",
            lambda: {"rank0/grad_norm": flat(60, 1.0, 0.2, 0), "rank1/grad_norm": flat(60, 1.0, 0.2, 0) * (1 + 1e-7)},
        ),
        Case(
            "losses differ by right",
            "unknown",
            lambda: {"loss/rank0": falling(60, 2.3, 0.4, 0.1, 0), "loss/rank1": falling(60, 2.3, 0.4, 0.1, 1)},
        ),
        Case(
            "sharded model",
            "unknown",
            lambda: {"rank0/grad_norm": flat(60, 1.0, 0.2, 0), "rank1/grad_norm": flat(60, 2.0, 0.2, 1)},
            {"strategy": "fsdp"},
        ),
        Case("one process", "unknown", lambda: {"loss": falling(60, 2.3, 0.4), "grad_norm": flat(60, 1.0, 0.2)}),
    ),
)
