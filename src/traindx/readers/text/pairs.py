"""The metrics of one log line: which number is called what, which ones count, and what data they speak of.

`analyse` is asked once per line template and gives a plan: the positions of the numbers to keep. Of a value with its
running average, 'Loss 2.11 (2.29)', the value itself counts on lines that count batches or steps, since the average
lags behind, unless hundreds of batches lie between them (resolve.py); the average is kept on validation lines and on
lines without a counter, where it is the result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from traindx.meaning import Meaning, Split
from traindx.readers.text.counters import (
    Counter,
    as_outer,
    as_role,
    counted,
    counted_after,
    is_total,
    is_whole,
    with_total,
)
from traindx.readers.text.keys import OBJECTIVES, meaning_in_text, split_of, tells_of_another
from traindx.readers.text.lines import Prefix, read_prefix
from traindx.readers.text.phrases import (
    STRIP,
    after_unit,
    glued_unit,
    is_dangling,
    is_not_measured,
    names_the_next,
    phrase_before,
    rate_after,
    seconds_after,
)
from traindx.readers.text.plans import Column, Plan, identity, settle_columns
from traindx.readers.text.tokens import NUMBER

MAX_ANALYSED = 6000  # characters; a longer line is a dump
_MAX_BEFORE = 400  # characters before a number that can name it
_OPAQUE = re.compile(  # numbers in here are part of something else: dates, paths, addresses
    r"\d{4}[-/]\d{1,2}[-/]\d{1,2}|(?<!\S)\S*(?:://|\.(?:py|pth|pt|ckpt|json|ya?ml|txt|csv|png|jpe?g|npy|npz|h5|log|bin|onnx|pkl|"
    r"safetensors|tar|gz|zip|wav)\b)\S*|(?<![\w/])(?:[A-Za-z]:\\|\.{0,2}/)[\w.\-]+[/\\]\S*"
)
_CLOCK = re.compile(r"(?<![\w.:/@-])(?:\d+\s?(?:d|days?),?\s*)?\d{1,4}:\d{2}(?::\d{2}(?:\.\d+)?)?(?![\w:])")
_BAR = re.compile(
    r"([0-9]+)%\s?\|([^|]*)\|\s*([0-9]+)/([0-9]+)\s*"
    r"\[[\d:?]+<[\d:?]+(?:\s?days?,\s?[\d:]+)?,\s*[\d.?]*\s*[\w?]+/\w+(,\s*)?"
)
_AVERAGE = re.compile(r"\s*[(\[]\s*(?:avg|ave|average|mean|global_avg|running)?\s*[:=]?\s*$", re.IGNORECASE)
_OVER = re.compile(r"\s*/\s*")
_SPREAD = re.compile(r"\s*(?:\+/-|±|\+-)\s*")
_NEXT_IN_LIST = re.compile(r"\s*,\s*|\s*(?:-|=)>\s*")
_UNIT_IN_BRACKETS = re.compile(r"\s*[^\W\d]+(?: [^\W\d]+)?\s*\)\s*[:=]\s*")
_RANGE_IN_NAME = re.compile(r"@\s?\.?\d[\d.]*:$")
_ITEM = re.compile(
    r"(?:class|layer|head|fold|client|agent|worker|env|task|expert|group|image|label|domain|subject|player)s?",
    re.IGNORECASE,
)
_RUN = re.compile(r"(?:^|\s)([A-Za-z_][\w@/.-]*(?:,\s?[A-Za-z_][\w@/.-]*)+)\s*[:=]?\s*$")  # 'loss1,loss2 0.5 0.6'
_TIME_WORDS = frozenset({"in", "took", "takes", "within", "after", "total", "cost"})
_TIMES = ("time", "step_time", "data_time")


@dataclass(slots=True)
class _Number:
    index: int
    start: int
    end: int
    text: str


@dataclass(slots=True)
class _Reading:
    """The state of reading one line from left to right."""

    columns: list[Column] = field(default_factory=list)
    step: Counter | None = None
    epoch: Counter | None = None
    batch: Counter | None = None
    item: tuple[str, int] | None = None
    bar: bool = False
    current: Split = ""  # the split named by the latest label
    first: Split = ""
    labels: list[str] = field(default_factory=list)  # words before the first name that are no name themselves
    said: list[str] = field(default_factory=list)  # all words of the line that name no column
    unnamed: int = 0  # numbers that nothing names
    subject: str = ""  # what 'at step 10' was said of
    last: str = ""  # what the latest number was: 'counter', 'total', 'column', 'dropped' or ''
    last_counter: Counter | None = None
    outer: Counter | None = None  # the first of several step counters
    queue: list[str] = field(default_factory=list)  # names still waiting for their numbers: 'loss1,loss2 0.5 0.6'

    def count(self, counter: Counter) -> None:
        if counter.role == "epoch":
            if self.epoch is None or (self.epoch.plural and not counter.plural):
                self.epoch = counter
        elif counter.role == "batch":
            self.batch = counter
        else:
            self.outer = self.outer or self.step
            if self.step is None or counter.rank > self.step.rank:
                self.step = counter
        self.last, self.last_counter = "counter", counter

    def total(self, index: int) -> None:
        """The number at `index` says how far the latest counter goes."""
        counter = self.last_counter
        inside = counter is not None and counter.role == "step" and self.outer not in (None, counter)
        if inside and self.epoch is None and self.outer is not None and self.outer.total is None:
            self.epoch, self.step = as_outer(self.outer), counter
        for role in ("step", "epoch", "batch"):
            held = getattr(self, role)
            if held is not None and counter is not None and held.index == counter.index:
                setattr(self, role, with_total(held, index))
        self.last = "total"

    def label(self, text: str, *, counting: bool = False) -> None:
        text = text.strip(STRIP + "[](){}")
        if not text:
            return
        self.said.append(text)
        if not self.columns and not counting:
            self.labels.append(text)
        if text.lower().startswith("saving dict"):  # TensorFlow's estimator announces an evaluation like this
            self.current = self.first = "val"
        found = split_of(text) if len(text.split()) <= 5 else ""
        if found:
            self.current = found
            self.first = self.first or found


def analyse(line: str, pattern: re.Pattern[str] = NUMBER) -> Plan | None:
    """The plan for lines like this one, whose numbers are what `pattern` finds; None when nothing in it is named, or
    counts."""
    if len(line) > MAX_ANALYSED:
        return None
    prefix = read_prefix(line)
    numbers = [
        _Number(index, match.start(), match.end(), match.group())
        for index, match in enumerate(pattern.finditer(line))
        if match.start() >= prefix.end
    ]
    if not numbers:
        return None
    reading = _Reading()
    bar = _BAR.search(line, prefix.end)
    spans = [(prefix.end, bar.start()), (bar.end(), len(line))] if bar else [(prefix.end, len(line))]
    for start, end in spans:
        _read(line, start, end, [number for number in numbers if start <= number.start < end], reading)
    if bar:
        _count_bar(bar, numbers, reading)
    return _finish(line, prefix, reading)


def _count_bar(bar: re.Match[str], numbers: list[_Number], reading: _Reading) -> None:
    place = {number.start: number.index for number in numbers}
    reading.bar = True
    if reading.batch is None:
        reading.batch = Counter("batch", place[bar.start(3)], place[bar.start(4)])


def _read(line: str, start: int, end: int, numbers: list[_Number], reading: _Reading) -> None:
    """Read the numbers of one stretch of the line, each with the text on both sides of it."""
    hidden = [match.span() for match in _OPAQUE.finditer(line, start, end)]
    clocks = {match.start(): match.end() for match in _CLOCK.finditer(line, start, end)}
    left = start
    skip_to = -1
    reading.last = ""
    for place, number in enumerate(numbers):
        if number.start < skip_to or any(low <= number.start < high for low, high in hidden):
            continue
        following = numbers[place + 1].start if place + 1 < len(numbers) else end
        before = line[max(left, number.start - _MAX_BEFORE) : number.start]
        if number.start in clocks:
            skip_to = clocks[number.start]
            parts = tuple(other.index for other in numbers if number.start <= other.start < skip_to)
            _take_clock(after_unit(before) if left > start else before, number, parts, reading)
            left = skip_to
            continue
        if before:
            _queue(before, line, numbers[place:], reading)
        if _take(before, number, line[number.end : following], left > start, reading):
            left = number.end
    reading.label(after_unit(line[left:end]) if left > start else line[left:end])


def _queue(left: str, line: str, numbers: list[_Number], reading: _Reading) -> None:
    """Several names before several numbers: 'loss1,loss2,loss3 5.4 5.5 5.6'."""
    match = _RUN.search(left)
    if match is None:
        return
    names = match.group(1).replace(" ", "").split(",")
    run = 1
    while run < len(numbers) and not line[numbers[run - 1].end : numbers[run].start].strip(" ,"):
        run += 1
    if run == len(names):
        reading.queue = names


def _take(left: str, number: _Number, right: str, after_number: bool, reading: _Reading) -> bool:
    """Read one number; False when it is part of the words around it, which then belong to the next one."""
    if reading.queue:
        _add(reading.queue.pop(0), number, "", reading)
        return True
    if reading.last == "counter" and is_total(left):
        reading.total(number.index)
        return True
    if reading.last in ("column", "dropped") and _belongs_to_last(left, number, right, reading):
        return True
    if right in ("-", "~", "–"):
        return False  # the beginning of a range
    if _in_the_name(left, right):
        return False
    left = after_unit(left) if after_number else left
    counter = counted_after(number.text, number.index, right)
    if counter:
        reading.label(left)
        reading.count(counter)
        return True
    phrase = phrase_before(left)
    for label in phrase.labels:
        reading.label(label)
    if _is_bracket_counter(left, number, right, phrase.name, reading):
        return True
    if not phrase.name:
        _take_nameless(left.strip(), number, right, reading)
        return True
    return _take_named(phrase.name, phrase.joined, number, right, reading)


def _in_the_name(left: str, right: str) -> bool:
    """'Reward (100 ep): 22.6', 'mAP@0.50:0.95: 0.3': the value comes after the bracket, or after the range."""
    if left.rstrip().endswith("("):
        return len(left.strip()) > 1 and _UNIT_IN_BRACKETS.fullmatch(right) is not None
    return right.strip() in (":", "=") and _RANGE_IN_NAME.search(left) is not None


def _take_named(name: str, joined: bool, number: _Number, right: str, reading: _Reading) -> bool:
    found = counted(name, number.index, number.text, glued_unit(right))
    if found:
        reading.subject = found.subject.strip(STRIP)
        reading.label(found.split or ("" if "/" in name else name), counting=True)
        reading.count(found.counter)
        return True
    if not joined:
        kind = meaning_in_text(name).kind
        if is_dangling(name):
            return False
        if number.text.lower() == "nan" and kind == "other":
            return False  # 'number of nan iterations': a word, not a value
        if _ITEM.fullmatch(name) and is_whole(number.text):
            reading.item = (name, number.index)
            return True
        if right.strip() in (":", "=") or (names_the_next(right) and is_whole(number.text) and kind not in OBJECTIVES):
            return False  # 'AP .75: 0.3', 'top 5 accuracy: 0.9'
    _add(name, number, right, reading)
    return True


def _take_nameless(bare: str, number: _Number, right: str, reading: _Reading) -> None:
    """A number without a name before it: a leading counter, a rate named by its unit, a list's further element."""
    rate = rate_after(right)
    whole = is_whole(number.text)
    if reading.subject and reading.last in ("counter", "total"):
        # Deeplearning4j's 'Score at iteration 0 is 1.6' is the loss
        _add("loss" if reading.subject == "Score" else reading.subject, number, right, reading)
    elif rate:
        reading.columns.append(Column(rate[0], rate[1], number.index))
        reading.last = "column"
    elif (
        reading.last == ""
        and not reading.columns
        and whole
        and bare in ("", "[", "(", "|", "-")
        and re.match(r"\s*[/\])|:]|\s", right)
    ):
        # '0 train 10.9', '100: 2.3', '[10] train-logloss', '12/100 loss 0.5': a whole number that opens the message
        reading.count(Counter("step", number.index, rank=3 if bare == "[" else 1))
    elif reading.epoch and reading.batch is None and whole and _OVER.fullmatch(right):
        reading.count(Counter("batch", number.index))
    elif seconds_after(right) and bare in ("", "|", "(", "-", ","):
        _add("time", number, right, reading)
    else:
        reading.last = ""
        reading.unnamed += 1


def _is_bracket_counter(left: str, number: _Number, right: str, name: str, reading: _Reading) -> bool:
    """'Train: [0/50]', 'Epoch [1][50/7330]', '[0/25][0/1583]': what counts is in the brackets."""
    with_total_next = _OVER.fullmatch(right) is not None
    if (
        not left.rstrip().endswith("[")
        or not is_whole(number.text)
        or not (with_total_next or right.lstrip().startswith("]"))
    ):
        return False
    if name and counted(name, number.index, number.text, ""):
        return False
    if not with_total_next and (name or reading.last != "counter"):
        return False
    if name and meaning_in_text(name).kind != "other" and not split_of(name):
        return False
    reading.label(name)
    counter = Counter("step", number.index, rank=1)
    if reading.epoch is not None:
        counter = as_role(counter, "batch")
    elif reading.step is not None and reading.step.rank == 1:
        reading.epoch = as_role(reading.step, "epoch")
        reading.step = None
        counter = as_role(counter, "batch")
    elif reading.step is not None:
        counter = as_role(counter, "epoch")  # 'step: [50/196] [1/5]'
    reading.count(counter)
    return True


def _belongs_to_last(left: str, number: _Number, right: str, reading: _Reading) -> bool:
    """An average in brackets, a spread, the total of a share or its percentage: it says more of the column before."""
    rest = after_unit(left)
    if reading.last == "dropped":
        return bool(_OVER.fullmatch(left) or _AVERAGE.fullmatch(rest))
    column = reading.columns[-1]
    if _OVER.fullmatch(left):
        if column.meaning.kind == "score" and column.over is None:
            reading.columns[-1] = replace(column, over=number.index)
        return True
    if _SPREAD.fullmatch(rest):
        return True
    if _AVERAGE.fullmatch(rest):
        tail = right.lstrip()
        if tail.startswith("%") and column.over is not None:
            reading.columns[-1] = replace(column, index=number.index, over=None)
            return True
        if tail.startswith((")", "]", "%)")):
            reading.columns[-1] = replace(column, average=number.index)
            return True
    return _NEXT_IN_LIST.fullmatch(rest) is not None and not right.lstrip()[:1].isalpha()


def _take_clock(left: str, number: _Number, parts: tuple[int, ...], reading: _Reading) -> None:
    """A duration or a time of day: kept when its name says that it is one."""
    phrase = phrase_before(left)
    for label in phrase.labels:
        reading.label(label)
    meaning = meaning_in_text(phrase.name)
    if meaning.kind in (*_TIMES, "stamp") and not is_not_measured(phrase.name):
        reading.columns.append(Column(phrase.name, meaning, number.index, clock=parts))
    else:
        reading.label(phrase.name)
    reading.last = ""


def _add(name: str, number: _Number, right: str, reading: _Reading) -> None:
    """A column, unless its name is that of a counter, a time stamp, or of what another line measured."""
    meaning = meaning_in_text(name)
    reading.last = "dropped"
    if is_not_measured(name) or meaning.kind in ("step", "epoch", "stamp"):
        if " " in name:  # 'best: 0.3' is a column of no interest, 'resuming from' says what the line is about
            reading.said.append(name)
        return
    rate = rate_after(right)
    timed = seconds_after(right)
    if rate and meaning.kind in ("other", *_TIMES):
        meaning = rate[1]
    elif timed and (meaning.kind == "other" or "cost" in name.lower()):
        meaning = Meaning("time")
        name = "time" if name.lower() in _TIME_WORDS else name
    unit = glued_unit(right)
    if unit == "ms" and meaning.kind in _TIMES:
        meaning = replace(meaning, part="ms")
    scale = 1e3 if unit in ("k", "K") else 1e6 if unit == "M" and meaning.kind not in ("memory", "other") else 1.0
    split = "" if meaning.split or meaning.kind == "lr" else reading.current
    reading.columns.append(Column(name, meaning, number.index, scale, split=split))
    reading.last = "column"


def _finish(line: str, prefix: Prefix, reading: _Reading) -> Plan | None:
    columns, split = settle_columns(reading.columns, reading.first)
    if split in ("val", "test") or (reading.batch is None and reading.step is None):
        columns = [
            replace(column, index=column.average, average=None) if column.average is not None else column
            for column in columns
        ]
    said = " ".join(reading.said)
    plan = Plan(
        tuple(columns), reading.step, reading.epoch, reading.batch, reading.item, split, " ".join(reading.labels)[:60],
        tells_of_another(said), reading.bar, _is_header(reading), len(said.split()), prefix,
    )  # fmt: skip
    if not plan.objective:  # 'epochs: 100' without anything measured is a setting
        step, epoch = (
            None if counter is not None and counter.plural else counter for counter in (plan.step, plan.epoch)
        )
        plan = replace(plan, step=step, epoch=epoch, header=plan.header and (step or epoch) is not None)
    if not plan.columns and not plan.counters:
        return None
    return replace(plan, ident=identity(line, plan))


def _is_header(reading: _Reading) -> bool:
    counting = reading.step is not None or reading.epoch is not None
    timing = all(column.meaning.kind in (*_TIMES, "stamp", "lr", "memory") for column in reading.columns)
    return counting and timing and not reading.unnamed and not reading.bar and len(" ".join(reading.said).split()) <= 9
