"""How common each group of causes is in a kind of training, from settled public threads.

The words of the cause pages say how common a cause is altogether. In the fine-tuning of language models data and wiring
are what people found, elsewhere it was numbers and rates. The counts are few, so that they only lean.

Of logs more is known: what labelled ones with this kind of problem turned out to be (`benchmarks/logs/causes.py`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.started import fine_tuning

DATA = "priors.json"
ANY, OTHER = "", "other"
LANGUAGE, REINFORCEMENT, OTHER_KINDS = "language models", "reinforcement learning", "vision and other"
AS_THREADS = 20.0  # what all kinds together say weighs like so many threads of one kind
# groups of causes that people tell apart no further in a thread
_FAMILIES = {
    "what the loss sees": "data", "which weights move": "wiring", "initialisation": "learning rate",
    "generative": "loss and output", "going on": "optimisation", "policy": REINFORCEMENT, "preference": REINFORCEMENT,
    "reward": REINFORCEMENT, "classic": REINFORCEMENT,
}  # fmt: skip
_TOKENS = re.compile(r"token|perplexity|\bppl\b|lm.loss|vocab", re.IGNORECASE)

# kinds of problems, the more telling ones first: a log is counted under the first that it shows
NOT_FINITE = "not finite"
PROBLEMS: Mapping[str, frozenset[str]] = {
    "layers": frozenset({
        "dead-units", "saturated-units", "tiny-updates", "huge-updates", "unchanged-weights", "vanishing-gradients",
    }),
    NOT_FINITE: frozenset({"nonfinite-loss", "nonfinite-gradient", "nonfinite-weight", "loss-scale-collapse"}),
    "held-out gap": frozenset({"overfitting-gap", "val-left-behind"}),
    "rising": frozenset({"divergence", "ends-off-best", "loss-spike", "exploding-gradients", "oscillation"}),
    "standing still": frozenset({
        "flat-from-start", "plateau", "loss-at-chance", "prediction-collapse", "slow-convergence", "underfitting",
    }),
}  # fmt: skip
ANOTHER = "another"  # a problem of none of these kinds
HALF = "half-precision"  # half precision is no suspect of numbers that are not finite unless there is a sign of it


@dataclass(frozen=True)
class Logs:
    """What labelled logs turned out to be. `factors`: by the kind of problem, how much more often a cause was right
    than the ranking alone says. `other`: the same of what the catalogue does not know. `ceiling`: how often a cause
    was right that stood above it, with the repository left out; `brief`: the same of logs that were too short."""

    factors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    other: float = 1.0
    ceiling: float = 1.0
    brief: float = 1.0
    source: str = ""

    def factor(self, problem: str, cause: str) -> float:
        if cause == OTHER:
            return self.other_of(problem)
        return self.factors.get(problem, {}).get(cause, 1.0)

    def other_of(self, problem: str) -> float:
        """NaN without half precision is often the doing of a kernel or a version (settled threads), which is no cause
        of the catalogue; of kinds that no labelled log had nothing is known."""
        return 1.0 if problem == NOT_FINITE or problem not in self.factors else self.other


def _data() -> Mapping[str, Any]:
    import msgspec

    data: Mapping[str, Any] = msgspec.json.decode(files(__package__).joinpath(DATA).read_bytes())
    return data


@cache
def counts() -> Mapping[str, Mapping[str, int]]:
    found: Mapping[str, Mapping[str, int]] = _data()["counts"]
    return found


@cache
def of_labelled_logs() -> Logs:
    """The fit that comes with the package."""
    return Logs(**_data()["logs"])


def problem_of(observations: Sequence[Observation], problems: Collection[str], training: str) -> str | None:
    """The kind of problem a log shows; None where it shows none. `problems`: ids of symptoms that are one. A policy
    has reasons of its own for all of them."""
    seen = {observation.id for observation in observations if observation.state == "present"}
    present = seen.intersection(problems)
    if present and training == REINFORCEMENT:
        return REINFORCEMENT
    kind = next((kind for kind, ids in PROBLEMS.items() if ids & present), ANOTHER if present else None)
    return f"{kind}, {HALF}" if kind == NOT_FINITE and HALF in seen else kind


def family_of(group: str) -> str:
    return _FAMILIES.get(group, group)


@cache
def share(training: str, group: str) -> float:
    """How much more common a group of causes is in this kind of training than in all; 1 where nobody counted."""
    table, group = counts(), family_of(group)
    whole = sum(sum(groups.values()) for groups in table.values())
    overall = sum(groups.get(group, 0) for groups in table.values()) / whole
    if training not in table or not overall:
        return 1.0
    own = table[training]
    return (own.get(group, 0) + AS_THREADS * overall) / (sum(own.values()) + AS_THREADS) / overall


def kind_of(signals: Signals) -> str:
    """The kind of training, as far as a log shows it."""
    if signals.kind == "rl":
        return REINFORCEMENT
    run = signals.run
    words = any(_TOKENS.search(name) for name in (*run.series, *run.config))
    return LANGUAGE if words or fine_tuning(signals) else OTHER_KINDS
