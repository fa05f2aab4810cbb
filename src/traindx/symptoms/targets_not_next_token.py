"""targets-not-next-token: targets are not the next token."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from traindx.diagnosis import Observation
from traindx.measurements import Measured, NumbersAsTargets, TokenCounts, TokensAsTargets
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.token_counts import counts_of, token_counts
from traindx.thresholds import Threshold, fitted

ID = "targets-not-next-token"
MIN_LOOKS = Threshold(2, "looks that agree", "one batch may be a copy by chance, two are not")
SAME = fitted(f"{ID}.same", 0.99, unit="of the targets equal the tokens at one offset")
REPEATING = fitted(f"{ID}.repeating", 0.5, unit="of the tokens equal the one before: more show no offset", side="below")
COUNTED = fitted(f"{ID}.counted", 0.5, unit="of the targets count in the loss")
ROWS = fitted(f"{ID}.rows", 16, unit="samples of a batch of numbers")
WIDTH = fitted(f"{ID}.width", 3, unit="numbers of one input")
VARIED = fitted(f"{ID}.varied", 0.5, unit="of the targets are different numbers")
ENOUGH = Threshold(64, "counted targets", "as many tokens as a batch must have elsewhere in this symptom")
ALMOST_ALL = Threshold(
    0.95, "of the counted targets equal the tokens at one offset", "the last target of a row that is shifted is padding"
)
CLARITY = 0.9  # a copy may be what is wanted, as in an autoencoder
HOW = {
    0: "equal the input tokens at the same position ({}): the model only has to copy",
    2: "are the input tokens two positions ahead ({}): shifted twice",
}


def judge(measured: Measured) -> Observation | None:
    copied = _copied(measured.all(NumbersAsTargets))
    if copied is not None:
        return copied
    offsets: dict[str, set[int]] = defaultdict(set)
    looks: dict[str, int] = defaultdict(int)
    absent: Observation | None = None
    for one in measured.all(TokensAsTargets):
        offset, share = _offset(one)
        if offset is None:
            continue
        offsets[one.where].add(offset)
        looks[one.where] += 1
        if not MIN_LOOKS.reached(looks[one.where]) or len(offsets[one.where]) > 1:
            continue
        if offset != 1:
            text = f"The targets of {one.criterion} {HOW[offset].format(percent(share))}."
            return seen(ID, True, text, at=one, clarity=CLARITY)
        absent = absent or seen(ID, False, f"The targets of {one.criterion} are the next tokens of the input.", at=one)
    return absent or _counted(counts_of(measured))


def _counted(counts: TokenCounts | None) -> Observation | None:
    """Where few targets count, as those of answers, all batches looked at are taken together."""
    if counts is None or not ENOUGH.reached(counts.counted) or not REPEATING.reached(counts.repeated):
        return None
    found = dict(enumerate((counts.same, counts.next, counts.second)))
    offset = max(found, key=lambda place: found[place])
    share = found[offset] / counts.counted
    if not ALMOST_ALL.reached(share):
        return None
    if offset == 1:
        return seen(ID, False, "The targets that count in the loss are the next tokens of the input.", at=counts)
    text = f"The targets that count in the loss {HOW[offset].format(percent(share))}."
    return seen(ID, True, text, at=counts, clarity=CLARITY)


def _offset(look: TokensAsTargets) -> tuple[int | None, float]:
    """How many positions ahead of its own each target is, and the share of which that holds; None where it does not
    show. Of an encoder and a decoder, the one counts whose next tokens are the targets; a copy of the targets only
    where there is none."""
    inputs = zip(look.same, look.next, look.second, look.repeated, look.counted, strict=True)
    best = max(inputs, key=lambda one: (SAME.reached(one[1]), one[0], one[2]), default=None)
    if best is None:
        return None, 0.0
    *shares, repeated, counted = best
    offset = max(range(3), key=lambda place: shares[place])
    shown = SAME.reached(shares[offset]) and COUNTED.reached(counted) and REPEATING.reached(repeated)
    return (offset if shown else None), shares[offset]


def _copied(looks: Iterable[NumbersAsTargets]) -> Observation | None:
    """Every target is one and the same number of its own input."""
    columns: dict[str, list[int]] = defaultdict(list)
    for one in looks:
        if not (ROWS.reached(one.rows) and WIDTH.reached(one.width) and VARIED.reached(one.distinct)):
            continue
        columns[one.where].append(one.column)
        found = columns[one.where]
        if MIN_LOOKS.reached(len(found)) and len(set(found)) == 1 and one.column >= 0:
            text = (
                f"Each target of {one.criterion} is number {one.column + 1} of the {one.width} that the model is "
                "given for it: it only has to copy."
            )
            return seen(ID, True, text, at=one, clarity=CLARITY)
    return None


def _tokens(look: int, same: float, following: float, second: float = 0.1, repeated: float = 0.1) -> TokensAsTargets:
    return TokensAsTargets(
        criterion="cross_entropy",
        look=look,
        same=(same,),
        next=(following,),
        second=(second,),
        repeated=(repeated,),
        counted=(1.0,),
        where="train.py:20",
    )


def _numbers(look: int, column: int, distinct: float = 1.0) -> NumbersAsTargets:
    return NumbersAsTargets(
        criterion="mse_loss", look=look, column=column, width=8, rows=24, distinct=distinct, where="train.py:20"
    )


SYMPTOM = Symptom(
    id=ID,
    title="targets are not the next token",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "targets",
        "input tokens",
    ),
    doc="""
## What is observed
In a language model the target of a position is the token at that position, or the one after the next, instead of the
next.

## How it is measured
A recording compares the integer targets of the loss with the tokens that went into the embedding: at least 99 % agree
at offset 0 (or 2), in two looks, at least half of the targets count, and at most half of the tokens equal the one
before. Where fewer count, as those of answers, the targets of all batches looked at are taken together. Embeddings of
another size, such as positions, are left out. Of an encoder and a decoder the one counts whose
next tokens are the targets; where there is none, one that was fed the targets themselves. In a regression: every
target of a batch of at least 16, most of them different, is one and the same number of its own input, in two looks
(the last value of the window that is to be forecast, a column that was not taken out).

## Healthy range
Offset 1: the target is the next token.

## What it usually means
Labels that are a copy of the inputs with a model that does not shift them itself, or that were shifted by the data
set and again by the model.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("a copy of the input", "present", measured=(_tokens(1, 1.0, 0.1), _tokens(2, 0.995, 0.1))),
        Case("shifted twice", "present", measured=(_tokens(1, 0.1, 0.1, 1.0), _tokens(2, 0.1, 0.1, 1.0))),
        Case("the next token", "absent", measured=(_tokens(1, 0.1, 1.0), _tokens(2, 0.1, 1.0))),
        Case("a copy but for some", "unknown", measured=(_tokens(1, 0.98, 0.1), _tokens(2, 0.98, 0.1))),
        Case("one look", "unknown", measured=(_tokens(1, 1.0, 0.1),)),
        Case("looks that differ", "unknown", measured=(_tokens(1, 1.0, 0.1), _tokens(2, 0.1, 1.0))),
        Case(
            "a text that repeats itself",
            "unknown",
            measured=(_tokens(1, 1.0, 0.9, repeated=0.6), _tokens(2, 1.0, 0.9, repeated=0.6)),
        ),
        Case(
            "an encoder that is given the targets, and a decoder that is given those before",
            "absent",
            measured=tuple(
                TokensAsTargets(
                    criterion="cross_entropy",
                    look=look,
                    same=(1.0, 0.1),
                    next=(0.1, 1.0),
                    second=(0.1, 0.1),
                    repeated=(0.1, 0.1),
                    counted=(1.0, 1.0),
                )
                for look in (1, 2)
            ),
        ),
        Case("a column of the input", "present", measured=(_numbers(1, 7), _numbers(2, 7))),
        Case("one column, then another", "unknown", measured=(_numbers(1, 7), _numbers(2, 6))),
        Case("two classes in a column", "unknown", measured=(_numbers(1, 7, 0.1), _numbers(2, 7, 0.1))),
        Case("no column", "unknown", measured=(_numbers(1, -1), _numbers(2, -1))),
        Case("answers shifted twice", "present", measured=(token_counts(next=20, second=790),)),
        Case("answers", "absent", measured=(token_counts(),)),
        Case("masked language modelling", "unknown", measured=(token_counts(next=20, same=160),)),
        Case("a log alone", "unknown"),
    ),
)
