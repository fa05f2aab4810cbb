"""labels-unrelated: training labels, or a part of them, do not follow from their inputs."""

from __future__ import annotations

import math

from traindx.diagnosis import Observation
from traindx.measurements import EvaluatedRows, FreshSamples, LabelRelation, Measured, TakenFor
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "labels-unrelated"
STANDARD = "standard deviations above chance"
RELATED = fitted(f"{ID}.related", 10.0, unit=f"{STANDARD}: labels follow from the inputs")
UNRELATED = fitted(f"{ID}.unrelated", 2.5, unit=f"{STANDARD}: training labels do not", side="below")
HALF = fitted(f"{ID}.half", 0.5, unit="of the score that neighbours reach", side="below")
QUARTER = fitted(f"{ID}.quarter", 0.25, unit="of the way of neighbours from chance", side="below")
SAMPLES = fitted(f"{ID}.samples", 128, unit="training samples, where there is nothing to compare them with")
UPDATES = fitted(f"{ID}.updates", 100, unit="updates in which a model has learnt nothing")
FREQUENT = fitted(
    f"{ID}.frequent", 0.8, unit="share of one label: hardly anything is better than always saying it", side="below"
)
NO_RELATION = Threshold(3.0, STANDARD, "three standard deviations, the usual limit of chance", side="below")
NOT_LEARNT = fitted(f"{ID}.not-learnt", 0.97, unit="of the loss of a guess, on samples that are new")
AT_CHANCE = fitted(
    f"{ID}.at-chance", 1.25, unit="of the loss of a guess: beyond it not even frequent answers are learnt", side="below"
)
MEMORISED = fitted(f"{ID}.memorised", 0.9, unit="of the loss of a guess, in the end", side="below")
PARTLY = Threshold(
    0.2,
    "of the way of neighbours from chance is lost",
    "twice the 10 % of wrong labels in the worst of ten known test sets (Northcutt et al. 2021)",
)
AGREED = Threshold(0.8, "of the evaluated samples' labels are those of their neighbours", "at least four of five agree")
SIGMAS = Threshold(5.0, "standard deviations between two shares", "never by chance, whatever is looked at besides")
UNCHANGED = Threshold(0.9, "of the training rows come back as they were", "altered ones have neighbours that differ")
BEHIND = Threshold(0.1, "of the samples", "a model is right on as many of those it learnt from, and as neighbours are")
MEMORISED_CLARITY, STUCK_CLARITY = 0.85, 0.6  # a task may be out of reach of neighbours and of this model alike


def judge(measured: Measured) -> Observation | None:
    compared = [
        one
        for one in measured.all(LabelRelation)
        if RELATED.reached(one.held_deviations) and RELATED.reached(one.expected)
    ]
    if not compared:  # neighbours tell nothing in the evaluation data, or training data are too few or too alike
        last = measured.last(FreshSamples)
        return _alone(last) if last is not None else None
    for one in compared:
        # what is slow to learn may yet be learnt
        if UNRELATED.reached(one.deviations) and _has_failed(one) and (one.ended or one.labels != "several"):
            return seen(ID, True, f"{_scores(one)}, as if those labels were in random order.", at=one)
    for one in compared:
        if one.ended and _partly(one, measured):
            return seen(ID, True, f"{_scores(one)}: a part of the training labels contradicts them.", at=one)
    for one in compared:
        if not UNRELATED.reached(one.deviations):
            return seen(ID, False, f"{_scores(one)}.", at=one)
    return None


def _has_failed(look: LabelRelation) -> bool:
    """The model does worse on the evaluation data than one that learnt from labels like theirs. Of single numbers
    this is not asked."""
    if look.labels == "number":
        return True
    if look.model is None:
        return False
    way = (look.model - look.held_chance) / (look.held_score - look.held_chance)
    return HALF.reached(look.model / look.held_score) or QUARTER.reached(way)


def _lost(look: LabelRelation) -> float:
    return (look.held_score - look.score) / (look.held_score - look.held_chance)


def _partly(look: LabelRelation, measured: Measured) -> bool:
    """A part of the training labels is wrong: neighbours tell them less often than those of the evaluation data, though
    the inputs are not altered on their way, and the model suffers: it is right on fewer training samples than new
    ones, or on fewer new ones than their neighbours."""
    if look.labels != "class" or look.tokens or not AGREED.reached(look.held_score) or not PARTLY.reached(_lost(look)):
        return False
    mean = (look.score + look.held_score) / 2
    deviation = math.sqrt(2 * mean * (1 - mean) / look.samples)
    unchanged = any(UNCHANGED.reached(one.known) for one in measured.all(EvaluatedRows))
    if not unchanged or not SIGMAS.reached((look.held_score - look.score) / max(deviation, 1e-9)):
        return False
    taken = measured.last(TakenFor)
    behind = taken is not None and BEHIND.reached(taken.held_accuracy - taken.train_accuracy)
    return behind or (look.model is not None and BEHIND.reached(look.held_score - look.model))


def _scores(look: LabelRelation) -> str:
    what = {"class": "its label with accuracy", "number": "its label with correlation"}.get(
        look.labels, f"its {look.columns} labels with mean correlation"
    )
    return (
        f"{'The words' if look.tokens else 'The nearest neighbours'} of a sample predict {what} {look.held_score:.2f} "
        f"in the evaluation data, and with {look.score:.2f} in {look.samples} training samples"
    )


def _alone(look: FreshSamples) -> Observation | None:
    """Neither neighbours nor a regression nor the model find a relation. Of tokens this is not said: where their
    order tells the label, as in arithmetic, a bag has no relation to it."""
    enough = SAMPLES.reached(look.samples) and UPDATES.reached(look.step) and FREQUENT.reached(look.frequent)
    if not enough or look.chance <= 0:
        return None
    if RELATED.reached(look.deviations):
        text = f"Neighbours or a regression tell the labels of {look.samples} training samples far better than chance."
        return seen(ID, False, text, at=look)
    fresh = look.fresh / look.chance
    at_chance = NOT_LEARNT.reached(fresh) and AT_CHANCE.reached(fresh)
    if look.tokens or not NO_RELATION.reached(look.deviations) or not at_chance:
        return None
    memorised = MEMORISED.reached(look.last / look.chance)
    later = f"; trained on again, they come down to {num(look.last)}" if memorised else ""
    text = (
        f"In {look.samples} training samples neither neighbours nor a regression predict the label better than "
        f"chance, and on samples seen for the first time the loss is {num(look.fresh)} (a blind guess: "
        f"{num(look.chance)}){later}."
    )
    return seen(ID, True, text, at=look, clarity=MEMORISED_CLARITY if memorised else STUCK_CLARITY)


def _relation(
    score: float,
    deviations: float,
    *,
    labels: str = "class",
    ended: bool = True,
    held: float = 40.0,
    model: float | None = 0.26,
) -> LabelRelation:
    return LabelRelation(
        samples=512,
        labels=labels,
        columns=1,
        tokens=False,
        ended=ended,
        score=score,
        deviations=deviations,
        expected=37.0,
        held_score=0.96,
        held_chance=0.25,
        held_deviations=held,
        model=model,
        step=96,
    )


def _fresh(
    deviations: float, fresh: float, last: float = 0.2, *, frequent: float = 0.3, tokens: bool = False, step: int = 600
) -> FreshSamples:
    return FreshSamples(
        samples=512,
        tokens=tokens,
        frequent=frequent,
        deviations=deviations,
        chance=1.38,
        fresh=fresh,
        last=last,
        step=step,
    )


def _rows(known: float) -> EvaluatedRows:
    return EvaluatedRows(
        calls=(), dispersion=0.0, border=0, table_border=0, training_rows=900, known=known, table_rows=0,
        table_distinct=0, whole=True,
    )  # fmt: skip


def _taken(train: float, held: float) -> TakenFor:
    return TakenFor(
        classes=4, labels=(), train_as=(), train_shares=(), train_counts=(), held_as=(), held_shares=(),
        held_counts=(), train_accuracy=train, held_accuracy=held, held_samples=400,
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="training labels, or a part of them, do not follow from their inputs",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
In the samples that are evaluated, near inputs have like labels; in those that are trained on, labels look as if they
were in random order.

## How it is measured
96 to 512 samples of each side with their labels, as the loader or the model's calls show them. The five nearest
neighbours of a sample vote on its label (their mean for numbers). Present when that works in the evaluation data (ten
standard deviations above chance, and as many in the training data at the same score), not in the training data (at
most two and a half), and the model is right at most half as often as the neighbours are, or comes at most a quarter
of their way from chance; of single numbers that is not asked. Of sequences of tokens the words vote (naive Bayes on
how often each occurs). Where a sample has several labels or numbers (up to 512), the mean correlation over those that
vary is taken, with a standard deviation that knows which labels go together, or that of the label predicted best less
what the best of as many reaches by luck; the model's answers must then correlate at most half as much, in the end.
Targets with the shape of the input, or one for each of its points, are left alone.

A part of the labels is wrong where neighbours tell at least four of five labels in the evaluation data and a fifth
less of the way from chance in the training data (five standard deviations), training rows come back as they were
(inputs that are altered anew have other neighbours), and in the end the model is right on at least 10 % fewer training
samples than new ones, or on 10 % fewer new ones than neighbours are.

Without evaluation data that tell more, the training itself is asked: 128 samples and 100 updates at least, and no
label that more than 80 % of the samples have. Present when neither the neighbours nor a ridge regression tell the
labels of the training samples better than chance (three standard deviations) and the loss on samples that are seen
for the first time stays at that of a constant guess, 97 to 125 % of it (one guess for each label, where there are
several); more clearly when it then falls below 90 % of it on samples that come back, which is memorising. This is not
said of tokens, whose order may tell the label. Models that are called several times a step or with several inputs are
left alone: labels of pairs follow from no single sample.

## Healthy range
Neighbours tell about as much in the training data as in the evaluation data.

## What it usually means
Inputs and labels were shuffled, sorted or filtered separately, or are off by a row.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("labels in random order", "present", measured=(_relation(0.26, 0.5),)),
        Case(
            "a third of the labels in random order, a model that finds the rest",
            "present",
            measured=(_relation(0.66, 24.0, model=0.97), _rows(1.0), _taken(0.66, 0.97)),
        ),
        Case(
            "a half off by one, which the model learns",
            "present",
            measured=(_relation(0.5, 16.0, model=0.55), _rows(1.0), _taken(0.55, 0.55)),
        ),
        Case(
            "a third, but inputs that are altered on their way",
            "absent",
            measured=(_relation(0.66, 24.0, model=0.97), _rows(0.0), _taken(0.66, 0.97)),
        ),
        Case(
            "neighbours that disagree, and a model that learns all of it",
            "absent",
            measured=(_relation(0.66, 24.0, model=0.97), _rows(1.0), _taken(0.96, 0.97)),
        ),
        Case(
            "a tenth",
            "absent",
            measured=(_relation(0.88, 34.0, model=0.97), _rows(1.0), _taken(0.66, 0.97)),
        ),
        Case("labels that belong to their inputs", "absent", measured=(_relation(0.95, 36.0, model=0.97),)),
        Case("a relation that is faint", "absent", measured=(_relation(0.31, 3.1),)),
        Case("a model that learns all the same", "unknown", measured=(_relation(0.26, 0.5, model=0.9),)),
        Case("a model that nobody evaluates", "unknown", measured=(_relation(0.26, 0.5, model=None),)),
        Case("single numbers", "present", measured=(_relation(0.02, 0.5, labels="number", model=None),)),
        Case(
            "several labels, before the end",
            "unknown",
            measured=(_relation(0.02, 0.5, labels="several", ended=False, model=0.1),),
        ),
        Case("several labels, in the end", "present", measured=(_relation(0.02, 0.5, labels="several", model=0.1),)),
        Case("nothing follows in the evaluation data", "unknown", measured=(_relation(0.26, 0.5, held=2.0),)),
        Case("memorised", "present", measured=(_fresh(1.0, 1.4),)),
        Case("stuck", "present", measured=(_fresh(1.0, 1.39, 1.38),)),
        Case("new samples are learnt", "unknown", measured=(_fresh(1.0, 1.3),)),
        Case("new samples are far worse than a guess", "unknown", measured=(_fresh(1.0, 2.0),)),
        Case("neighbours tell, and the model has not learnt", "absent", measured=(_fresh(14.0, 1.39, 1.39),)),
        Case("neighbours tell a little", "unknown", measured=(_fresh(4.0, 1.39, 1.39),)),
        Case("one label for nearly all", "unknown", measured=(_fresh(1.0, 1.4, frequent=0.9),)),
        Case("tokens, whose order may tell", "unknown", measured=(_fresh(1.0, 1.4, tokens=True),)),
        Case("99 updates: too few to say", "unknown", measured=(_fresh(1.0, 1.4, step=99),)),
        Case("a log alone", "unknown"),
    ),
)
