"""What a log says happened besides numbers: tracebacks, memory running out, kills, early stops, the end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from traindx.readers.text.lines import read_prefix
from traindx.run import Event, EventKind

_MAX_EVENTS = 60
_MAX_TIMES = 8  # the same event
_FAR = 2 * 50  # places, of which a line has two, since it was last said
_MAX_TEXT = 300
_MAX_HEARD = 1000  # characters of a line of a traceback
_MAX_SPOTTED = 2000  # characters of a line that may announce something
_MAX_TRACEBACK = 400  # lines; an unfinished one ends there

_TRACEBACK = re.compile(r"Traceback \(most recent call last\)")
_EXCEPTION = re.compile(
    r"\s*(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Iteration|Abort|Fault|Failure)\b(?::|$|\s\()"
)
_DEATH = (
    r"(?:killed|terminated|aborted|abort|hangup|segmentation fault|bus error|illegal (?:hardware )?instruction|"
    r"floating point exception|trace/bpt trap|trace/breakpoint trap|quit)(?:: \d+)?"
)  # as shells say how a program ended
# as C++ libraries log what ends them
_FATAL = r"(?-i:^F\d{4} \d\d:|(?:^|[:\d] )F \S+\.(?:cc|cpp|cu|h):\d+\]|\[Fatal\])"
_SIGNS: tuple[tuple[EventKind, str], ...] = (
    (
        "oom",
        r"\b(?:CUDA|GPU|HIP|XLA|device|host|error|killed|MPS backend)\b.{0,60}out of memory(?! \w+: 0)|^\W*out of "
        r"memory|OutOfMemoryError|"
        r"RESOURCE_EXHAUSTED|CUBLAS_STATUS_ALLOC_FAILED|oom[-_]kill|ResourceExhausted|^MemoryError\b|"
        r"all available RAM|tried to allocate more memory than is available|^Out of memory: Kill|"
        r"out of (?:GPU |CPU |host |device )?memory trying|"
        r"(?:exceeded|over) (?:\w+ )?memory limit|cudaMalloc\b.*out of memory",
    ),
    ("dataloader", r"DataLoader worker \(pid|unexpected bus error|DataLoader.{0,40}(?:killed|exited unexpectedly)"),
    (
        "killed",
        r"^\s*Killed\s*$|^\S+: line \d+: +\d+ (?:Killed|Terminated|Aborted)\b|^srun: error: .*: "
        r"(?:Killed|Terminated|Aborted|Bus error)\b|"
        r"terminated by signal \d|\bexit code 137\b|^\s*Aborted\s*$|\bBus "
        r"error\b|\bSIGTERM\b|\bSIGKILL\b|received signal (?:9|15)\b|KeyboardInterrupt|slurmstepd: error: "
        r".*CANCELLED|"
        r"DUE TO TIME LIMIT|^\s*Terminated\s*$|exitcode\s?:?\s?-9\b|Segmentation fault|\(core dumped\)|"
        # a shell alone on its line, before or after what it ran, and at the end of a progress bar that stood still
        rf"^\s*{_DEATH}\s*$|^\S*sh: (?:line \d+: +)?(?:\d+ )?{_DEATH}\b|^\[\d+\]\s*[-+]?\s+(?:\d+ )?{_DEATH}\b|"
        rf"(?:\]|/s|%\|?)\s*{_DEATH}$|^g?make(?:\[\d+\])?: \*\*\* |"
        # a status that is not 0; `note` leaves out those that are
        r"\b(?:exit|return)(?:s|ed)?\b(?: with)?(?: an?)?(?: non-?zero)?(?: exit| return)? ?(?:code|status)\W{0,4}-?\d|"
        r"status=[1-9]\d*/|code=(?:killed|dumped)|"
        # a signal, however a launcher puts it
        r"(?:(?:terminated|killed|interrupted) by|exited on|died with|received|caught|got|termination \(|sending) "
        r"signal\b|process received signal|BAD TERMINATION|Abnormal termination|"
        # a batch system, or whoever runs what runs the training
        r"\b(?:job|step|task|kernel|session|worker|node|pod|container|instance)\b[^.]{0,60}\b"
        r"(?:died(?! 0)|crashed|"
        r"(?:was|been|being|job) (?:killed|aborted|evicted|preempted|terminated|cancelled))\b|"
        r"\bjob killed\b|^Job\b.{0,60}\b(?:evicted|aborted)\W*$|-oomd killed|"
        r"^runtime disconnected|\bbeing killed\b|walltime\b.{0,40}\bexceeded",
    ),
    (
        "traceback",
        r"Watchdog caught collective operation timeout|NCCL (?:error|operation|communicator).{0,80}(?:timed "
        r"out|abort|:)|"
        r"^terminate called after "
        r"throwing|\bChildFailedError\b|nccl(?:Internal|System|Unhandled)\w*Error|CUDA error: |"
        r"device-side assert|RuntimeError: |Fatal Python error|"
        # native code that gives up
        r"^terminate called|libc\+\+abi: terminating|\bAssertion .{1,200} failed\b|\bthread '.*' .{0,20}panicked at\b|"
        r"double free or corruption|stack smashing detected|^(?:malloc|free|realloc)\(\): |"
        r"fatal error has been detected|Memory access fault by GPU|^ERROR: LoadError|"
        rf"{_FATAL}|"
        # an exception by itself: its traceback went elsewhere
        r"^(?:\[?rank ?\d+\]?: ?)?(?:[a-z_]\w*\.)*_*(?:(?-i:[A-Z])\w*)?(?-i:Error|Exception)(?::\s|\s*$)|"
        r"^(?:[a-z_]\w*\.)+_*(?-i:[A-Z]\w*[a-z]\w*): |^StopIteration\b",
    ),
    (
        "early-stop",
        r"early\s?-?stopping?\b(?!.{0,30}(?:patience\s*[:=]|counter|enabled|=\s*\w))(?:.{0,60}(?:trigger|reach|stop|epoch|at\s|!|\.)|\s*$)|"
        r"^\s*Early stopping, best iteration|^\s*Stopping early|Training stopped early|ran out of patience|loss is "
        r"(?:nan|inf)\w*,? stopping",
    ),
    (
        "finished",
        r"\btraining\b(?! loss| time per| set| data| step| "
        r"acc)[^.:=]{0,24}\b(?:complete|completed|finished|done|ended)\b|"
        r"^\W*Training time:?\s+\d|`Trainer\.fit` stopped: `max_|'train_runtime'|\bfinished training\b|\bdone "
        r"training\b|"
        r"exiting program (?:at|after)|epochs completed in \d|^\s*Optimization (?:finished|done)",
    ),
    (
        "warning",
        r"\b(?:UserWarning|RuntimeWarning)\b: .|loss is (?:nan|inf|not (?:finite|a number))\b|"
        r"non-?finite (?:loss|grad)|nan (?:loss|gradient)s? detected",
    ),
)
_RULES = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _SIGNS)
# asked first, so that a line costs one search and not one per rule
_TRIGGER = re.compile(
    r"Traceback|memory|exhausted|ALLOC_FAILED|oom[-_]kill|DataLoader|bus error|killed|aborted|exit code|terminate "
    r"called|ChildFailed|SIGTERM|SIGKILL|signal|KeyboardInterrupt|CANCELLED|"
    r"TIME LIMIT|terminated|exitcode|segmentation|core dumped|watchdog|nccl|CUDA "
    r"error|assert|RuntimeError|fatal|early|stopp|patience|"
    rf"panicked|ignored |atexit|logging error|double free|smashing|malloc|free\(\)|StopIteration|\[Fatal|"
    rf"^(?:[a-z_]\w*\.)+_*(?-i:[A-Z])\w+: |exit|return code|return status|signal|died|crash|evicted|\bjob\b|"
    r"termination|all available RAM|exceeded|disconnected|oomd|"
    rf"libc\+\+abi|access fault|LoadError|\*\*\* \[|{_DEATH}|{_FATAL}|code=|(?-i:Error|Exception)(?::|\s*$)|"
    r"training|train_runtime|Trainer|exiting|completed|optimization|Warning|loss is|finite|nan (?:loss|grad)",
    re.IGNORECASE,
)
# the words of an error that no rule knows; they count only where a log ends with them
_COMPLAINT = re.compile(
    r"\b(?:errors?|failed|failure|failing|fatal|abort(?:ed|ing)?|exception|crash(?:ed)?|lost|disconnect(?:ed)?|"
    r"unable to|could not|cannot|quota exceeded|too small|not (?:running|found)|no space|err|giving up|"
    r"unexpected(?:ly)?|exite?[ds]? with|unreachable|refused|denied|timed out|preempt\w+|evict\w+|corrupt\w*|reboot\w*|"
    r"has fallen|SIG[A-Z]{3,6})\b(?!\W{1,3}(?:\d|no\b|none\b|false\b))|"
    r"^\[\d+\]\s*[-+]?\s+Stopped\b|"
    r"(?-i:[a-z](?:Error|Exception|Failure)(?![a-z])|[A-Z]_(?:ERROR|FAILED|FAILURE)_[A-Z])",
    re.IGNORECASE,
)
_NO_COMPLAINT = re.compile(
    r"\b(?:no|0|without|ignor\w+|retry\w*|retries|retried|trying|will|warning|early|handl\w+|enabled|disabled|"
    r"upload\w*|synced|succe\w+|best|rate|atexit|OUT_OF_RANGE|CANCELLED|completed?|finish\w*|normally|timer|criteria|"
    r"skipp\w+)\b|wandb|"
    r"\b(?:test|val|valid|validation|train|training|mean|absolute|squared|reconstruction)[ _]errors?\b",
    re.IGNORECASE,
)
_STATUS_ZERO = re.compile(r"\b(?:code|status)\W{0,3}0\b(?!x)", re.IGNORECASE)
_ASIDE = re.compile(r"^\W*(?:Exception ignored |Error in atexit|--- Logging error ---)")  # Python goes on after it
_NOT_THE_END = re.compile(
    r"^\W*to (?:update|disable)|\bepoch\s*\[?\d+|\bstep\s*\d+|will be|not yet|once|when|until|if training",
    re.IGNORECASE,
)
_BORING = re.compile(
    r"deprecat|FutureWarning|symlink|tokenizers_parallelism|pin_memory|font|mkldnn|TypedStorage", re.IGNORECASE
)


@dataclass(slots=True)
class _Pending:
    lines: int = 0
    last: str = ""
    aside: bool = False  # of something that Python reports and goes on after


@dataclass(slots=True)
class EventLog:
    """Collects events with their place in the file; the same one said by every rank counts once, said again much later
    it may be that of another run in the file."""

    found: list[tuple[int, Event]] = field(default_factory=list)
    _known: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)  # how often, and where last
    _pending: _Pending | None = None

    @property
    def listening(self) -> bool:
        """Whether a traceback is open, so that the next lines belong to it."""
        return self._pending is not None

    def spot(self, line: str) -> EventKind | Literal["open"] | None:
        """What this line announces, None for almost all lines."""
        if len(line) > _MAX_SPOTTED or not _TRIGGER.search(line):
            return None
        if _TRACEBACK.search(line) or _ASIDE.search(line):
            return "open"
        message = line[read_prefix(line).end :]
        for kind, pattern in _RULES:
            if not pattern.search(line) and not (kind == "killed" and pattern.search(message)):
                continue
            if (
                kind == "early-stop"
                and _NOT_THE_END.search(line)
                and not re.search(r"trigger|stopp(?:ed|ing) (?:early|train)", line, re.IGNORECASE)
            ):
                continue
            if (
                kind == "finished"
                and "Trainer.fit" not in line
                and (_NOT_THE_END.search(line) or len(line) > 200 + read_prefix(line).end)
            ):
                continue
            if kind == "warning" and _BORING.search(line):
                continue
            return kind
        return None

    def note(self, kind: EventKind | Literal["open"], line: str, place: int) -> None:
        if kind == "open":
            before = self._pending
            aside = before is not None and before.aside and not before.lines
            self._pending = _Pending(aside=aside or _ASIDE.search(line) is not None)
            return
        if kind == "killed" and _STATUS_ZERO.search(line):
            return
        if kind == "traceback" and self._pending is not None and self._pending.aside:
            return
        text = line[read_prefix(line).end :].strip()
        if kind == "warning" and "Warning:" in text:
            text = text[text.index("Warning:") + 9 :].strip()
        self._add(kind, text, place)

    def hear(self, line: str, place: int) -> None:
        """One more line while a traceback is open."""
        assert self._pending is not None
        message = line[:_MAX_HEARD][read_prefix(line[:_MAX_HEARD]).end :].rstrip()
        pending = self._pending
        pending.lines += 1
        if _EXCEPTION.match(message) and not message.startswith((" ", "\t")):
            self._close(_kind_of(message), message.strip(), place)
        elif pending.aside and message and not message.startswith((" ", "\t")):
            self._pending = None
        elif pending.lines > _MAX_TRACEBACK:
            self._close("traceback", pending.last or "a traceback without its end", place)
        elif message.strip():
            pending.last = message.strip()

    def close(self, place: int) -> None:
        """The file ended inside a traceback."""
        if self._pending is not None and self._pending.lines:
            self._close("traceback", self._pending.last or "a traceback without its end", place)
        self._pending = None

    def _close(self, kind: EventKind, text: str, place: int) -> None:
        aside = self._pending is not None and self._pending.aside
        self._pending = None
        if not aside:
            self._add(kind, text, place)

    def _add(self, kind: EventKind, text: str, place: int) -> None:
        key = (kind, re.sub(r"\d+", "0", text)[:120])
        times, last = self._known.get(key, (0, -_FAR))
        again = kind in ("finished", "early-stop") or (place - last >= _FAR and times < _MAX_TIMES)
        self._known[key] = (times + again, place)
        if again and len(self.found) < _MAX_EVENTS:
            self.found.append((place, Event(kind, text[:_MAX_TEXT])))


def complaint_in(lines: Iterable[str]) -> str | None:
    """The first of these lines that speaks of an error and not of going on."""
    said = [line[read_prefix(line).end :].strip() for line in lines]
    if any(map(_ASIDE.search, said)):
        return None
    return next((text for text in said if _COMPLAINT.search(text) and not _NO_COMPLAINT.search(text)), None)


def _kind_of(message: str) -> EventKind:
    if re.search(r"out of memory|OutOfMemory", message, re.IGNORECASE):
        return "oom"
    if message.startswith("KeyboardInterrupt"):
        return "killed"
    return "dataloader" if "DataLoader worker" in message else "traceback"
