"""validation-seen-in-training: validation samples occur in the training data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from traindx.diagnosis import Observation
from traindx.measurements import (
    CallsAlike,
    EvaluatedRows,
    FirstBatches,
    Measured,
    PassesOverData,
    SameData,
    TextOverlap,
)
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "validation-seen-in-training"
LEAK = fitted(f"{ID}.share", 0.2, unit="of the evaluated rows")
EVALUATED = fitted(f"{ID}.evaluated", 25, unit="evaluated rows")
LEAKED = fitted(f"{ID}.rows", 10, unit="evaluated rows that were trained on")
EXPECTED = Threshold(
    5.0,
    "training rows that a leak would have shown among the evaluated ones",
    "none by chance then has probability e^-5",
)
EXPECTED_SOME = fitted(f"{ID}.expected-some", 20.0, unit=f"{EXPECTED.unit}, where some are shown")
FEW_SHOWN = fitted(f"{ID}.few", 0.25, unit="of the training rows that a leak would have shown", side="below")
ALL = fitted(f"{ID}.all", 0.9, unit="of the rows of a call are training rows: it is a metric of the training")
COVERED = fitted(f"{ID}.covered", 0.9, unit="of the training rows seen are evaluated: that is a metric of the training")
BORDER = fitted(f"{ID}.border", 4, unit="training rows one behind the other at the border of a call")
AS_OFTEN = fitted(f"{ID}.as-often", 0.5, unit="of how often the other rows of the table were trained on")
BEFORE = fitted(f"{ID}.before", 3, unit="training rows expected among the evaluated ones at their first evaluation")
BEFORE_SHARE = fitted(f"{ID}.before-share", 1 / 3, unit="of the training rows expected then")
SCATTER = fitted(f"{ID}.scatter", 0.4, unit="of a call's rows, by chance", side="below")
CERTAIN = fitted(f"{ID}.certain", 0.5, unit="of the rows are in calls large enough to be judged one by one")
SIGMAS = Threshold(2.5, "standard deviations", "chance goes beyond in one of a hundred cases", side="below")
COARSE = fitted(f"{ID}.coarse", 4, unit="different numbers in a sample", side="below")
BY_CHANCE = fitted(f"{ID}.by-chance", 0.5, unit="training rows that repeat others, by evaluated rows that repeat them")
RUNS = Threshold(100, "runs of tokens on each side", "a share of fewer is uncertain by more than a tenth")
TEXT = Threshold(
    0.5,
    "of the runs that training samples do not share",
    "GPT-3 calls a sample dirty by a single run (Brown et al. 2020)",
)
MOSTLY_KNOWN = Threshold(
    0.4, "of the training samples looked at", "a share that is found is divided by it: by no more than 2.5"
)
DRAWN = Threshold(
    0.15,
    "of the training rows repeat one before them until half of the different ones were met",
    "draws from few texts give 1 - 0.5 / ln 2 = 0.28 (coupon collector), an epoch over different ones none",
)
SURE, PERHAPS_MEANT = 0.95, 0.8  # clarity: of a set partly trained on, and of one that was taken from the training set


def judge(measured: Measured) -> Observation | None:
    """The first evaluation with a leak counts, else the first that rules one out."""
    clean: Observation | None = None
    same = measured.last(SameData)
    if same is not None:
        trained = same.trained if same.trained.startswith("the ") else f"`{same.trained}`"
        how = "is computed from" if same.computed else "holds the same samples as"
        return seen(ID, True, f"`{same.held}` {how} {trained}: nothing is held out.", at=same)
    for look in measured.all(EvaluatedRows):
        if look.later and (clean is not None or not _also_before(look)):
            continue
        found = _repeats_itself(measured, look) or _by_table(look) or _by_rows(look)
        if found is not None and found.state == "present":
            return found
        clean = clean or found
    overlap = _by_text(measured.last(TextOverlap), measured.last(PassesOverData))
    return overlap if overlap is not None and (clean is None or overlap.state == "present") else clean


def _by_text(look: TextOverlap | None, data: PassesOverData | None) -> Observation | None:
    """Runs of tokens, against how much later training samples repeat earlier ones: templates make all samples alike."""
    if look is None or not EVALUATED.reached(look.samples) or not RUNS.reached(min(look.evaluated, look.fresh)):
        return None
    seen_share, usual = look.seen / look.evaluated, look.fresh_seen / look.fresh
    if DRAWN.reached(look.repeated):
        return seen(
            ID, False, f"{percent(seen_share)} of the runs of {look.length} tokens in evaluated samples occur in "
                       f"training samples, but training samples are drawn from few different ones.", at=look,
        )  # fmt: skip
    if EVALUATED.reached(look.long) and LEAK.reached(look.copied / look.long):
        return seen(
            ID, True, f"{look.copied} of {look.long} evaluated samples stand nearly whole in a training sample, beside "
                      f"what many training samples share.", at=look, clarity=PERHAPS_MEANT,
        )  # fmt: skip
    if EVALUATED.reached(look.long) and LEAK.reached(look.overlapping / look.long):
        return seen(
            ID, True, f"{look.overlapping} of {look.long} evaluated samples overlap by half or more with one training "
                      f"sample, as windows over the same text that are split at random.", at=look, clarity=SURE,
        )  # fmt: skip
    beyond = (seen_share - usual) / max(1 - usual, 1e-9)
    said = (
        f"{percent(seen_share)} of the runs of {look.length} tokens in evaluated samples occur in training samples; "
        f"training samples repeat {percent(usual)} of each other's."
    )
    known = min(1.0, look.trained / data.samples) if look.trained and data is not None and data.samples else 1.0
    if known < 1 and MOSTLY_KNOWN.reached(known):  # of the rest it is not known what it shares
        beyond /= known
        said += f" {percent(known)} of the training samples were looked at."
    if not TEXT.reached(beyond):
        return seen(ID, False, said, at=look)
    return seen(ID, True, said, at=look, clarity=SURE)


def _repeats_itself(measured: Measured, look: EvaluatedRows) -> Observation | None:
    """Rows of a few different numbers, such as small black-and-white images, are equal by chance: where the training
    rows repeat each other about as often as the evaluated ones repeat them, no row was copied."""
    first = measured.last(FirstBatches)
    count, found = _rows(look.calls), sum(group.in_table for group in look.calls)
    coarse = first is not None and COARSE.reached(max(first.distinct, default=math.inf))
    if not coarse or not look.table_distinct or not found:
        return None
    repeated = 1 - look.table_distinct / look.table_rows
    if not BY_CHANCE.reached(repeated / (found / count)):
        return None
    text = (
        f"{found} of {count} evaluated samples equal training samples, about as many as the training samples that "
        f"equal each other: samples of so few different numbers are equal by chance."
    )
    return _said(look, False, text)


def _also_before(look: EvaluatedRows) -> bool:
    """Whether rows are trained on before their evaluation as after it, or never. Those of a fold or a stream are only
    after it."""
    leaked = _trained(look.calls)
    expected = leaked * look.first_training_rows / max(look.training_rows, 1)
    return not leaked or (BEFORE.reached(expected) and BEFORE_SHARE.reached(look.first_trained / expected))


def _by_table(look: EvaluatedRows) -> Observation | None:
    """Compare with all rows that training batches are cut from, if that settles it."""
    others = [group for group in look.calls if not ALL.reached(group.in_table / group.rows)]
    looked = look.calls if others and BORDER.reached(look.table_border) else others
    count, found = _rows(looked), sum(group.in_table for group in looked)
    if not look.table_distinct or not EVALUATED.reached(count):
        return None
    if _hardly_any(found, LEAK.value * count):
        text = f"{_of(found, count)} among the {look.table_rows} rows that training batches are cut from."
        return _said(look, False, text)
    trained = sum(group.both for group in looked)
    as_often = found * look.training_rows / look.table_distinct  # as the other rows of the table
    if not LEAK.reached(found / count) or not EXPECTED.reached(trained) or not AS_OFTEN.reached(trained / as_often):
        return None
    text = (
        f"{found} of {count} evaluated samples are among the {look.table_rows} rows that training batches are cut "
        f"from, and {trained} of them were seen in such batches."
    )
    return _said(look, True, text, SURE)


def _by_rows(look: EvaluatedRows) -> Observation | None:
    """The share of training rows among the evaluated ones, in relation to how many training rows are known at all."""
    count, leaked = _rows(look.calls), _trained(look.calls)
    if not look.known:
        return None
    if EVALUATED.reached(count) and _hardly_any(leaked, LEAK.value * count * look.known):
        return _said(look, False, f"{_of(leaked, count)} among the {look.training_rows} training samples seen.")
    looked, some_are_new = _judged_calls(look)
    count, leaked = _rows(looked), _trained(looked)
    share = min(1.0, leaked / max(count, 1) / look.known)
    if not (EVALUATED.reached(count) and LEAK.reached(share) and LEAKED.reached(leaked)):
        return None
    if not some_are_new and (not look.whole or COVERED.reached(leaked / look.training_rows)):
        return None  # the training set itself is evaluated: a training metric
    text = f"{leaked} of {count} evaluated samples are among the {look.training_rows} training samples seen so far."
    return _said(look, True, text, SURE if some_are_new else PERHAPS_MEANT)


def _hardly_any(found: int, expected: float) -> bool:
    """So few of the evaluated rows are training rows that there is no leak; a training metric would show many."""
    return FEW_SHOWN.reached(found / expected) and (EXPECTED_SOME if found else EXPECTED).reached(expected)


def _judged_calls(look: EvaluatedRows) -> tuple[Sequence[CallsAlike], bool]:
    """The calls that may show a leak, and whether some of them are not all training rows."""
    certain = [group for group in look.calls if SCATTER.reached(_scatter(group, look.known))]
    if CERTAIN.reached(_rows(certain) / max(1, _rows(look.calls))):
        others = _not_all_trained(certain, look)
        return others or certain, bool(others)
    return (look.calls, True) if _evenly(look) else ((), False)


def _not_all_trained(certain: list[CallsAlike], look: EvaluatedRows) -> list[CallsAlike]:
    """Calls with nothing but training rows beside others are a training metric beside the validation, unless both are
    of one set."""
    others = [
        group
        for group in certain
        if not ALL.reached(group.trained / group.rows / look.known + _scatter(group, look.known))
    ]
    return certain if others and BORDER.reached(look.border) else others


def _evenly(look: EvaluatedRows) -> bool:
    """Training rows are spread over small calls by chance, as in one set that holds some. Where some calls were all
    training rows and the others held none, the counts would lie further apart."""
    count, calls = _rows(look.calls), sum(group.calls for group in look.calls)
    rate = _trained(look.calls) / count
    share = rate / look.known
    if not rate or ALL.reached(share):
        return False
    deviation = math.sqrt(2 * calls)  # of the chi-square, whose mean is the number of calls
    of_two_kinds = count * look.known * (1 - share) / (1 - rate)
    separable = calls + SIGMAS.value * deviation <= of_two_kinds / 2
    return separable and SIGMAS.reached((look.dispersion - calls) / deviation)


def _scatter(group: CallsAlike, known: float) -> float:
    """How much less than its true share of training rows a call may show by chance, where only some of those are
    known."""
    return SIGMAS.value * math.sqrt(max(0.0, 1 - known) / (known * group.rows / group.calls))


def _rows(calls: Sequence[CallsAlike]) -> int:
    return sum(group.rows for group in calls)


def _trained(calls: Sequence[CallsAlike]) -> int:
    return sum(group.trained for group in calls)


def _of(leaked: int, count: int) -> str:
    return f"Only {leaked} of {count} evaluated samples are" if leaked else f"None of {count} evaluated samples is"


def _said(look: EvaluatedRows, present: bool, evidence: str, clarity: float = 1.0) -> Observation:
    """Without a place: what the rows were read from is none in the script."""
    return replace(seen(ID, present, evidence, at=look, clarity=clarity), where=None)


def _look(
    *calls: tuple[int, int, int, int, int],
    known: float = 1.0,
    training_rows: int = 900,
    table_rows: int = 0,
    whole: bool = True,
    first: tuple[int, int] | None = None,
) -> EvaluatedRows:
    """An evaluation for the cases below; of the groups: calls, rows, trained on, in the table, both."""
    return EvaluatedRows(
        calls=tuple(CallsAlike(*one) for one in calls), dispersion=0.0, border=0, table_border=0, known=known,
        training_rows=training_rows, table_rows=table_rows, table_distinct=table_rows, whole=whole, where="Net",
        later=first is not None, first_training_rows=first[0] if first else 0, first_trained=first[1] if first else 0,
    )  # fmt: skip


def _repeating() -> EvaluatedRows:
    """Three of ten evaluated rows are in a table of whose rows nearly as many repeat others."""
    look = _look((2, 900, 130, 270, 130), training_rows=800, table_rows=5000)
    return msgspec.structs.replace(look, table_distinct=3600)


def _passes(samples: int) -> PassesOverData:
    return PassesOverData(batches=88, samples=samples, updates=264, first_loss=5.0, last_loss=0.2)


def _texts(
    seen: int, fresh_seen: int, copied: int = 0, repeated: float = 0.0, overlapping: int = 0, trained: int = 0
) -> TextOverlap:
    return TextOverlap(
        length=13, training=5000, evaluated=1000, seen=seen, fresh=1000, fresh_seen=fresh_seen, samples=60,
        samples_seen=50, long=60, copied=copied, repeated=repeated,
        overlapping=overlapping, trained=trained,
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="validation samples in the training data",
    severity="problem",
    family="leak",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
A fifth or more of the samples evaluated between updates are, byte for byte, samples the model was trained on.

## How it is measured
Rows of input batches are remembered by a 64-bit hash, up to 200 000; how often training rows return tells how much of
the training set is known. Where batches are cut from a table that a running function holds (a variable, an attribute,
an array), its length tells it too, and all rows of a table with up to a million numbers are compared at once.
Validation rows may stand in the same table, so that those found in it count only if they were seen in training batches
at least half as often as its other rows. At least 25 evaluated rows are needed, and 10 that were trained on. It is
ruled out where a leak would have shown five training rows and none is there, or twenty and at most a quarter of them
is. Tokens are also compared by runs of 13: at least half of those that training samples do not share among themselves
are found in training samples (by the share of these that was looked at, from 40 % on); or a fifth of the samples stand
by half in one training sample, moved by some tokens, as windows over the same text do.

What is named after an evaluation where one runs (`val_loader`, `X_test`, `self.valid_data`, `data["val"]`) is compared
with what is trained on and with what is named after the training: the same object, or equal numbers from all over it
with the same shape. A result that is named so and whose evaluation is given what is named after the training, and
nothing else (`val_loss = evaluate(model, train_loader)`), is found by its statement. Short and ordered numbers, such as
grids and sorted labels, are left alone, as are loaders with a sampler of their own.

At the end the last evaluation that was seen is compared with what was trained on after it, too; rows that are trained
on only after their evaluation, as those of folds and streams, do not count. Samples of at most four different numbers
(black and white) are equal by chance: where training rows repeat each other at least half as often as evaluated rows
repeat them, there is no leak. The batch just trained on and an evaluation
of the whole training set are training metrics and do not count, nor do inputs with few distinct rows. If all evaluated
samples come from the training data, that may be meant, and the clarity is lower.

## Healthy range
No sample in common, or up to one in twenty, as duplicates in the data bring.

## What it usually means
A split with replacement, a validation set drawn from the training set, duplicates in the data, or a random split made
anew at every start. """,
    detect=from_measurements(ID, judge),
    cases=(
        Case("rows drawn twice", "present", measured=(_look((1, 200, 96, 0, 0)),)),
        Case("a clean split", "absent", measured=(_look((1, 143, 0, 0, 0)),)),
        Case("duplicates in the data", "absent", measured=(_look((1, 200, 8, 0, 0)),)),
        Case("more than duplicates, less than a leak", "unknown", measured=(_look((1, 200, 36, 0, 0)),)),
        Case("a fifth", "present", measured=(_look((1, 200, 40, 0, 0)),)),
        Case("too few evaluated rows", "unknown", measured=(_look((1, 24, 12, 0, 0)),)),
        Case("too few training rows known to rule it out", "unknown", measured=(_look((1, 100, 0, 0, 0), known=0.2),)),
        Case("how many training rows are known is not", "unknown", measured=(_look((1, 200, 96, 0, 0), known=0.0),)),
        Case("the training set is evaluated", "unknown", measured=(_look((1, 900, 900, 0, 0)),)),
        Case("a part of it, all of it seen", "present", measured=(_look((1, 200, 200, 0, 0)),)),
        Case("a part of it, part of it seen", "unknown", measured=(_look((1, 200, 200, 0, 0), whole=False),)),
        Case("validation beside a training metric", "unknown", measured=(_look((4, 160, 0, 0, 0), (2, 80, 80, 0, 0)),)),
        Case(
            "rows of the table, trained on",
            "present",
            measured=(_look((4, 160, 20, 80, 20), training_rows=160, table_rows=640),),
        ),
        Case(
            "small black-and-white images that are equal by chance",
            "absent",
            measured=(FirstBatches(repeated=(0.1,), distinct=(2,)), _repeating()),
        ),
        Case(
            "measured numbers that are equal as often: oversampled before the split",
            "present",
            measured=(FirstBatches(repeated=(0.1,), distinct=(30,)), _repeating()),
        ),
        Case(
            "rows of the table that are held out",
            "unknown",
            measured=(_look((4, 160, 0, 80, 0), training_rows=160, table_rows=640, known=0.1),),
        ),
        Case(
            "no rows of the table",
            "absent",
            measured=(_look((4, 160, 0, 0, 0), training_rows=160, table_rows=640, known=0.0),),
        ),
        Case("folds: trained on only later", "unknown", measured=(_look((1, 100, 100, 0, 0), first=(400, 0)),)),
        Case("trained on before and after", "present", measured=(_look((1, 200, 96, 0, 0), first=(450, 40)),)),
        Case(
            "ruled out before it is compared once more",
            "absent",
            measured=(_look((1, 143, 0, 0, 0)), _look((1, 200, 96, 0, 0), first=(450, 40))),
        ),
        Case("texts of the training set", "present", measured=(_texts(900, 100),)),
        Case(
            "texts of a training set of which half was looked at",
            "present",
            measured=(_texts(510, 150, trained=750), _passes(1400)),
        ),
        Case(
            "as many in common, all of it looked at",
            "absent",
            measured=(_texts(510, 150, trained=1400), _passes(1400)),
        ),
        Case(
            "of most training samples nothing is known",
            "absent",
            measured=(_texts(310, 150, trained=300), _passes(1400)),
        ),
        Case("texts from one template", "absent", measured=(_texts(900, 880),)),
        Case("copies in a set that repeats itself", "present", measured=(_texts(900, 880, copied=40),)),
        Case("windows that overlap, split at random", "present", measured=(_texts(500, 350, overlapping=20),)),
        Case("a few passages in common", "absent", measured=(_texts(500, 350, copied=4, overlapping=6),)),
        Case("draws from a few texts", "absent", measured=(_texts(900, 230, copied=50, repeated=0.28),)),
        Case("other texts", "absent", measured=(_texts(20, 15),)),
        Case(
            "what is named after the validation is the training data",
            "present",
            measured=(SameData(trained="train_data", held="val_data"), _look((1, 900, 900, 0, 0))),
        ),
        Case(
            "the result of an evaluation of the training data is named after the validation",
            "present",
            measured=(SameData(trained="train_iter", held="dev_acc, dev_loss", computed=True),),
        ),
        Case("a log alone", "unknown"),
    ),
)
