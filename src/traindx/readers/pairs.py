"""The metrics of one log line: which number is called what, which ones count, and what data they speak of.

`analyse` is asked once per line template and gives a plan: the positions of the numbers to keep. Of a value with its
running average, 'Loss 2.11 (2.29)', the value itself is kept on lines that count batches or steps, since the average
lags behind; the average is kept on validation lines and on lines without a counter, where it is the result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from traindx.meaning import Meaning, Split
from traindx.readers.counters import Counter, as_role, counted, counted_after, is_total, is_whole, with_total
from traindx.readers.keys import COMPANIONS, OBJECTIVES, in_english, meaning_in_text, split_of, tells_of_another
from traindx.readers.lines import Prefix, read_prefix
from traindx.readers.tokens import NUMBER

MAX_ANALYSED = 6000  # characters; a longer line is a dump
_MAX_KEY_WORDS = 9


@dataclass(frozen=True, slots=True)
class Column:
    """One quantity of a line: the number at `index` times `scale`, or a share `index`/`over`, or a duration whose parts
    stand at `clock`; `average` is the position of the running average in brackets."""

    name: str
    meaning: Meaning
    index: int
    scale: float = 1.0
    over: int | None = None
    clock: tuple[int, ...] = ()
    average: int | None = None
    split: Split = ""

    @property
    def indices(self) -> tuple[int, ...]:
        return self.clock or ((self.index,) if self.over is None else (self.index, self.over))


@dataclass(frozen=True, slots=True)
class Plan:
    """How to read every line of one template. `item` names what the line is about where it is one of many ('class 3');
    `told` marks lines that repeat what another line measured ('saved best model, loss 0.3'); `header` marks lines that
    only count ('Epoch 3/50') and so say where the lines after them belong; `prose` counts the words that are no name."""

    columns: tuple[Column, ...]
    step: Counter | None = None
    epoch: Counter | None = None
    batch: Counter | None = None
    item: tuple[str, int] | None = None
    split: Split = ""
    label: str = ""
    told: bool = False
    bar: bool = False
    header: bool = False
    prose: int = 0
    prefix: Prefix = Prefix()
    ident: str = ""

    @property
    def objective(self) -> bool:
        return any(column.meaning.kind in OBJECTIVES for column in self.columns)

    @property
    def companion(self) -> bool:
        return any(column.meaning.kind in COMPANIONS for column in self.columns)

    @property
    def counters(self) -> tuple[Counter, ...]:
        return tuple(counter for counter in (self.step, self.epoch, self.batch) if counter is not None)


_OPAQUE = re.compile(  # numbers in here are part of something else: dates, paths, addresses
    r"\d{4}[-/]\d{1,2}[-/]\d{1,2}|\S*://\S*|(?:[A-Za-z]:\\|\.{0,2}/)[\w.\-]+[/\\]\S*"
    r"|\S+\.(?:py|pth|pt|ckpt|json|ya?ml|txt|csv|png|jpe?g|npy|npz|h5|log|bin|onnx|pkl|safetensors|tar|gz|zip|wav)\b\S*"
)
_CLOCK = re.compile(r"(?<![\w.:/@-])(?:\d+\s?(?:d|days?),?\s*)?\d{1,4}:\d{2}(?::\d{2}(?:\.\d+)?)?(?![\w:])")
_BAR = re.compile(r"(\d+)%\s?\|([^|]*)\|\s*(\d+)/(\d+)\s*\[[\d:?]+<[\d:?]+(?:\s?days?,\s?[\d:]+)?,\s*[\d.?]*\s*[\w?]+/\w+(,\s*)?")
_UNIT = re.compile(r"(?:%|‰|[A-Za-zµμ]+(?:/[A-Za-z]+)?)")
_RATE = re.compile(
    r"\s?((?:its?|iters?|imgs?|images?|samples?|examples?|tok|tokens?|steps?|batch(?:es)?|frames?|ins|words?|seqs?)/s(?:ec)?|fps|wps)\b(?!\s*[:=])",
    re.I,
)
_PER = re.compile(r"\s?((?:s|sec|ms|us)/(?:it|iter|step|batch|sample|img|image|epoch))\b(?!\s*[:=])", re.I)
_SECONDS = re.compile(r"\s?(s|secs?|seconds|ms|mins?|minutes)\b(?![/:=]|\s*[:=])", re.I)
_TIME_WORDS = frozenset({"", "in", "took", "takes", "within", "after", "total", "cost"})
_DELIMITER = re.compile(r"[,;|\t{}·•│，；｜、]|\s[-–—]+>?\s|[-=]+>|>{1,3}|<|\s{2,}|\|\||^[-*#+]+\s|[=\-*#]{3,}")
_WRAPPER = re.compile(r"\b(?:tensor|array|Array|DeviceArray|Tensor|Variable|Decimal|(?:np|numpy|torch|jnp|tf)\.\w+|float\d*)\s*$")
_SEPARATOR = re.compile(r"\s*(?:[:=：＝≈~]|:=)\s*$")
_COPULA = re.compile(r"(?:^|\s)(?:is|was|are|were|equals?|reached|reaches|now)\s*$", re.I)
_LEADING = re.compile(r"^(?:and|with|the|but|then|now|got|has|gives?|a|an)\s+", re.I)
_DANGLING = re.compile(r"(?:^|\s)(?:the|of|on|for|over|per|first|last|top|all|with|than|about|around|from|to|by|a|an|best)\s*$", re.I)
_BRACKET_LABEL = re.compile(r"^\s*[\[(]([^\])]{1,40})[\])]\s*[:|-]?\s*(?=\S)")
_AVERAGE = re.compile(r"\s*[(\[]\s*(?:avg|ave|average|mean|global_avg|running)?\s*[:=]?\s*$", re.I)
_ITEM = re.compile(r"(?:class|layer|head|fold|client|agent|worker|env|task|expert|group|sample|image|label|domain|subject|player)s?", re.I)
_STRIP = " \t-*#>:=.,'\"`|!~✓✔➜→·/\\"
_RUN = re.compile(r"(?:^|\s)([A-Za-z_][\w@/.-]*(?:,\s?[A-Za-z_][\w@/.-]*)+)\s*[:=]?\s*$")  # 'loss1,loss2 0.5 0.6'
_OTHER_LINE = re.compile(r"\bbest|\blowest|\bhighest|\bmax(?:imum)?[ _]acc|\bimproved?\b|\bdecreased\b|\bincreased\b|\bfrom\b|\bos error\b|\berrno\b|[\"'=<>]|最佳|最好", re.I)


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
    queue: list[str] = field(default_factory=list)  # names still waiting for their numbers: 'loss1,loss2 0.5 0.6'

    def count(self, counter: Counter) -> None:
        if counter.role == "epoch":
            if self.epoch is None or (self.epoch.plural and not counter.plural):
                self.epoch = counter
        elif counter.role == "batch":
            self.batch = counter
        elif counter.role == "step" and (self.step is None or counter.rank > self.step.rank):
            self.step = counter
        self.last, self.last_counter = "counter", counter

    def label(self, text: str, *, counting: bool = False) -> None:
        text = text.strip(_STRIP + "[](){}")
        if not text:
            return
        self.said.append(text)
        if not self.columns and not counting:
            self.labels.append(text)
        if text.lower().startswith("saving dict"):  # TensorFlow's estimator announces an evaluation like this
            self.current = self.first = "val"
        if len(text.split()) <= 5:
            found = split_of(text)
            if found:
                self.current = found
                self.first = self.first or found


def analyse(line: str, pattern: re.Pattern[str] = NUMBER) -> Plan | None:
    """The plan for lines like this one, whose numbers are what `pattern` finds; None when nothing in it is named, or
    counts."""
    prefix = read_prefix(line)
    numbers = [
        _Number(index, match.start(), match.end(), match.group())
        for index, match in enumerate(pattern.finditer(line))
        if match.start() >= prefix.end
    ]
    if not numbers or len(line) > MAX_ANALYSED:
        return None
    reading = _Reading()
    hidden = [match.span() for match in _OPAQUE.finditer(line, prefix.end)]
    clocks = {match.start(): match.end() for match in _CLOCK.finditer(line, prefix.end)}
    bar = _BAR.search(line, prefix.end)
    spans: list[tuple[int, int]] = [(prefix.end, len(line))]
    if bar:
        spans = [(prefix.end, bar.start()), (bar.end(), len(line))]
    for start, end in spans:
        _read(line, start, end, [number for number in numbers if start <= number.start < end], clocks, hidden, reading)
    if bar:
        _count_bar(bar, numbers, reading)
    return _finish(line, prefix, reading)


def _count_bar(bar: re.Match[str], numbers: list[_Number], reading: _Reading) -> None:
    place = {number.start: number.index for number in numbers}
    counter = Counter("batch", place[bar.start(3)], place[bar.start(4)])
    reading.bar = True
    if reading.batch is None:
        reading.batch = counter


def _read(
    line: str, start: int, end: int, numbers: list[_Number], clocks: dict[int, int], hidden: list[tuple[int, int]], reading: _Reading
) -> None:  # fmt: skip
    left = start
    skip_to = -1
    reading.last = ""
    for place, number in enumerate(numbers):
        if number.start < skip_to or any(low <= number.start < high for low, high in hidden):
            continue
        following = numbers[place + 1].start if place + 1 < len(numbers) else end
        if left < number.start:
            _queue(line[left : number.start], line, numbers[place:], reading)
        if number.start in clocks:
            skip_to = clocks[number.start]
            parts = tuple(other.index for other in numbers if number.start <= other.start < skip_to)
            _take_clock(line[left : number.start], number, parts, reading)
            left = skip_to
            continue
        if _take(line[left : number.start], number, line[number.end : following], left > start, reading):
            left = number.end
    reading.label(_after_unit(line[left:end]) if left > start else line[left:end])


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
        _add(reading.queue.pop(0), number, "", "", reading)
        return True
    unit = _UNIT.match(right)
    glued = unit.group() if unit else ""
    if reading.last == "counter" and reading.last_counter is not None and is_total(left):
        _give_total(number, reading)
        return True
    if reading.last in ("column", "dropped") and _belongs_to_last(left, number, right, reading):
        return True
    stripped = _after_unit(left) if after_number else left
    if right.strip() in ("-", "~", "–") and not right.startswith(" "):
        return False  # the beginning of a range
    counter = counted_after(number.text, number.index, right)
    if counter:
        reading.label(stripped)
        reading.count(counter)
        return True
    labels, key, separator = _key_of(stripped)
    for label in labels:
        reading.label(label)
    if _is_bracket_counter(stripped, number, right, key, reading):
        return True
    if not key:
        return _take_nameless(stripped, number, right, separator, reading)
    return _take_named(key, separator, number, glued, right, reading)


def _take_named(key: str, separator: bool, number: _Number, glued: str, right: str, reading: _Reading) -> bool:
    found = counted(key, number.index, number.text, glued)
    if found:
        reading.subject = found.subject.strip(_STRIP)
        reading.label(found.split or ("" if "/" in key else key), counting=True)
        reading.count(found.counter)
        return True
    if not separator and _DANGLING.search(key):
        return False
    if number.text.lower() == "nan" and not separator and meaning_in_text(key).kind == "other":
        return False  # 'number of nan iterations': a word, not a value
    if _ITEM.fullmatch(key) and not separator and is_whole(number.text):
        reading.item = (key, number.index)
        return True
    if not separator and right.strip() in (":", "=") and meaning_in_text(key).kind not in ("step", "epoch"):
        return False  # 'AP .75: 0.3'
    if not separator and _continues(right) and is_whole(number.text) and meaning_in_text(key).kind not in OBJECTIVES:
        return False  # 'Loss 2: 0.3', 'top 5 accuracy: 0.9'
    _add(key, number, glued, right, reading)
    return True


def _continues(right: str) -> bool:
    """Whether the text after a number goes on to name the next one: ' train images: '."""
    return bool(re.fullmatch(r"(?:\s[A-Za-z][\w@.\-/]*){0,5}\s*[:=]\s*", right)) and right.strip() not in (":", "=")


def _take_nameless(left: str, number: _Number, right: str, separator: bool, reading: _Reading) -> bool:
    """A number without a name before it: a leading counter, a rate named by its unit, a list's further element."""
    bare = left.strip()
    if reading.subject and reading.last == "counter":
        # Deeplearning4j's 'Score at iteration 0 is 1.6' is the loss
        _add("loss" if reading.subject == "Score" else reading.subject, number, "", right, reading)
        return True
    rate = _RATE.match(right) or _PER.match(right)
    if rate:
        kind = "throughput" if _RATE.match(right) else "step_time"
        part = "ms" if rate.group(1).lower().startswith("ms") else ""
        reading.columns.append(Column(rate.group(1), Meaning(kind, part=part), number.index))  # type: ignore[arg-type]
        reading.last = "column"
        return True
    if reading.last == "" and not reading.columns and is_whole(number.text) and bare in ("", "[", "(", "|", "#"):
        _count_leading(number, right, reading)
        return True
    if reading.epoch and reading.batch is None and is_whole(number.text) and re.match(r"\s*/\s*$", right):
        reading.count(Counter("batch", number.index))
        return True
    if _SECONDS.match(right) and bare in ("", "|", "(", "-", ","):
        _add("time", number, _SECONDS.match(right).group(1), right, reading)  # type: ignore[union-attr]
        return True
    reading.last = ""
    reading.unnamed += 1
    return True


def _count_leading(number: _Number, right: str, reading: _Reading) -> None:
    """'0 train 10.9', '100: 2.3', '[10] train-logloss', '12/100 loss 0.5': a whole number that opens the message."""
    if re.match(r"\s*(?:/|\]|\)|:|\s|\|)", right):
        reading.count(Counter("step", number.index, rank=1))
    else:
        reading.unnamed += 1


def _is_bracket_counter(left: str, number: _Number, right: str, key: str, reading: _Reading) -> bool:
    """'Train: [0/50]', 'Epoch [1][50/7330]', '[0/25][0/1583]': what counts is in the brackets."""
    if not left.rstrip().endswith("[") or not is_whole(number.text):
        return False
    if not re.match(r"\s*/\s*$", right) and not re.match(r"\s*\]", right):
        return False
    if key and counted(key, number.index, number.text, ""):
        return False
    if not re.match(r"\s*/\s*$", right) and (key or reading.last != "counter"):
        return False
    if key and meaning_in_text(key).kind != "other" and not split_of(key):
        return False
    reading.label(key)
    counter = Counter("step", number.index, rank=1)
    if reading.epoch is not None:
        counter = as_role(counter, "batch")
    elif reading.step is not None and reading.step.rank == 1:
        reading.epoch = as_role(reading.step, "epoch")
        reading.step = None
        counter = as_role(counter, "batch")
    reading.count(counter)
    return True


def _give_total(number: _Number, reading: _Reading) -> None:
    counter = reading.last_counter
    assert counter is not None
    for role in ("step", "epoch", "batch"):
        held = getattr(reading, role)
        if held is not None and held.index == counter.index:
            setattr(reading, role, with_total(held, number.index))
    reading.last = "counter" if reading.last_counter is None else "total"


def _belongs_to_last(left: str, number: _Number, right: str, reading: _Reading) -> bool:
    """An average in brackets, a spread, the total of a share or its percentage: it says more of the column before."""
    rest = _after_unit(left)
    if reading.last == "dropped":
        return bool(re.fullmatch(r"\s*/\s*", left) or _AVERAGE.fullmatch(rest))
    column = reading.columns[-1]
    if re.fullmatch(r"\s*/\s*", left):
        if column.meaning.kind == "score" and column.over is None:
            reading.columns[-1] = replace(column, over=number.index)
        return True
    if re.fullmatch(r"\s*(?:\+/-|±|\+-)\s*", rest):
        return True
    if _AVERAGE.fullmatch(rest):
        tail = right.lstrip()
        if tail.startswith("%") and column.over is not None:
            reading.columns[-1] = replace(column, index=number.index, over=None)
            return True
        if tail.startswith((")", "]", "%)")):
            reading.columns[-1] = replace(column, average=number.index)
            return True
    return bool(re.fullmatch(r"\s*,\s*|\s*(?:-|=)>\s*", rest)) and not re.match(r"\s*[A-Za-z]", right)


def _after_unit(left: str) -> str:
    unit = _UNIT.match(left)
    return left[unit.end() :] if unit else left


def _take_clock(left: str, number: _Number, parts: tuple[int, ...], reading: _Reading) -> None:
    labels, key, _ = _key_of(_after_unit(left) if reading.last else left)
    for label in labels:
        reading.label(label)
    if key:
        meaning = meaning_in_text(key)
        if meaning.kind in ("time", "step_time", "stamp", "data_time"):
            reading.columns.append(Column(key, meaning, number.index, clock=parts))
        else:
            reading.label(key)
    reading.last = ""


def _key_of(left: str) -> tuple[list[str], str, bool]:
    """The labels in this text, the name that ends it, and whether a ':' or '=' follows the name."""
    text = left.rstrip()
    separator = False
    for _ in range(4):
        text = text.rstrip(" \t\"'`*$<[({")
        if text != left.rstrip():
            text = _WRAPPER.sub("", text).rstrip()
        match = _SEPARATOR.search(text)
        if match is None:
            break
        separator = True
        text = text[: match.start()]
    cut = _bracket_cut(text)
    labels = [text[:cut]] if cut else []
    text = text[cut:]
    pieces = _DELIMITER.split(text)
    labels.extend(pieces[:-1])
    key = pieces[-1]
    inner = re.search(r"[:：=]\s+(?=[^\s:=]+[^:=]*$)|\s=\s", key)
    if inner:
        labels.append(key[: inner.start()])
        key = key[inner.end() :]
    match = _BRACKET_LABEL.match(key)
    if match:
        labels.append(match.group(1))
        key = key[match.end() :]
    # a number inside the name counts something ('the 10000 test images'), one at its end is part of it ('AP .75')
    key = re.sub(r"\s+", " ", NUMBER.sub(lambda match: match.group() if match.end() == len(key.rstrip()) else " ", key))
    if not separator or _COPULA.search(key):
        trimmed = _COPULA.sub("", key)
        separator = separator or trimmed != key
        key = trimmed
    key = _LEADING.sub("", key.strip(_STRIP)).strip(_STRIP)
    if len(key) > 80 or "+" in key or key.count("(") != key.count(")") or len(key.split()) > _MAX_KEY_WORDS or not any(letter.isalpha() for letter in key):
        if key:
            labels.append(key[:80])
        key = ""
    return labels, key, separator


def _bracket_cut(text: str) -> int:
    """Where the name can begin: after a bracket that was closed without opening, or opened without closing."""
    stack: list[int] = []
    cut = 0
    for place, letter in enumerate(text):
        if letter in "([{":
            stack.append(place + 1)
        elif letter in ")]}":
            if stack:
                stack.pop()
            else:
                cut = place + 1
    return stack[-1] if stack else cut


def _add(key: str, number: _Number, glued: str, right: str, reading: _Reading) -> None:
    meaning = meaning_in_text(key)
    reading.last = "dropped"
    if _OTHER_LINE.search(key) or meaning.kind in ("step", "epoch", "stamp"):
        return
    if "cost" in key.lower() and _SECONDS.match(right):
        meaning = Meaning("time")
    if meaning.kind in ("other", "time", "step_time"):
        if _RATE.match(right):
            meaning = Meaning("throughput")
        elif _PER.match(right):
            meaning = Meaning("step_time", part="ms" if _PER.match(right).group(1).lower().startswith("ms") else "")  # type: ignore[union-attr]
        elif _SECONDS.match(right) and meaning.kind == "other":
            meaning = Meaning("time")
    if key.lower() in _TIME_WORDS and _SECONDS.match(right):
        key = "time"
        meaning = Meaning("time")
    scale = 1.0
    if glued in ("k", "K") or (glued == "M" and meaning.kind not in ("memory", "other")):
        scale = 1e6 if glued == "M" else 1e3
    if glued == "ms" and meaning.kind in ("time", "step_time", "data_time") and meaning.part != "ms":
        meaning = replace(meaning, part="ms")
    split = "" if meaning.split or meaning.kind == "lr" else reading.current
    reading.columns.append(Column(key, meaning, number.index, scale, split=split))
    reading.last = "column"


def _finish(line: str, prefix: Prefix, reading: _Reading) -> Plan | None:
    columns = _separate(_in_context(reading.columns))
    split = reading.first
    if split in ("val", "test") or (reading.batch is None and reading.step is None):
        columns = [replace(column, index=column.average) if column.average is not None else column for column in columns]
    plan = Plan(
        tuple(columns), reading.step, reading.epoch, reading.batch, reading.item, split, " ".join(reading.labels)[:60],
        tells_of_another(" ".join(reading.said)), reading.bar, _is_header(reading), len(" ".join(reading.said).split()), prefix,
    )  # fmt: skip
    if not plan.objective:
        if any(counter.plural for counter in plan.counters):
            plan = replace(
                plan,
                step=None if plan.step and plan.step.plural else plan.step,
                epoch=None if plan.epoch and plan.epoch.plural else plan.epoch,
            )
        if not plan.companion and not plan.counters and not plan.columns:
            return None
    return replace(plan, ident=_identity(line, plan))


def _is_header(reading: _Reading) -> bool:
    counting = reading.step is not None or reading.epoch is not None
    timing = all(column.meaning.kind in ("time", "step_time", "stamp", "lr", "memory") for column in reading.columns)
    return counting and timing and not reading.unnamed and not reading.bar and len(" ".join(reading.said).split()) <= 9


def _in_context(columns: list[Column]) -> list[Column]:
    """Short names that the rest of the line explains: beside a KL term 'Rec' is a reconstruction loss, not a recall, and
    'Total' beside a loss is the whole of it."""
    if any(column.meaning.kind == "kl" or "kl" in column.name.lower().split() for column in columns):
        columns = [replace(c, meaning=Meaning("loss", c.meaning.split, "min", "rec")) if c.name.lower() in ("rec", "recon", "rc") else c for c in columns]
    if any(column.meaning.kind == "loss" for column in columns):
        columns = [replace(c, meaning=Meaning("loss", "", "min")) if c.name.lower() == "total" and c.meaning.kind == "other" else c for c in columns]
    return columns


def _separate(columns: list[Column]) -> list[Column]:
    """Names said twice in one line take the split of the name before them ('train loss 1 acc 2 val loss 3 acc 4'), or
    else a number."""
    seen: dict[tuple[str, str], int] = {}
    doubled = {(c.name, c.split or c.meaning.split) for c in columns}
    if len(doubled) == len(columns):
        return columns
    current: Split = ""
    apart: list[Column] = []
    for column in columns:
        current = column.meaning.split or current
        if not column.meaning.split and not column.split and column.meaning.kind in OBJECTIVES:
            column = replace(column, split=current)
        key = (column.name, column.split or column.meaning.split)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] > 1:
            column = replace(column, name=f"{column.name} ({seen[key]})")
        apart.append(column)
    return apart


def _identity(line: str, plan: Plan) -> str:
    """Lines of one identity are one series of measurements. With a counter the names decide; without, all words do."""
    names = ",".join(f"{column.split}/{column.name}" for column in plan.columns)
    roles = ",".join(f"{counter.role}{'' if counter.total is None else '/'}" for counter in plan.counters)
    shape = "".join("/" if column.over is not None else str(len(column.clock)) for column in plan.columns)
    if plan.counters and plan.columns:
        label = plan.label if len(plan.label.split()) <= 3 else ""
        return f"{names}|{roles}|{shape}|{plan.split}|{plan.told}|{plan.item is not None}|{label}"
    words = re.sub(r"\s+", " ", NUMBER.sub("0", in_english(line[plan.prefix.end :])))
    return f"{names}|{roles}|{shape}|{words[:200]}"


def slots(plan: Plan) -> tuple[int, ...]:
    """The positions of all numbers a plan keeps, in a fixed order: the columns', the counters', the item's."""
    places = [index for column in plan.columns for index in column.indices]
    for counter in plan.counters:
        places.append(counter.index)
        if counter.total is not None:
            places.append(counter.total)
    if plan.item is not None:
        places.append(plan.item[1])
    return tuple(places)
