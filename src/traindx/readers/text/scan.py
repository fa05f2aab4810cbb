"""The engine of all text readers: lines in, rows out, at the speed of one regular expression.

Numbers are taken out of a whole block of text at once. Each line's template is looked up; only a template never seen
before is analysed, by the dialects of the known formats first, by the general rules for names and numbers otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from traindx.meaning import Split, meaning_of
from traindx.readers.text.counters import Counter
from traindx.readers.text.dialect import Dialect, Handler, dialect_classes
from traindx.readers.text.dumps import MAX_SETTINGS, Setting, settings_in
from traindx.readers.text.events import EventLog
from traindx.readers.text.keys import split_of
from traindx.readers.text.lines import read_prefix
from traindx.readers.text.pairs import analyse
from traindx.readers.text.plans import Column, Plan, slots
from traindx.readers.text.shapes import Block, Places, Shape, thin_to_fit, wall_times
from traindx.readers.text.statements import Statements
from traindx.readers.text.tokens import HOLE, NUMBER, rebuild, to_floats
from traindx.run import Floats

_MAX_TEMPLATES = 50_000  # a log has a few hundred; prose and dumps have as many as lines
_MAX_SHAPES = 5_000
_TAIL_LINES = 12  # at the end of a log, where it may tell how it ended
_MAX_LINE = 20_000  # characters; nothing longer is a log line
# a line without any of these words measures nothing; asking first spares the analysis of prose and dumps
_INTEREST = re.compile(
    r"loss|acc|err|epo|ep\b|step|iter|\bit\b|train|val|test|dev|lr|rate|rew|ret|score|ppl|perp|f1|f-1|map|\bap|iou|dice|bleu|"
    r"roug|auc|ms?e\b|mae|wer|cer|psnr|ssim|norm|batch|gan\b|[dg]_|nll|elbo|\bkl|entropy|rec|prec|top|hit|mrr|ndcg|round|"
    r"episode|%\s?\||update|cost|obj|lik|bp[cdb]|fid|learn|tick|scale|overflow|pck|hella|return|eval|ce\b|energy|correct",
    re.IGNORECASE,
)
_MAX_VARYING = 2_000
_MAX_ANALYSED = 20_000
_COUNTING = re.compile(r"epoch|step|iter|batch|round|episode|\d\s*/\s*\d", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_VARYING = re.compile(
    rf"(?<![^\s,;:=(\[{{'\"])[^\s{HOLE},;:=(\[{{'\"]*\d[^\s{HOLE},;:)\]}}'\"]*(?![^\s,;:)\]}}'\"])(?!\s*[:=]?\s*{HOLE})"
)
_GLUED = re.compile(
    r"\b(epochs?|ep|step|iter|iteration|batch|it)[_#-]{0,2}(?=\d)|\b(epoch|step|iteration|iter)\s#(?=\d)", re.IGNORECASE
)
_BEST_AGAIN = re.compile(r"best iteration is:\s*$", re.IGNORECASE)  # LightGBM prints that row below
_SPLIT_HEADER = re.compile(
    r"[\W_]*(?:(?:running|run|start(?:ing)?|begin(?:ning)?|now|end of|performing|doing|entering|the)\s+)*"
    r"(?:train|training|valid|validation|validating|validate|val|evaluation|evaluating|evaluate|eval|testing|test|dev)"
    r"(?:\s+(?:on|the|set|results?|metrics?|phase|stage|loop|mode|summary|step|epoch|model|started|begins?|data|split|report))*[\W_]*"
    r"|[\W_]*evaluate\W+(?:dev|val|test|train)[\W_]*",
    re.IGNORECASE,
)
_Append = Callable[[int], None]
_Act = Callable[[str], None]
_Entry = tuple[int, _Append | None, _Act | None]


@dataclass(slots=True)
class _Take:
    """Which numbers of a template's lines go where, and where in the current block such lines begin."""

    shape: Shape
    places: Places
    clock: tuple[tuple[str, int], ...]
    rank: int
    hits: list[int] = field(default_factory=list)


class Scanner:
    """Reads blocks of text and collects shapes, events and settings. One instance a file."""

    def __init__(self, pattern: re.Pattern[str] = NUMBER, dialects: list[Dialect] | None = None) -> None:
        self.shapes: dict[str, Shape] = {}
        self.events = EventLog()
        self.statements = Statements()
        self.settings: dict[str, Setting] = {}
        self.planned: dict[str, float] = {}
        self.repeats: set[int] = set()  # places of lines that print an earlier row again
        self.lines = 0
        self.tail: list[tuple[int, str]] = []  # the last lines, each with its place
        self._pattern = pattern
        self._dialects = [make() for make in dialect_classes()] if dialects is None else dialects
        self._entries: dict[str, _Entry] = {}
        self._general: dict[str, _Entry] = {}  # the same by template with its varying words blanked
        self._takes: list[_Take] = []
        self._base = 0  # numbers before the current block: a number's place in the file orders all rows
        self._place = 0
        self._analysed = 0  # kinds of line looked into
        self._started = False  # a measurement was seen: what looks like a setting from now on is none

    def feed(self, text: str) -> None:
        """Read one block of whole lines."""
        parts = self._pattern.split(text)
        words = parts[1::2]
        templates = HOLE.join(parts[::2]).split("\n")
        self.lines += len(templates)
        get = self._entries.get
        position = 0
        listening = self.events.listening
        for template in templates:
            entry = get(template)
            if entry is None:
                entry = self._learn(template, words, position)
            count, append, act = entry
            if append is not None:
                append(position)
            elif act is not None:
                self._place = 2 * (self._base + position) + (count > 0)
                act(rebuild(template, words, position))
                listening = self.events.listening
            if listening:
                listening = self._listen(template, words, position)
            position += count
        self._gather(to_floats(words))
        self._base += len(words)
        self._keep_tail(text)
        if len(self._entries) > _MAX_TEMPLATES:
            self._entries.clear()
            if len(self._general) > _MAX_TEMPLATES:
                self._general.clear()
                self._takes.clear()

    def _keep_tail(self, text: str) -> None:
        """The last lines so far with their places, which like those of rows are twice the numbers before them."""
        lines = [line[:_MAX_LINE] for line in text.rsplit("\n", _TAIL_LINES)[-_TAIL_LINES:]]
        places = accumulate((2 * len(self._pattern.findall(line)) for line in reversed(lines)), initial=0)
        next(places)
        ends = [2 * self._base - numbers for numbers in places]
        self.tail = [*self.tail, *zip(reversed(ends), lines, strict=True)][-_TAIL_LINES:]

    @property
    def place(self) -> int:
        return self._place

    def close(self) -> None:
        self._place = 2 * self._base
        for dialect in self._dialects:
            dialect.close(self)
        self.events.close(self._place)

    def emit(
        self, values: Mapping[str, float], *, step: float | None = None, epoch: float | None = None, split: Split = "",
        dialect: str = "", place: int | None = None,
    ) -> None:  # fmt: skip
        """A row that a dialect has read by itself."""
        names = list(values)
        ident = f"emitted {dialect} {split} {step is None} {epoch is None} {names}"
        shape = self.shapes.get(ident)
        if shape is None:
            if len(self.shapes) >= _MAX_SHAPES:
                return
            columns = tuple(
                Column(name, meaning_of(name), index, split="" if meaning_of(name).split else split)
                for index, name in enumerate(names)
            )
            given = len(names)
            plan = Plan(
                columns,
                step=None if step is None else Counter("step", given, rank=9),
                epoch=None if epoch is None else Counter("epoch", given + (step is not None)),
                split=split,
                ident=ident,
            )
            shape = self.shapes[ident] = Shape(plan, dialect, trusted=True)
        row = (*values.values(), *(count for count in (step, epoch) if count is not None))
        shape.loose.append((self._place if place is None else place, row))
        self._started = True

    def count(self, *, step: float | None = None, epoch: float | None = None) -> None:
        """A header that a dialect has read."""
        plan = Plan(
            (),
            step=None if step is None else Counter("step", 0, rank=9),
            epoch=None if epoch is None else Counter("epoch", int(step is not None)),
            header=True,
            ident=f"counted {step is None} {epoch is None}",
        )
        shape = self.shapes.setdefault(plan.ident, Shape(plan))
        shape.loose.append((self._place, tuple(count for count in (step, epoch) if count is not None)))

    def plan(self, key: str, value: float) -> None:
        self.planned[key] = value

    def _listen(self, template: str, words: list[str], position: int) -> bool:
        line = rebuild(template, words, position)
        if self.events.spot(line) != "open":
            self.events.hear(line, 2 * (self._base + position))
        return self.events.listening

    def _learn(self, template: str, words: list[str], position: int) -> _Entry:
        """Decide, once, what is to be done with lines of this template. Words with digits in them (file names, hashes)
        differ from line to line without making another kind of line of it."""
        line = rebuild(template, words, position)
        self.statements.take(line)
        varies = len(template) < _MAX_VARYING and _DIGIT.search(template) and read_prefix(line).rank is None
        general = _VARYING.sub("~", template) if varies else template
        entry = self._general.get(general)
        if entry is None:
            append, act = self._decide(line)
            entry = self._general[general] = (template.count(HOLE), append, act)
        elif entry[1] is None and entry[2] is None:  # 'fp16' and 'bf16' look alike and are two settings
            self._configure(line)
        self._entries[template] = entry
        return entry

    def _decide(self, line: str) -> tuple[_Append | None, _Act | None]:
        if len(line) > _MAX_LINE or line.startswith("wandb:"):  # W&B's closing summary repeats the last values
            return None, None
        acts = self._acts_on(line)
        if acts:
            return None, acts[0] if len(acts) == 1 else _together(acts)
        start = read_prefix(line).end
        if not self._pattern.search(line, start):
            return None, self._without_numbers(line[start:])
        if not self._is_interesting(line):
            self._configure(line)
            return None, None
        if _GLUED.search(line):
            return None, self._unglued
        take = self._row_taker(line)
        if take is None:
            self._configure(line)
            return None, None
        return take.hits.append, None

    def _acts_on(self, line: str) -> list[_Act]:
        """What is done with a line that is more than a row: what a dialect makes of it, what it says that happened."""
        acts: list[_Act] = []
        for dialect in self._dialects:
            handler = dialect.take(line)
            if handler is not None:
                acts.append(_bound(handler, self))
                break
        if _BEST_AGAIN.search(line):
            acts.append(lambda _: self.repeats.add(self._place + 1))
        happening = self.events.spot(line)
        if happening is not None:
            acts.append(lambda text: self.events.note(happening, text, self._place))
            take = None if len(acts) > 1 else self._row_taker(line)
            if take is not None:  # 'Loss is nan, stopping training' is an event and a measurement
                shape = take.shape
                acts.append(lambda text: self._add_single(text, shape))
        return acts

    def _is_interesting(self, line: str) -> bool:
        """Whether a line is worth an analysis. A text with tens of thousands of kinds of line is mostly not a log; then
        only short lines that count are."""
        if not _INTEREST.search(line) and line.isascii():
            return False
        self._analysed += 1
        return self._analysed < _MAX_ANALYSED or (len(line) < 300 and _COUNTING.search(line) is not None)

    def _row_taker(self, line: str) -> _Take | None:
        plan = analyse(line, self._pattern)
        if plan is None or not (plan.objective or plan.companion or plan.header or (plan.counters and plan.columns)):
            return None
        if not plan.counters:
            self._configure(line)
        elif plan.objective:
            self._started = True
        shape = self._shape(plan)
        if shape is None:
            return None
        if not shape.dialect and plan.objective:
            shape.dialect = next((each.name for each in self._dialects if each.lines and each.lines.search(line)), "")
        starts = {match.start(): index for index, match in enumerate(self._pattern.finditer(line))}
        clock = tuple((unit, starts[start]) for unit, start in plan.prefix.clock if start in starts)
        rank = -1 if plan.prefix.rank is None else plan.prefix.rank
        take = _Take(shape, np.array(slots(plan), dtype=np.int64), clock, rank)
        self._takes.append(take)
        return take

    def _shape(self, plan: Plan) -> Shape | None:
        shape = self.shapes.get(plan.ident)
        if shape is None and len(self.shapes) < _MAX_SHAPES:
            shape = self.shapes[plan.ident] = Shape(plan)
        return shape

    def _without_numbers(self, message: str) -> _Act | None:
        if len(message) < 60 and _SPLIT_HEADER.fullmatch(message.strip()):
            split = split_of(message)
            plan = Plan((), split=split, header=True, ident=f"header {split}")
            shape = self.shapes.setdefault(plan.ident, Shape(plan))
            return lambda _: shape.loose.append((self._place, ()))
        self._configure(message)
        return None

    def _configure(self, line: str) -> None:
        if self._started or len(self.settings) >= MAX_SETTINGS:
            return
        for name, value in settings_in(line).items():
            self.settings.setdefault(name, value)

    def _unglued(self, line: str) -> None:
        """'Epoch12 loss 0.3': the counter is set free and the line read by itself."""
        plain = _GLUED.sub(lambda match: f"{match.group(1) or match.group(2)} ", line)
        plan = analyse(plain, self._pattern)
        if plan is None or not (plan.objective or plan.companion or plan.header):
            return
        shape = self._shape(plan)
        if shape is not None:
            self._started = self._started or plan.objective
            self._add_single(plain, shape, plan)

    def _add_single(self, line: str, shape: Shape, plan: Plan | None = None) -> None:
        values = to_floats(self._pattern.findall(line))
        places = slots(plan or shape.plan)
        if max(places, default=-1) < len(values):
            shape.loose.append((self._place, tuple(float(values[place]) for place in places)))

    def _gather(self, values: Floats) -> None:
        """Move the numbers of the block just read to the shapes they belong to."""
        for take in self._takes:
            if not take.hits:
                continue
            hits = np.array(take.hits, dtype=np.int64)
            take.hits.clear()
            clock = {unit: values[hits + place] for unit, place in take.clock}
            take.shape.add(
                Block(
                    2 * (self._base + hits) + 1,
                    values[hits[:, None] + take.places],
                    wall_times(clock, len(hits)),
                    np.full(len(hits), take.rank, dtype=np.int64),
                )
            )
        thin_to_fit(list(self.shapes.values()))


def _together(acts: list[_Act]) -> _Act:
    def act(line: str) -> None:
        for each in acts:
            each(line)

    return act


def _bound(handler: Handler, scanner: Scanner) -> _Act:
    return lambda line: handler(line, scanner)
