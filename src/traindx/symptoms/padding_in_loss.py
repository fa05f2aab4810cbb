"""padding-in-loss: padding counted in the loss."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, PaddedTargets, TokenCounts
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.token_counts import SAMPLES, counts_of, token_counts
from traindx.thresholds import Threshold, fitted

ID = "padding-in-loss"
SHARE = fitted(f"{ID}.share", 0.3, unit="of the targets are in runs of one target at the ends")
ROWS = Threshold(
    0.5,
    "of the sequences end in such runs",
    "the target looked for is the median of the last column: a common one only if half of the rows end in it",
)
FILLED = fitted(f"{ID}.filled", 0.7, unit="of that share of the input is in such runs, too")
COUNTED = Threshold(
    0.1,
    "of the counted targets are padding",
    "at most one pad token behind a sample may stand for its end, and samples are longer than ten tokens",
    strong=0.25,
)
CLARITY = 0.9  # a token that means something may stand at the ends of texts as well


def judge(measured: Measured) -> Observation | None:
    """What a tokenizer or an attention mask calls padding goes before what only looks like it."""
    return _by_counts(counts_of(measured)) or _by_runs(measured.all(PaddedTargets))


def _by_counts(counts: TokenCounts | None) -> Observation | None:
    if counts is None or not counts.padding or not counts.counted or not SAMPLES.reached(counts.samples):
        return None
    share = counts.padding_counted / counts.counted
    if COUNTED.reached(share):
        sentence = (
            f"{percent(share)} of the targets that count in the loss are padding ({counts.padding_counted} of "
            f"{counts.counted})."
        )
        return seen(ID, True, sentence, at=counts, clarity=COUNTED.clarity(share))
    if counts.padding_counted:
        return None
    return seen(ID, False, f"None of {counts.padding} padding tokens counts in the loss.", at=counts)


def _by_runs(looks: list[PaddedTargets]) -> Observation | None:
    found = next((one for one in looks if _is_padded(one) and _counts(one)), None)
    if found is not None:
        sentence = (
            f"{percent(found.share)} of the targets of {found.criterion} are token {found.token} at the ends of the "
            f"sequences, where the input is padding too, and it is not ignore_index ({found.ignore_index})."
        )
        return seen(ID, True, sentence, at=found, clarity=CLARITY)
    if not looks:
        return None
    first, name = looks[0], looks[0].criterion
    sentence = f"The targets of {name} do not end in long runs of one token."
    if _is_padded(first):
        sentence = f"{percent(first.share)} of the targets of {name} are padding, and they do not count."
    return seen(ID, False, sentence, at=first)


def _is_padded(look: PaddedTargets) -> bool:
    if not (SHARE.reached(look.share) and ROWS.reached(look.rows) and look.uneven):
        return False
    return FILLED.reached(look.filled / look.share)


def _counts(look: PaddedTargets) -> bool:
    return look.token != look.ignore_index and look.weight != 0


def padded(share: float = 0.43, *, ignore_index: int = -100, weight: float = 1.0, uneven: bool = True) -> PaddedTargets:
    return PaddedTargets(
        criterion="cross_entropy",
        share=share,
        rows=0.9,
        uneven=uneven,
        filled=0.42,
        token=0,
        ignore_index=ignore_index,
        weight=weight,
        where="train.py:30",
    )


SYMPTOM = Symptom(
    id=ID,
    title="padding counted in the loss",
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
A large part of the targets is padding that the loss does not ignore.

## How it is measured
A recording compares targets of sequences with the tokens that went into the embedding: rows end in runs of one
target, of different length, in half of the rows at least, where the input is constant too; they make up 30 % of all
targets or more, the runs of the input have at least 0.7 of that share, and the value is not `ignore_index` and not
weighted with 0. Where an attention mask or a tokenizer tells what is padding, 10 % of the counted targets are enough.

## Healthy range
Padding is ignored (`ignore_index`), masked by hand, or rare.

## What it usually means
`ignore_index` was not set to the padding token, or labels were not replaced by -100.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("padding counts", "present", measured=(padded(),)),
        Case("padding counts in the second batch", "present", measured=(padded(0.2), padded())),
        Case("a fifth of the targets", "absent", measured=(padded(0.2),)),
        Case("runs of one length, as of a closing token", "absent", measured=(padded(uneven=False),)),
        Case("runs that the input does not have", "absent", measured=(padded(0.7),)),
        Case("ignored", "absent", measured=(padded(ignore_index=0),)),
        Case("weighted with 0", "absent", measured=(padded(weight=0.0),)),
        Case("padding by the attention mask", "present", measured=(token_counts(padding_counted=240),)),
        Case("padding by the attention mask, ignored", "absent", measured=(token_counts(), padded())),
        Case("a log alone", "unknown"),
    ),
)
