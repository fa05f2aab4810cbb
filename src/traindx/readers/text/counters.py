"""Counters in a log line: 'Epoch 3/50', 'iter 100:', 'Epoch(train) [1][1/6]', '1epoch', 'Loss at step 10'."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from traindx.meaning import meaning_of, step_rank

Role = Literal["epoch", "step", "batch"]
_BEFORE = (  # words that may stand before the counting word without changing what it counts
    "global|current|cur|train|training|val|valid|validation|validating|test|testing|eval|evaluating|evaluation|mini|this|"
    "starting|start|started|begin|beginning|end|of|the|optim|optimizer|gradient|inner|outer|finished|completed|running|at|"
    "in|meta|processing|after|for|on|dev"
)
_WORD = (
    "epochs?|ep|epch|steps?|iterations?|iters?|itr|it|updates?|num_updates|batch(?:_?id|_?idx|_?num)?|minibatch|mb|sample|"
    "episodes?|rounds?|timesteps?|time_?steps?|trial|tick|generation|global_?steps?"
)
_PHRASE = re.compile(
    rf"(?:(?P<subject>.{{1,60}}?)\s(?:at|after|for|in|of|on)\s)?(?:(?:{_BEFORE})[\s_\-]*)*(?P<word>{_WORD})"
    r"\s*(?:number|num|no\.?|idx|index|id|nr\.?|status|progress)?\s*(?:\((?P<split>\w+)\))?",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"(?:st|nd|rd|th)?[\s-]*(epoch|iteration|iter|step|batch|episode|update)(?![a-z/])", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_TOTAL = re.compile(r"\s*(?:/|of|out of)\s*", re.IGNORECASE)
_WHOLE = re.compile(r"\d+(?:,\d{3})*(?:\.0+)?")
# 'epochs: 100' alone is a setting, and 'num_epochs' always is one
_SETTING = re.compile(
    r"(?:epochs|steps|iterations|iters|updates|batches|rounds|episodes)$|^(?:num|n|max|total|nb|warmup|save|eval|log)[_ ]",  # noqa: E501
    re.IGNORECASE,
)
_AMOUNTS = frozenset(
    {"number", "total number", "the number", "count", "total", "out"}
)  # 'number of iterations' counts none
_PROGRESS = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Counter:
    """The number at `index` counts; `total` is the number that says how far, `plural` that it reads 'epochs' or
    'num_steps', which alone on a line is a setting. `rank` orders several step counters of one line. `outer` marks a
    step counter that is taken for the epoch because another one beside it says how far it goes."""

    role: Role
    index: int
    total: int | None = None
    scale: float = 1.0
    rank: int = 0
    plural: bool = False
    outer: bool = False


@dataclass(frozen=True, slots=True)
class Counted:
    """A phrase that ends in a counting word: the counter, what it was said of ('Loss at step 10'), and its split."""

    counter: Counter
    subject: str = ""
    split: str = ""


def counted(phrase: str, index: int, text: str, unit: str) -> Counted | None:
    """The counter that this phrase makes of the number after it, None when it is no counter."""
    if unit and unit not in ("k", "K", "M", "kit", "it") and not _ORDINAL.match(unit):
        return None
    match = _PHRASE.fullmatch(phrase.strip())
    if match and (match.group("subject") or "").lower() in _AMOUNTS:
        return None
    word = match.group("word").lower() if match else ""
    if match is None:
        kind = meaning_of(phrase).kind
        if kind not in ("step", "epoch"):
            return None
        word = "epoch" if kind == "epoch" else "step"
    role: Role = "epoch" if word.startswith("ep") and not word.startswith("episode") else "step"
    if "batch" in word or word in ("mb", "sample"):
        role = "batch"
    if not (_PROGRESS if role == "epoch" else _WHOLE).fullmatch(text):
        return None
    scale = {"k": 1e3, "K": 1e3, "kit": 1e3, "M": 1e6}.get(unit, 1.0)
    rank = max(step_rank(phrase), step_rank(word))
    counter = Counter(role, index, None, scale, rank, plural=_SETTING.search(phrase) is not None)
    return Counted(
        counter, (match.group("subject") or "") if match else "", (match.group("split") or "") if match else ""
    )


def counted_after(text: str, index: int, right: str) -> Counter | None:
    """ESPnet's '1epoch', '10th iteration': the counting word stands behind the number, glued to it or as an ordinal."""
    if not _WHOLE.fullmatch(text) or not right or right[0].isspace():
        return None
    match = _SUFFIX.match(right)
    if match is None:
        return None
    word = match.group(1).lower()
    role: Role = "epoch" if word == "epoch" else "batch" if word == "batch" else "step"
    return Counter(role, index, rank=step_rank(word))


def is_total(between: str) -> bool:
    """Whether this text joins a counter to its total: '3/50', '3 of 50'."""
    return _TOTAL.fullmatch(between) is not None


def is_whole(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None


def with_total(counter: Counter, index: int) -> Counter:
    return replace(counter, total=index)


def as_role(counter: Counter, role: Role) -> Counter:
    return replace(counter, role=role)


def as_outer(counter: Counter) -> Counter:
    """'iteration:22 step:1473/1687': the first counts rounds of the second."""
    return replace(counter, role="epoch", outer=True)
