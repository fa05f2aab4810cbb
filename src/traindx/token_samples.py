"""A batch of a language model as its loss sees it, for whoever shows it: the samples that a recording kept, as JSON
with and without the texts of the data, and what each holds in numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from traindx.measurements import Measured, RewardedAnswer, RewardedAnswers, TokenSample, TokenSamples

CLASSES = {"p": "prompt", "a": "answer", "t": "text", "s": "special", "-": "padding"}  # by the letter of a token
COUNTED = "1"


class Tally(NamedTuple):
    """The tokens of one class in one sample."""

    name: str
    tokens: int
    counted: int  # by the loss
    loss: float | None  # mean of those whose loss was taken


class Stretch(NamedTuple):
    """Tokens in a row of one class that the loss treats alike, from `start` to before `end`."""

    start: int
    end: int
    letter: str
    counted: bool


def batches_of(measured: Iterable[Measured]) -> tuple[TokenSamples, ...]:
    """The first batch of the training that was kept and the first of its evaluation."""
    found = [one for rank in measured for one in rank.all(TokenSamples) if one.samples]
    first = (next((one for one in found if one.evaluation is wanted), None) for wanted in (False, True))
    return tuple(one for one in first if one is not None)


def answers_of(measured: Iterable[Measured]) -> tuple[RewardedAnswers, ...]:
    """The first texts of a policy that were kept and the last ones."""
    found = [one for rank in measured for one in rank.all(RewardedAnswers)]
    return tuple(found[:1] + found[1:][-1:])


def tallies(sample: TokenSample) -> list[Tally]:
    """What the kept tokens of a sample are, class by class, in the order of `CLASSES`."""
    found = []
    for letter, name in CLASSES.items():
        places = [place for place, one in enumerate(sample.classes) if one == letter]
        losses = [loss for place in places if (loss := sample.losses[place]) is not None]
        counted = sum(sample.counted[place] == COUNTED for place in places)
        if places:
            found.append(Tally(name, len(places), counted, sum(losses) / len(losses) if losses else None))
    return found


def stretches(sample: TokenSample) -> Iterator[Stretch]:
    place = 0
    for (letter, counted), members in groupby(zip(sample.classes, sample.counted, strict=True)):
        end = place + sum(1 for _ in members)
        yield Stretch(place, end, letter, counted == COUNTED)
        place = end


def to_json(batch: TokenSamples, texts: bool) -> dict[str, Any]:
    """`texts`: with the tokens themselves. Without, only what class each is and whether it counts."""
    return {
        "step": batch.step, "where": batch.where, "evaluation": batch.evaluation, "shift": batch.shift,
        "ignore_index": batch.ignore_index, "tokenizer": batch.tokenizer, "private": batch.private or not texts,
        "samples": [(one if texts else _without_texts(one))._asdict() for one in batch.samples],
    }  # fmt: skip


def from_json(data: Mapping[str, Any]) -> TokenSamples:
    return msgspec.convert({**data, "samples": [list(sample.values()) for sample in data["samples"]]}, TokenSamples)


def _without_texts(sample: TokenSample) -> TokenSample:
    return sample._replace(ids=(), pieces=(), labels=())


def answers_to_json(given: RewardedAnswers, texts: bool) -> dict[str, Any]:
    """`texts`: with what was written. Without, only how long it is and what it earned."""
    kept = [(one if texts else one._replace(text=""))._asdict() for one in given.answers]
    return {"step": given.step, "where": given.where, "total": given.total, "private": given.private or not texts,
            "answers": kept}  # fmt: skip


def answers_from_json(data: Mapping[str, Any]) -> RewardedAnswers:
    kept = tuple(RewardedAnswer(**one) for one in data["answers"])
    return RewardedAnswers(**{**data, "answers": kept})
