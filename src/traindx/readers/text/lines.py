"""From the bytes of a terminal to clean log lines, and what a logger put in front of the message.

Escape sequences go, every frame of a progress bar becomes a line of its own (the engine drops frames that repeat a
step), and the prefix of a line (time, logger, level, rank) is told from its message, the time being kept.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from traindx.readers.source import MAX_LINE, Source

_CURSOR = re.compile(r"\x1b\[[0-9;]*[A-HJfsu]")  # moves of the cursor: what follows is another line
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\x1b")
# colours whose escape character was lost in copying
_BARE_COLOUR = re.compile(r"\[(?:[0-4]|7|22|3\d|4\d|9[0-7]|10[0-7]|38;[25];\d+)(?:;\d+)*m")
_BACKSPACES = re.compile(r"\x08+")
_WINDOWS_NAN = re.compile(r"-?1\.#(?:QNAN|SNAN|IND)\w*")
_WINDOWS_INF = re.compile(r"1\.#INF\w*")


def blocks(source: Source) -> Iterator[str]:
    """The text in pieces of about a megabyte, each of whole, clean lines joined by newlines."""
    decoder = codecs.getincrementaldecoder(source.encoding)(errors="replace")
    rest = ""
    skipping = False  # inside a line longer than any log line
    for chunk in source.chunks():
        rest, text, skipping = _whole_lines(rest + decoder.decode(chunk), skipping)
        if text:
            yield tidy(text)
    rest += decoder.decode(b"", final=True)
    if rest and not skipping:
        yield tidy(rest[:MAX_LINE])


def _whole_lines(text: str, skipping: bool) -> tuple[str, str, bool]:
    """What is left for later, the whole lines, and whether an overlong line is still going on."""
    if skipping:
        start = min((at for at in (text.find("\n"), text.find("\r")) if at >= 0), default=-1)
        if start < 0:
            return "", "", True
        text = text[start + 1 :]
    cut = max(text.rfind("\n"), text.rfind("\r"))
    rest, whole = text[cut + 1 :], text[: max(cut, 0)]
    if len(rest) > MAX_LINE:
        return "", f"{whole}\n{rest[:MAX_LINE]}", True
    return rest, whole, False


def tidy(text: str) -> str:
    """Clean lines: no escapes, no carriage returns, no backspaces. Overwritten frames stay, one a line."""
    if "\x1b" in text:
        text = _ESCAPE.sub("", _CURSOR.sub("\n", text))
    elif "[0m" in text:
        text = _BARE_COLOUR.sub("", text)
    if "\x08" in text:
        text = _BACKSPACES.sub("\n", text)
    if "\r" in text:
        text = text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")
    if "\x00" in text:
        text = text.replace("\x00", "")
    if "1.#" in text:
        text = _WINDOWS_INF.sub("inf", _WINDOWS_NAN.sub("nan", text))
    return text


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stands before the message: `end` is where the message begins, `clock` the positions of the numbers of the
    wall time by unit ('Y', 'M', 'D', 'h', 'm', 's'), `rank` the process that wrote the line, where the line says it."""

    end: int = 0
    clock: tuple[tuple[str, int], ...] = ()
    rank: int | None = None


_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE|SUCCESS|NOTICE)"
_TIME = r"(?P<h>\d{1,2}):(?P<m>\d{2}):(?P<s>\d{2}(?:[.,]\d+)?)"
_STAMPS = tuple(
    re.compile(pattern, re.VERBOSE)
    for pattern in (
        rf"[\s\[(<|]*(?:Time:\s*|NeMo\s[IWED]\s)?(?P<Y>\d{{4}})[-/.](?P<M>\d{{1,2}})[-/.](?P<D>\d{{1,2}})[ "
        rf"T_\-,]\s*{_TIME}"
        r"(?:Z|\s?[+-]\d{2}:?\d{2})?",
        rf"[\s\[(<|]*(?P<M>\d{{1,2}})/(?P<D>\d{{1,2}})/(?P<Y>\d{{4}})[ ,T]\s*{_TIME}",
        # a year of two digits leaves open which of the others is the month: only the time of day is kept
        rf"[\s\[(<|]*\d{{1,2}}/\d{{1,2}}/\d{{2}}[ ,T]\s*{_TIME}",
        rf"[\s\[(<|]*(?P<M>\d{{1,2}})[-/](?P<D>\d{{1,2}})\s{_TIME}",
        rf"[\s\[(<|]*{_TIME}(?=[\s\])|,])",
        rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\s+)?[A-Z][a-z]{{2}}\s+(?P<D>\d{{1,2}})\s{_TIME}(?:\s\d{{4}}|\s\S+\s\S+\[\d+\]:)?",
    )
)
_GLOG = re.compile(rf"[IWEF]\d{{4}}\s{_TIME}\s+\d+\s+[\w./\\-]+:\d+\]\s*")
_RANK = re.compile(
    r"\s*(?:\[(?:rank|default|gpu|cuda:|worker)\s?(?P<a>\d+)\]\s*:?|\[\d+,(?P<b>\d+)\]<std(?:out|err)>:|rank[ "
    r"_:=]?(?P<c>\d+)\s*[:|\]]"
    r"|\[(?P<d>\d+)\]:(?=\s)|\[?rank:\s?(?P<e>\d+)\])\s*",
    re.IGNORECASE,
)
_PROCESS = re.compile(r"\s*\([\w.<>]+(?: \w+)*,? pid=\d+[^)]*\)\s?")  # Ray: (TaskRunner pid=625502)
_LABELLED = re.compile(
    r"\s*(?P<a>\d{1,4}):\s(?=\s*(?:\[?\d{4}[-/]|\[?\d\d/\d\d|[\[(|\s]*(?:train\s|val\s)?(?:iter|epoch|step|global)))",
    re.IGNORECASE,
)
_LEVEL_FIRST = re.compile(rf"\s*(?:\[{_LEVEL}(?:\s?\|[^\]]*)?\]|{_LEVEL}(?=[\s:|\-]))\s*(?::[\w.]+:|[:|\-]+)?\s*")
# between the time and the level stands the name of the logger, or nothing
_LEVEL_LATER = re.compile(
    rf"[\w.\-:/\\ \[\](),|<>\t]{{0,80}}?(?<![A-Za-z]){_LEVEL}(?![A-Za-z])\s*[\])]?\s*(?::[\w.]+:|[:|>\-]+)?\s*"
)
_LETTER_LEVEL = re.compile(r"\s*\[[IWEDC]\]\s*")
_LOCATION = re.compile(
    r"[\s|,:\-]*(?:\[[\w./\\<>-]+\.(?:py|cc|cpp|cu)(?::[\w<>]+)*\]|\([\w./\\-]+\.(?:py|cc|cpp)[ "
    r":,]+\d+\)|\[(?:[A-Za-z_]\w*\.)+\w+\](?=\s*[:-])"
    r"|[\w./\\-]+\.(?:py|cc|cpp|java|go):\s*\d+(?=[\s:\])|-])|[\w./\\-]+\.py(?=\s+[A-Za-z])|(?:[A-Za-z_]\w*\.)+\w+(?::[\w<>]+)*(?::\d+)?(?=\s+-\s|\s*[:\]|]\s)"
    r"|__\w+__(?::\w+)*(?::\d+)?(?=\s*[:|-])|[\w<>]+(?::[\w<>]+)+:\d+(?=\s-\s))[\s\])|:>\-]*"
)
_CLOSING = re.compile(r"\s*(?:\s[\w.:/-]+)?[\])>|]+\s*[:\-|>]*\s*|\s+>>\s*|\s*[:|>-]+\s+|\s+")


def read_prefix(line: str) -> Prefix:
    """What a logger wrote before the message. A line without any of it has an empty prefix."""
    position = 0
    clock: tuple[tuple[str, int], ...] = ()
    rank: int | None = None
    dressed = False  # a time or a level was seen: what looks like a logger's name is one
    for _ in range(8):
        start = position
        match = _RANK.match(line, position) or (None if position else _LABELLED.match(line))
        if match:
            rank = int(next(value for value in match.groupdict().values() if value is not None)[:9])
            position = match.end()
        match = _PROCESS.match(line, position)
        if match:
            position = match.end()
        if not clock:
            match = _GLOG.match(line, position) or _stamp(line, position)
            if match:
                clock = tuple((unit, match.start(unit)) for unit in "YMDhms" if match.groupdict().get(unit) is not None)
                position, dressed = match.end(), True
                match = (
                    _LEVEL_LATER.match(line, position)
                    or _LETTER_LEVEL.match(line, position)
                    or _CLOSING.match(line, position)
                )
                position = match.end() if match else position
        match = _LEVEL_FIRST.match(line, position)
        if match:
            position, dressed = match.end(), True
        if dressed:
            match = _LOCATION.match(line, position)
            position = match.end() if match else position
        if position == start:
            break
    return Prefix(position, clock, rank)


def _stamp(line: str, position: int) -> re.Match[str] | None:
    for pattern in _STAMPS:
        match = pattern.match(line, position)
        if match:
            return match
    return None
