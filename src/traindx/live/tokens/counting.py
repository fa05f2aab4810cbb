"""Running totals over the batches of one loss, in training or in evaluation."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import torch

from traindx.live.tokens.batch import TokenBatch
from traindx.live.tokens.generation import DIFFERENT, MAX_SUFFIX
from traindx.live.tokens.rows import Row, split_behind
from traindx.live.tokens.template import Template
from traindx.live.tokens.vocabulary import Vocabulary
from traindx.measurements import PackedRows, SpecialTokens, TokenCounts, TokenSample, TokenSamples

MAX_SAMPLE_TOKENS = 256
BEFORE = 64  # of them before the first that counts, where that is not among the first of its row
MAX_SAMPLES = 4
MAX_PIECE = 24  # characters of a piece
MAX_UNREAD = 1 << 17  # tokens of rows that are kept until it is known how the model is asked


@dataclass
class Totals:
    """What was counted so far, under the names of the fields of the measurements."""

    evaluation: bool
    where: str
    numbers: Counter[str] = field(default_factory=Counter)
    prompt_loss: float = 0.0
    answer_loss: float = 0.0
    repeated: float = 0.0
    known_by: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)  # samples, by their length
    open: Counter[int] = field(default_factory=Counter)  # of these, those that do not end in an end token
    followed: Counter[int] = field(default_factory=Counter)  # samples with padding behind them
    # (length, ended, its end is counted, it is known to have an answer)
    ends: Counter[tuple[int, bool, bool, bool]] = field(default_factory=Counter)
    other: str = ""
    split: str = ""
    vocabulary: int = 0
    opening: tuple[int, ...] | None = None  # the tokens that stand before every answer seen so far
    prompts: set[int] = field(default_factory=set)  # fingerprints of the first different prompts
    unread: list[tuple[Row, list[float]]] = field(default_factory=list)  # rows of which nothing tells the answer,
    unread_tokens: int = 0  # and how long they are

    @property
    def frame(self) -> tuple[int, ...]:
        """What the format puts before answers; nothing while that may be the end of one question asked many times."""
        return self.opening if self.opening is not None and len(self.prompts) >= DIFFERENT else ()

    def add(self, batch: TokenBatch, rows: list[Row], vocabulary: Vocabulary | None) -> None:
        numbers = self.numbers
        self.vocabulary = batch.classes
        numbers["batches"] += 1
        for name, count in zip(("same", "next", "second"), batch.offsets, strict=True):
            numbers[name] += count
        moved = (batch.ids[:, 1:] == batch.ids[:, :-1]).float().mean()
        self.repeated += (float(moved) - self.repeated) / numbers["batches"]
        numbers["empty_batches"] += not bool(batch.counted.any())
        numbers["duplicates"] += len(rows) - len({tuple(row.ids) for row in rows})
        for number, row in enumerate(rows):
            self._add_row(batch, number, row)
            if vocabulary is not None:
                self._add_special(row, vocabulary)
            self._add_packing(batch, number, row)

    def _add_row(self, batch: TokenBatch, number: int, row: Row) -> None:
        numbers = self.numbers
        counted = sum(row.counted)
        numbers["samples"] += 1
        numbers["tokens"] += row.length
        numbers["padding"] += len(row.ids) - row.length
        numbers["counted"] += counted
        numbers["padding_counted"] += row.count("-", counted=True)
        numbers["empty"] += not counted
        numbers["padded_left"] += row.first > 0
        numbers["padded_right"] += row.last < len(row.ids)
        self.lengths[row.length] += 1
        self.followed[row.length] += row.last < len(row.ids)
        if batch.attention is not None:
            seen = batch.attention[number].tolist()
            numbers["with_mask"] += 1
            numbers["hidden"] += sum(not one for one in seen[row.first : row.last])
            numbers["padding_attended"] += sum(seen[: row.first]) + sum(seen[row.last :])
        losses = batch.losses[number].tolist() if batch.losses is not None and number < len(batch.losses) else []
        if row.known_by:
            self._add_structure(row, losses)
        elif batch.shift == 1 and counted and self.unread_tokens < MAX_UNREAD:
            self.unread.append((row, losses))
            self.unread_tokens += len(row.ids)

    def read_again(self, asked: tuple[int, ...]) -> bool:
        """Prompts for generation end with these tokens: what stands behind them in rows of training is the answer.
        Whether there were such rows."""
        found = [(row, losses) for row, losses in self.unread if asked and split_behind(row, asked)]
        for row, losses in found:
            self._add_structure(row, losses)
        if asked:
            self.unread, self.unread_tokens = [], 0
        return bool(found)

    def _add_structure(self, row: Row, losses: list[float]) -> None:
        numbers = self.numbers
        numbers["structured"] += 1
        self.known_by[row.known_by] += 1
        for letter, name in (("p", "prompt"), ("a", "answer")):
            numbers[name] += row.count(letter)
            numbers[f"{name}_counted"] += row.count(letter, counted=True)
        numbers["without_answer"] += row.count("a") == 0
        self._add_losses(row, losses)
        if row.boundary > row.first:
            self._remember_opening(row)

    def _add_losses(self, row: Row, losses: list[float]) -> None:
        for place, loss in enumerate(losses):
            if row.counted[place] and math.isfinite(loss):
                if row.classes[place] == "a":
                    self.answer_loss += loss
                elif row.classes[place] == "p":
                    self.prompt_loss += loss

    def _remember_opening(self, row: Row) -> None:
        if len(self.prompts) < DIFFERENT:
            self.prompts.add(hash(tuple(row.ids[row.first : row.boundary])))
        before = tuple(row.ids[max(row.first, row.boundary - MAX_SUFFIX) : row.boundary])
        if self.opening is None:
            self.opening = before
            return
        shared = 0
        while shared < min(len(before), len(self.opening)) and before[-1 - shared] == self.opening[-1 - shared]:
            shared += 1
        self.opening = before[len(before) - shared :]

    def _add_special(self, row: Row, vocabulary: Vocabulary) -> None:
        numbers = self.numbers
        inside = range(row.first, row.last)
        eos = [place for place in inside if row.ids[place] == vocabulary.eos]
        numbers["eos_tokens"] += len(eos)
        numbers["eos_counted"] += sum(row.counted[place] for place in eos)
        end = row.last - 1
        while end > row.first and not vocabulary.piece(row.ids[end]).strip() and not vocabulary.ends(row.ids[end]):
            end -= 1  # white space behind the last turn of a template
        ended = row.length > 0 and vocabulary.ends(row.ids[end])
        self.open[row.length] += not ended
        self.ends[row.length, ended, ended and row.counted[end], bool(row.known_by)] += 1
        begin = row.ids[row.first : row.first + 2]
        if vocabulary.bos is not None and begin[:1] == [vocabulary.bos]:
            numbers["bos_doubled" if begin == [vocabulary.bos] * 2 else "bos_single"] += 1
        numbers["own_markers"] += row.known_by == "template"
        if row.known_by == "markers":
            numbers["other_markers"] += 1
            self.other = self.other or row.marker
        if row.split:
            numbers["split_markers"] += 1
            self.split = self.split or row.split

    def _add_packing(self, batch: TokenBatch, number: int, row: Row) -> None:
        numbers = self.numbers
        positions = batch.positions[number].tolist()[row.first : row.last] if batch.positions is not None else None
        if positions:
            numbers["positions_given"] += 1
            numbers["positions_broken"] += not _count_on(positions)
        if batch.learned is not None and row.first and row.length:
            numbers["learned"] += 1
            numbers["late"] += int(batch.learned[number, row.first] - batch.learned[number, 0]) == row.first
        if not row.packed:
            return
        numbers["packed"] += 1
        numbers["documents"] += len(row.starts) + 1
        numbers["instructions"] += bool(row.known_by)
        restarted = positions is not None and all(positions[place - row.first] == 0 for place in row.starts)
        numbers["restarted"] += restarted
        numbers["separated"] += batch.separated

    # --- as measurements ----------------------------------------------------------------------------------------------

    def counts(self) -> TokenCounts:
        numbers = self.numbers
        longest = max(self.lengths, default=0)
        plain = (
            "batches", "samples", "tokens", "padding", "counted", "padding_counted", "same", "next", "second", "empty",
            "empty_batches", "structured", "without_answer", "prompt", "prompt_counted", "answer", "answer_counted",
            "padded_left", "padded_right", "with_mask", "padding_attended", "hidden", "duplicates",
        )  # fmt: skip
        return TokenCounts(
            evaluation=self.evaluation,
            repeated=self.repeated,
            longest=longest,
            at_limit=self.lengths[longest],
            at_limit_open=self.open[longest],
            known_by=self.known_by.most_common(1)[0][0] if self.known_by else "",
            prompt_loss=self.prompt_loss,
            answer_loss=self.answer_loss,
            vocabulary=self.vocabulary,
            where=self.where,
            **{name: numbers[name] for name in plain},
        )

    def special(self, vocabulary: Vocabulary) -> SpecialTokens:
        numbers = self.numbers
        longest = max(self.lengths, default=0)
        # a sample shorter than the longest is whole; so are all of them where padding follows even those, and an answer
        # that ends
        whole = [length for length in self.lengths if length < longest or self.followed[length]]
        ends = {key: count for key, count in self.ends.items() if key[0] in whole or (key[1] and key[3])}
        template = vocabulary.template
        plain = ("eos_tokens", "eos_counted", "bos_single", "bos_doubled", "own_markers", "other_markers")
        return SpecialTokens(
            evaluation=self.evaluation,
            tokenizer=vocabulary.kind,
            samples=numbers["samples"],
            pad=vocabulary.pad,
            eos=vocabulary.eos,
            bos=vocabulary.bos,
            adds_bos=vocabulary.adds_bos,
            complete=sum(ends.values()),
            ended=sum(count for (_, ended, _, _), count in ends.items() if ended),
            end_counted=sum(count for (_, _, counted, _), count in ends.items() if counted),
            has_template=vocabulary.has_template,
            template_ends=vocabulary.template_ends,
            generation_prompt=_opens(template) if template is not None else None,
            other=self.other[:MAX_PIECE],
            split_markers=numbers["split_markers"],
            split=self.split,
            opening=self.frame,
            where=self.where,
            **{name: numbers[name] for name in plain},
        )

    def packing(self, change: float | None, noise: float | None) -> PackedRows:
        names = (
            "samples", "packed", "documents", "instructions", "restarted", "separated", "positions_given",
            "positions_broken", "learned", "late",
        )  # fmt: skip
        return PackedRows(change=change, noise=noise, where=self.where, **{name: self.numbers[name] for name in names})


def _opens(template: Template) -> bool:
    return bool(template.generation.strip()) or not template.opening.strip()


def _count_on(positions: list[int]) -> bool:
    """Whether position ids go up by one, and begin again at 0 now and then at most."""
    steps = [(before, later) for before, later in pairwise(positions)]
    up = sum(later == before + 1 for before, later in steps)
    return all(later in (before + 1, 0) for before, later in steps) and 2 * up >= len(steps)


def samples_of(
    batch: TokenBatch, rows: list[Row], vocabulary: Vocabulary | None, evaluation: bool, private: bool
) -> TokenSamples:
    """The first rows of a batch, token by token."""
    return TokenSamples(
        samples=tuple(
            _sample(batch, number, row, vocabulary, private) for number, row in enumerate(rows[:MAX_SAMPLES])
        ),
        shift=batch.shift,
        evaluation=evaluation,
        tokenizer=vocabulary.kind if vocabulary is not None else "",
        private=private,
        ignore_index=batch.ignored,
        where=batch.where,
    )


def _sample(batch: TokenBatch, number: int, row: Row, vocabulary: Vocabulary | None, private: bool) -> TokenSample:
    first = _first_kept(row)
    kept = slice(first, first + MAX_SAMPLE_TOKENS)
    ids = row.ids[kept]
    has_target = batch.has_target[number, kept].tolist()
    losses: list[float | None] = [None] * len(ids)
    if batch.losses is not None and number < len(batch.losses):
        taken = batch.losses[number, kept].tolist()
        losses = [
            loss if counted and math.isfinite(loss) else None
            for loss, counted in zip(taken, row.counted[kept], strict=True)
        ]
    labels = batch.target[number, kept].tolist()
    return TokenSample(
        length=len(row.ids),
        classes="".join(row.classes[kept]),
        counted="".join("01"[one] for one in row.counted[kept]),
        losses=tuple(losses),
        ids=() if private else tuple(ids),
        pieces=() if private or vocabulary is None else tuple(one[:MAX_PIECE] for one in vocabulary.pieces(ids)),
        labels=() if private else tuple(one if there else None for one, there in zip(labels, has_target, strict=True)),
        positions=_line(batch.positions, number, kept),
        attention="".join("01"[one] for one in _line(batch.attention, number, kept)),
        first=first,
    )


def _first_kept(row: Row) -> int:
    """A long prompt alone would not show what the loss sees of its answer."""
    counted = row.counted.index(True) if any(row.counted) else 0
    if counted < MAX_SAMPLE_TOKENS - BEFORE:
        return 0
    return max(0, min(counted - BEFORE, len(row.ids) - MAX_SAMPLE_TOKENS))


def _line(tensor: torch.Tensor | None, number: int, kept: slice) -> tuple[int, ...]:
    return () if tensor is None else tuple(int(one) for one in tensor[number, kept].tolist())
