"""Measures how much of the evaluated text occurs in the training text, by runs of tokens instead of whole rows, and
whether batches come sorted by length or by answer.

Runs are known by a 64-bit hash, of which a part is kept. How often runs of later training samples occur in earlier
ones is measured with them: templates and shared prompts make all samples alike, and that is no leak."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.live.measures.tensors import tensors_in
from traindx.live.tokens.batch import is_text
from traindx.measurements import BatchClasses, BatchLengths, BatchTopics, TextOverlap

RUN = 13  # tokens, as in the overlap analyses of GPT-3 (Brown et al. 2020)
KEPT = 4  # one of so many hashes is kept
MAX_ROWS = 64  # of a batch
MAX_LENGTH = 1024  # tokens of a row
MAX_RUNS = 400_000  # on each side
MAX_MET = 50_000  # rows whose order is noted
MIN_CHANGES = 6  # neighbours in a run that differ: padding and rules of dashes are no text
MAX_LENGTHS = 512  # batches whose lengths are noted
ANSWERS = 8  # that follow each other and are counted together, whatever the size of a batch
MEASURED_AT = (40, 160)  # of these
MAX_ORDERED = 320  # are noted in their order
IGNORED = -100  # in labels, by convention
FREE = 400  # batches that are looked at whatever it costs: a step takes a hundred times as long
MIN_BATCHES = 8  # of which an order is reported
MOST_OF, HALF_OF = 0.9, 0.5  # of a sample's runs
MIN_RUNS = 8  # kept runs, about forty tokens: a shorter sample may be written twice
RARE = 8  # training samples that a run may stand in and be a sample's own
MOST_AHEAD = 64  # batches that are fetched before the first of them is trained on
MOST_LOADERS = 64
MULTIPLIER = -7046029254386353131  # 2**64 / golden ratio, as a signed number

TOPIC_ROWS, TOPIC_TOKENS = 32, 256  # of a batch, whose tokens are counted,
MAX_TOPICS = 64  # of the first batches
LEAST_ROWS = 8
TOPIC, ELSEWHERE = 0.5, 0.1  # of the rows of a batch that hold a token, and of all rows

Runs = np.ndarray[Any, np.dtype[np.int64]]


class _Row(NamedTuple):
    runs: Runs
    places: Runs  # of each, behind the padding


class _Batch(NamedTuple):
    rows: list[_Row]
    length: float
    answers: list[int]  # a number for what each row is to answer, where labels leave out a part
    tokens: tuple[int, dict[int, int]]  # how many rows, and in how many of them each token stands


class _Side:
    """Rows that were not seen before on this side, as the kept runs of each."""

    def __init__(self) -> None:
        self.rows: list[_Row] = []
        self.known: set[int] = set()
        self.count = 0
        self.texts: set[int] = set()
        self.met: list[int] = []  # after each row, how many different texts there were

    def add(self, rows: list[_Row]) -> None:
        for row in rows:
            identity = hash(row.runs.tobytes())  # whatever padding stands beside it
            count = len(row.runs)
            if count and len(self.met) < MAX_MET:
                self.texts.add(identity)
                self.met.append(len(self.texts))
            if identity not in self.known and count and self.count < MAX_RUNS:
                self.known.add(identity)
                self.rows.append(row)
                self.count += count

    def repeated(self) -> float:
        """Share of the rows that repeat one before them, until half of all different texts were met: nothing for an
        epoch over different texts, more than a quarter for draws from a few."""
        half = max(self.met, default=0) / 2
        needed = next((place for place, count in enumerate(self.met, 1) if count >= half), 0)
        return 1 - self.met[needed - 1] / needed if needed else 0.0


class _Loader:
    """The batches of one loader that are not known yet to be trained on, oldest first: loaders read ahead, and several
    batches are accumulated."""

    def __init__(self) -> None:
        self.waiting: deque[_Batch] = deque(maxlen=MOST_AHEAD)
        self.evaluated = _Side()  # as long as nothing of this loader is trained on
        self.trains = False


class TextOverlaps(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._trained = _Side()
        self._loaders: OrderedDict[int, _Loader] = OrderedDict()
        self._last: _Loader | None = None
        self._looked = 0
        self._lengths: list[float] = []
        self._answers: list[int] = []  # not yet enough to count,
        self._numbers: dict[int, int] = {}  # of the most frequent ones, instead of what they are made of
        self._classes: list[int] = []  # the most frequent of those that were counted together,
        self._shares: list[float] = []  # and how many it was
        self._topics: list[tuple[int, dict[int, int]]] = []
        self._between = False

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        known = self._loaders.setdefault(id(loader), _Loader())
        if len(self._loaders) > MOST_LOADERS:
            self._loaders.popitem(last=False)
        self._last = known
        if (self._trained if known.trains else known.evaluated).count >= MAX_RUNS:
            return
        if self._looked >= FREE and not self.hub.deep and self.hub.cost >= self.hub.budget:
            return
        given = _table(batch)
        named = given.get("input_ids") if isinstance(given, Mapping) else None
        ids = named if named is not None else next(tensors_in(given), None)
        if not (isinstance(ids, torch.Tensor) and is_text(ids) and ids.is_cpu and ids.shape[1] > RUN):
            return
        self._looked += 1
        mask, labels = (
            given.get(name) if isinstance(given, Mapping) else None for name in ("attention_mask", "labels")
        )
        whole = isinstance(mask, torch.Tensor) and mask.shape == ids.shape and mask.is_cpu
        length = float(mask.sum() / len(ids)) if mask is not None and whole else float(ids.shape[1])
        rows = _runs(ids)
        answers = _answers(labels) if len(self._classes) < MAX_ORDERED else []
        found = _Batch(rows, length, answers, _tokens(ids) if len(self._topics) < MAX_TOPICS else (0, {}))
        if known.trains:  # not every backward pass is reported
            self._add(found)
            return
        known.waiting.append(found)
        if self._between:
            known.evaluated.add(rows)

    def on_backward(self, loss: torch.Tensor) -> None:
        loader = self._last
        if loader is not None and loader.waiting:
            loader.trains, loader.evaluated = True, _Side()
            while loader.waiting:
                self._add(loader.waiting.popleft())
        self._between = False

    def _add(self, batch: _Batch) -> None:
        self._trained.add(batch.rows)
        if len(self._lengths) < MAX_LENGTHS:
            self._lengths.append(batch.length)
        if len(self._topics) < MAX_TOPICS and batch.tokens[0] >= LEAST_ROWS:
            self._topics.append(batch.tokens)
        self._note_answers(batch.answers)

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._between = True

    def _note_answers(self, answers: list[int]) -> None:
        """How many of the samples that follow each other have the same answer."""
        self._answers += answers
        before = len(self._classes)
        if len(self._answers) < ANSWERS or len(self._classes) >= MAX_ORDERED:
            return
        while len(self._answers) >= ANSWERS and len(self._classes) < MAX_ORDERED:
            ((answer, count),) = Counter(self._answers[:ANSWERS]).most_common(1)
            self._classes.append(self._numbers.setdefault(answer, len(self._numbers)))
            self._shares.append(count / ANSWERS)
            self._answers = self._answers[ANSWERS:]
        if any(before < mark <= len(self._classes) for mark in MEASURED_AT):
            self._measure_order()

    def _measure_order(self) -> None:
        self.hub.measure(BatchClasses(classes=tuple(self._classes), shares=tuple(self._shares), sequential=None))

    def on_end(self) -> None:
        self._measure_lengths()
        self._measure_topics()
        if len(self._classes) > MEASURED_AT[0]:
            self._measure_order()
        known_rows = self._trained.rows
        held_out = (row for one in self._loaders.values() if not one.trains for row in one.evaluated.rows)
        # every evaluation may have a loader of its own
        asked_rows = list({row.runs.tobytes(): row for row in held_out}.values())
        if len(known_rows) < 2 or not asked_rows:
            return
        trained, evaluated = ([row.runs for row in rows] for rows in (known_rows, asked_rows))
        known, asked = np.unique(np.concatenate(trained)), np.unique(np.concatenate(evaluated))
        # as many training samples as evaluated ones beside all others: what more text repeats, both sides have seen
        rest = len(trained) - max(1, min(len(evaluated), len(trained) // 2))
        earlier, later = np.unique(np.concatenate(trained[:rest])), np.unique(np.concatenate(trained[rest:]))
        shares = [float(np.isin(row, known).mean()) for row in evaluated]
        in_one = _in_one(asked_rows, known_rows)
        self.hub.measure(
            TextOverlap(
                length=RUN,
                training=len(known),
                evaluated=len(asked),
                seen=int(np.isin(asked, known).sum()),
                fresh=len(later),
                fresh_seen=int(np.isin(later, earlier).sum()),
                samples=len(evaluated),
                samples_seen=sum(share >= MOST_OF for share in shares),
                repeated=self._trained.repeated(),
                long=len(in_one),
                copied=sum(share >= MOST_OF for share, _ in in_one),
                overlapping=sum(share >= HALF_OF for _, share in in_one),
                trained=len(known_rows),
            )
        )

    def _measure_topics(self) -> None:
        if len(self._topics) < MIN_BATCHES:
            return
        rows, everywhere = 0, Counter[int]()
        for count, tokens in self._topics:
            rows += count
            everywhere.update(tokens)
        found = []
        for count, tokens in self._topics:
            own = [(held, token) for token, held in tokens.items() if held >= TOPIC * count]
            own = [(held, token) for held, token in own if everywhere[token] <= ELSEWHERE * rows]
            found += [max(own)[1]] if own else []
        self.hub.measure(BatchTopics(batches=len(self._topics), with_topic=len(found), topics=len(set(found))))

    def _measure_lengths(self) -> None:
        lengths = np.array(self._lengths)
        if len(lengths) < MIN_BATCHES or not lengths.std():
            return
        ranks = lengths.argsort(kind="stable").argsort(kind="stable")
        correlation = float(np.corrcoef(np.arange(len(lengths)), ranks)[0, 1])
        spread = float(lengths.std() / lengths.mean())
        self.hub.measure(BatchLengths(batches=len(lengths), correlation=correlation, spread=spread))


def _in_one(evaluated: list[_Row], trained: list[_Row]) -> list[tuple[float, float]]:
    """Of each sample that has runs enough of its own, the share of them that stands in one and the same training
    sample, and the share that does so at places which are moved by as much: two windows over one text. What many
    training samples share is a template or a preamble, and no sample's own."""
    wanted = np.unique(np.concatenate([row.runs for row in evaluated]))
    at: dict[int, list[tuple[int, int]]] = {}
    for number, row in enumerate(trained):
        here = np.isin(row.runs, wanted)
        for run, place in zip(row.runs[here].tolist(), row.places[here].tolist(), strict=True):
            at.setdefault(run, []).append((number, place))
    shares: list[tuple[float, float]] = []
    for row in evaluated:
        holders = [(place, at.get(run, [])) for run, place in zip(row.runs.tolist(), row.places.tolist(), strict=True)]
        own = [(place, held) for place, held in holders if len({number for number, _ in held}) <= RARE]
        if len(own) < MIN_RUNS:
            continue
        whole = Counter(number for _, held in own for number in {number for number, _ in held})
        moved = Counter((number, there - here) for here, held in own for number, there in held)
        windows = (count for (_, by), count in moved.items() if abs(by) >= RUN)
        shares.append((max(whole.values(), default=0) / len(own), max(windows, default=0) / len(own)))
    return shares


def _table(batch: Any) -> Any:
    """Samples that a loader hands out one by one, to be collated by the script, as the rows of a batch."""
    samples = batch if isinstance(batch, list | tuple) else ()
    named = [one for one in samples if isinstance(one, Mapping) and isinstance(one.get("input_ids"), Sequence)]
    if not named or len(named) < len(samples):
        return batch
    longest = max(len(one["input_ids"]) for one in named)

    def rows(name: str, filler: int) -> torch.Tensor | None:
        lists = [one.get(name) for one in named]
        if not all(isinstance(one, list) and len(one) <= longest and _whole(one) for one in lists):
            return None
        return torch.tensor([[*one, *[filler] * (longest - len(one))] for one in lists if one is not None])

    return {"input_ids": rows("input_ids", 0), "labels": rows("labels", IGNORED)}


def _whole(numbers: list[Any]) -> bool:
    return all(type(one) is int for one in numbers)


def _answers(labels: Any) -> list[int]:
    """A number for the answer of each row: the labels that count, where they are a part of it."""
    if not (isinstance(labels, torch.Tensor) and is_text(labels) and labels.is_cpu):
        return []
    counted = labels != IGNORED
    part = counted.any(1) & ~counted.all(1)
    if not part.all():
        return []
    return [hash(tuple(row[here].tolist())) for row, here in zip(labels[:MAX_ROWS], counted[:MAX_ROWS], strict=True)]


def _tokens(ids: torch.Tensor) -> tuple[int, dict[int, int]]:
    """How many rows were looked at, and in how many of them each token stands."""
    rows = ids.detach()[:TOPIC_ROWS, :TOPIC_TOKENS].numpy().astype(np.int64)
    size = int(rows.max()) + 1 if rows.size else 1
    met = np.unique(rows + size * np.arange(len(rows))[:, None]) % size
    tokens, counts = np.unique(met, return_counts=True)
    return len(rows), dict(zip(tokens.tolist(), counts.tolist(), strict=True))


def _runs(ids: torch.Tensor) -> list[_Row]:
    """The kept hashes of the runs of each row, with their places."""
    rows = ids.detach()[:MAX_ROWS, :MAX_LENGTH].numpy().astype(np.int64)
    count = rows.shape[1] - RUN + 1
    if count < 1:
        return []
    with np.errstate(over="ignore"):
        hashes = np.zeros((len(rows), count), np.int64)
        for place in range(RUN):
            hashes = hashes * np.int64(MULTIPLIER) + rows[:, place : place + count] + 1
        differ = rows[:, 1:] != rows[:, :-1]
        changes = np.cumsum(np.pad(differ, ((0, 0), (1, 0))), 1)
        varied = changes[:, RUN - 1 :] - changes[:, :count] >= MIN_CHANGES
        kept = varied & ((hashes >> 40) % KEPT == 0)
    begins = differ.argmax(1)  # padding before a sample is one token again and again
    return [
        _Row(row[here], np.flatnonzero(here) - begin) for row, here, begin in zip(hashes, kept, begins, strict=True)
    ]


OBSERVER = TextOverlaps
