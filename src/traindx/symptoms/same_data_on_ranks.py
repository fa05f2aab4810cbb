"""same-data-on-ranks: all ranks train on the same batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from traindx.diagnosis import Observation
from traindx.measurements import RankStep
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact, seen
from traindx.symptoms.ranks import Rank, measured_by, ranks_of, shared_steps
from traindx.thresholds import Threshold

ID = "same-data-on-ranks"
PRINTS = Threshold(
    6, "steps with fingerprints of the batch", "one equal batch in five may be chance where data is small"
)
KINDS = Threshold(3, "different batches among them", "a batch that never changes is the same on all ranks by right")
SAME = Threshold(0.5, "of the steps with equal batches, to be called absent", "the ranks mostly differ", side="below")

_otherwise = from_fact(ID)


def detect(signals: Signals) -> Observation:
    ranks = ranks_of(signals.run)
    found = _compare(ranks) if ranks else None
    return found if found is not None else _otherwise(signals)


def _compare(ranks: Sequence[Rank]) -> Observation | None:
    """The same targets in the same order on all ranks, batch after batch; without a loss function of torch, the same
    loss."""
    if any(rank.spread not in ("replicated", "sharded") for rank in ranks):
        return None
    prints = [[rank.steps[step].target for rank in ranks] for step in shared_steps(ranks)]
    if not any(value is not None for row in prints for value in row):
        prints = [[rank.steps[step].loss for rank in ranks] for step in shared_steps(ranks)]
    whole = [row for row in prints if all(value is not None for value in row)]
    if not PRINTS.reached(len(whole)) or not KINDS.reached(len({row[0] for row in whole})):
        return None
    same = sum(len(set(row)) == 1 for row in whole)
    if same == len(whole):
        return seen(ID, True, f"In all {len(whole)} checked steps, the {len(ranks)} ranks trained on the same batch.")
    if not SAME.reached(same / len(whole)):
        return None
    return seen(ID, False, f"The {len(ranks)} ranks train on different batches.")


def _steps(
    target: Callable[[int, int], float | None], count: int = 12, loss: float | None = None
) -> Iterator[RankStep]:
    """Two ranks whose batches have these fingerprints, by rank and step."""
    for step in range(count):
        for rank in range(2):
            yield RankStep(
                rank=rank,
                steps=step,
                whole=0.05 * step,
                own=0.005 * step,
                waited=0.001 * step,
                host=True,
                target=target(rank, step),
                loss=loss if loss is None else loss / (1 + step),
                step=step,
            )


SYMPTOM = Symptom(
    id=ID,
    title="the same data on every rank",
    severity="problem",
    family="rank data",
    background=0.002,
    needs=("a recording of all ranks (traindx run -- torchrun …)",),
    doc="""
## What is observed
In data-parallel training every rank is fed the same batches in the same order.

## How it is measured
Each rank writes a fingerprint of the targets that its loss function sees (the first 1024, weighted by place), or of the
loss where no loss function of torch is called. Present when all ranks have the same one in every step compared, at
least six with at least three different batches among them. Absent when they agree in half of the steps at most.

## Healthy range
Different batches on every rank.

## What it usually means
A loader without a distributed sampler. All ranks compute the same gradient, so their mean is the gradient of one: the
training is as slow as on one device and costs as much as on all.
""",
    detect=detect,
    cases=(
        Case("no distributed sampler", "present", measured=measured_by(_steps(lambda rank, step: 10.0 * step))),
        Case("the same losses", "present", measured=measured_by(_steps(lambda rank, step: None, loss=2.3))),
        Case("batches of their own", "absent", measured=measured_by(_steps(lambda rank, step: 10.0 * step + rank))),
        Case(
            "equal at most steps",
            "unknown",
            measured=measured_by(_steps(lambda rank, step: 10.0 * step + rank * (step % 4 == 0))),
        ),
        Case("one batch for ever", "unknown", measured=measured_by(_steps(lambda rank, step: 7.0))),
        Case("too few steps", "unknown", measured=measured_by(_steps(lambda rank, step: 10.0 * step, count=5))),
        Case(
            "models that nothing ties together",
            "unknown",
            measured=measured_by(_steps(lambda rank, step: 10.0 * step), "apart"),
        ),
        Case("a log alone", "unknown"),
    ),
)
