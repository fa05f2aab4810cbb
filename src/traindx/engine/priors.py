"""How common each group of causes is in a kind of training, from settled public threads.

The words of the cause pages say how common a cause is altogether. In the fine-tuning of language models data and wiring
are what people found, elsewhere it was numbers and rates. The counts are few, so that they only lean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from traindx.signals import Signals
from traindx.signals.started import fine_tuning

DATA = "priors.json"
ANY = ""
LANGUAGE, REINFORCEMENT, OTHER_KINDS = "language models", "reinforcement learning", "vision and other"
AS_THREADS = 20.0  # what all kinds together say weighs like so many threads of one kind
# groups of causes that people tell apart no further in a thread
_FAMILIES = {
    "what the loss sees": "data", "which weights move": "wiring", "initialisation": "learning rate",
    "generative": "loss and output", "going on": "optimisation", "policy": REINFORCEMENT, "preference": REINFORCEMENT,
    "reward": REINFORCEMENT, "classic": REINFORCEMENT,
}  # fmt: skip
_TOKENS = re.compile(r"token|perplexity|\bppl\b|lm.loss|vocab", re.IGNORECASE)


@cache
def counts() -> Mapping[str, Mapping[str, int]]:
    import msgspec

    data: Mapping[str, Mapping[str, Mapping[str, int]]] = msgspec.json.decode(
        files(__package__).joinpath(DATA).read_bytes()
    )
    return data["counts"]


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
