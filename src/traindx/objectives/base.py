"""What an entry of the table is: a trainer, how its log is recognised, and what each series in it means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from traindx.meaning import Meaning

Task = Literal["supervised", "preference", "reward model", "rl"]
TELLING: tuple[Task, ...] = ("supervised", "reward model", "preference", "rl")  # the last have the fewest names

# The meanings that entries are written with. A name in `part` that is '*' stands for what the pattern's '*' matched.
LOSS = Meaning("loss", "", "min")
TRAIN_LOSS = Meaning("loss", "train", "min")
VAL_LOSS = Meaning("loss", "val", "min")
PART = Meaning("loss", "", "min", part="*")
POLICY_LOSS = Meaning("loss", "", "min", part="policy")
VALUE_LOSS = Meaning("loss", "", "min", part="value")
PERPLEXITY = Meaning("perplexity", "", "min")
VAL_ERROR = Meaning("error", "val", "min")
SCORE = Meaning("score", "", "max")
VAL_SCORE = Meaning("score", "val", "max")
TOKEN_ACCURACY = Meaning("score", "", "max", part="token")  # under teacher forcing
REWARD = Meaning("reward", "", "max")
VAL_REWARD = Meaning("reward", "val", "max")
REWARD_PART = Meaning("reward", "", "max", part="*")
REWARD_SPREAD = Meaning("reward_spread")
SPREAD_PART = Meaning("reward_spread", part="*")
EQUAL_GROUPS = Meaning("equal_groups")
KL = Meaning("kl", part="reference")  # between the policy and the reference it began from
ANSWER_KL = Meaning("kl", part="answer")  # the same, summed over an answer
UPDATE_KL = Meaning("kl", part="update")  # between the policies before and after an update
ENTROPY = Meaning("entropy")
NEGATED_ENTROPY = Meaning("entropy", part="negated")  # logged as a loss: minus the entropy
DENSITY_ENTROPY = Meaning("entropy", part="density")  # of continuous actions: no zero point
CLIP_FRACTION = Meaning("clip_fraction")
VALUE_CLIP_FRACTION = Meaning("clip_fraction", part="value")
RATIO = Meaning("ratio")  # new over old probability of the same action
MISMATCH = Meaning("mismatch", part="difference")  # of log-probabilities between trainer and sampler: 0 where equal
MISMATCH_RATIO = Meaning("mismatch", part="ratio")  # the same as a ratio: 1 where equal
LENGTH = Meaning("length", part="answer")
LONGEST = Meaning("length", part="answer", stat="max")
SHORTEST = Meaning("length", part="answer", stat="min")
EPISODE_LENGTH = Meaning("length", part="episode")
CUT_SHARE = Meaning("cut_share")
EXPLAINED = Meaning("explained_variance")
ACTION_STD = Meaning("action_std")
MARGIN = Meaning("margin")
CHOSEN = Meaning("log_ratio", part="chosen")
REJECTED = Meaning("log_ratio", part="rejected")
CHOSEN_LOGP = Meaning("logp", part="chosen")
REJECTED_LOGP = Meaning("logp", part="rejected")
BALANCE = Meaning("balance")
LR = Meaning("lr")
GRAD_NORM = Meaning("grad_norm")
LOSS_SCALE = Meaning("loss_scale")
SKIPPED = Meaning("skipped")
THROUGHPUT = Meaning("throughput", "", "max")
STEP_TIME = Meaning("step_time")
STEP_TIME_MS = Meaning("step_time", part="ms")
TIME = Meaning("time")
DATA_TIME = Meaning("data_time")
MEMORY = Meaning("memory")
UNITS = Meaning("other")  # a count or a setting: says nothing of how the training goes

_PREFIX = re.compile(r"^(?:train|training|eval|evaluation|validation|val|test)[/_]|^(?:train|eval|val) (?=loss|acc)")


@dataclass(frozen=True)
class Trainer:
    """`signs`: alternatives, each a group of names that are all in the log of this trainer and together in hardly any
    other; a name may hold `*`. `series` gives the meaning of every series that matters, by name or pattern, the first
    that fits. `objective` names what the verdict rests on, best first. `normal` says in one sentence each what looks
    odd and is how this training goes. `example` is one row as the trainer logs it, recognised by the contract suite;
    `sources` are where the names come from. `rounded`: the learning rate is printed with so few decimals that it reads
    as 0."""

    id: str
    title: str
    task: Task
    signs: tuple[tuple[str, ...], ...]
    series: Mapping[str, Meaning]
    objective: tuple[str, ...]
    example: Mapping[str, float]
    sources: tuple[str, ...]
    normal: tuple[str, ...] = ()
    rounded: bool = False
    general: bool = False  # many trainers write through it: any other entry that is recognised goes first
    passes: float | None = None  # over the same samples, by default; None where that is not fixed

    def meaning_of(self, name: str) -> Meaning | None:
        """What this trainer means by a name; None where the entry does not know it."""
        for pattern, meaning in self.series.items():
            found = match(pattern, name)
            if found is not None:
                return replace(meaning, part=found) if meaning.part == "*" else meaning
        return None

    def recognises(self, names: Iterable[str]) -> int:
        """How many names of the best sign are all there; 0 where no sign is."""
        logged = {bare(name) for name in names} | {name.lower() for name in names}
        return max(
            (len(sign) for sign in self.signs if all(_any(pattern, logged) for pattern in sign)),
            default=0,
        )


def bare(name: str) -> str:
    """The name without the split that trackers put before it: `train/reward`, `eval_loss`."""
    return _PREFIX.sub("", name.lower(), count=1)


def match(pattern: str, name: str) -> str | None:
    """What stands for the `*` of a pattern ('' where it has none); None where the name does not fit."""
    whole = _compiled(pattern.lower())
    found = whole.fullmatch(name.lower()) or whole.fullmatch(bare(name))
    if found is None:
        return None
    return found.group(1) if found.groups() else ""


def _any(pattern: str, names: Iterable[str]) -> bool:
    whole = _compiled(pattern.lower())
    return any(whole.fullmatch(name) for name in names)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", "(.+)", 1).replace(r"\*", ".+"))
