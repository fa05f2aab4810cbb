"""Any text with numbers that have names: the reader for whatever people paste."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from traindx.errors import TraindxError
from traindx.readers.base import FALLBACK, POSSIBLE, Reader
from traindx.readers.build import RunBuilder
from traindx.readers.source import Source
from traindx.readers.text.assemble import assemble
from traindx.readers.text.lines import blocks, tidy
from traindx.readers.text.pairs import analyse
from traindx.readers.text.scan import Scanner
from traindx.readers.text.tokens import HOLE, NUMBER, NUMBER_WITH_COMMA, uses_decimal_comma
from traindx.run import Run

_CRASHES = ("traceback", "oom", "dataloader")
_LAST_LINES = 4  # shown of a log that ends in a crash
_LINE_WIDTH = 160
_LOG_LINES = POSSIBLE + 0.1  # lines that count and name an objective are no table and no JSON
_SAMPLED = 200  # lines of the head
_ANALYSED = 20  # kinds of them, the most frequent first
_RECORDS = 20  # lines that are looked at for JSON
_MOSTLY = 0.9  # of them
_WRAPPED = frozenset(
    {"log", "message", "msg", "text", "line", "event", "textPayload"}
)  # Docker, logging, structlog, Cloud Logging
_CONTROL = re.compile(r"[\x01-\x06\x0e-\x1a\x1c-\x1f]")


def read_text(source: Source, format: str = "text") -> list[Run]:
    """The runs in a text log. Every text format is read by this one engine, so that a log that changes its shape half
    way, or hides behind a long preamble, is read all the same."""
    comma = uses_decimal_comma(tidy(source.text_head))
    scanner = Scanner(NUMBER_WITH_COMMA if comma else NUMBER)
    for block in blocks(source):
        scanner.feed(block)
    scanner.close()
    builder = RunBuilder(source.name, format)
    if assemble(scanner, builder) or any(event.kind in _CRASHES for event in builder.events):
        runs = builder.finish()
        if runs and runs[-1].died is not None:
            runs[-1].last_lines = source.last_lines(_LAST_LINES, _LINE_WIDTH)
        return runs
    raise TraindxError(
        f"{source.name} holds no training metrics: {scanner.lines} lines were read, and none of them repeats a named "
        f"number "
        "such as 'loss 0.5' beside an epoch or a step.",
        "Give the log that the training printed, or the directory it wrote to.",
    )


def sniff(source: Source) -> float:
    """Any text will do; one whose lines count and measure is most likely a log. Bytes of a foreign encoding are no
    reason to refuse a text, control characters are."""
    text = source.text_head.strip("\x00")
    if not text or not any(letter.isdigit() for letter in text):
        return 0.0
    size = len(text)
    if (
        text.count("\x00") > 0.01 * size
        or len(_CONTROL.findall(text)) > 0.02 * size
        or text.count("\ufffd") > 0.6 * size
    ):
        return 0.0
    if _is_records(text):
        return 0.0
    return _LOG_LINES if _measures(tidy(text)) else FALLBACK


def _is_records(text: str) -> bool:
    """Lines that are JSON objects are data, and a number in a sentence they quote was measured elsewhere; only loggers
    wrap the lines of a log like this, under a name that says so."""
    lines = [line for line in text.split("\n")[:_RECORDS] if line.strip()]
    lines = lines[:-1] if len(lines) > 1 else lines  # the head may end within a line
    records = []
    for line in lines:
        try:
            record = msgspec.json.decode(line) if line.lstrip().startswith("{") else None
        except (msgspec.DecodeError, RecursionError):
            continue
        if isinstance(record, dict):
            records.append(record)
    return (
        bool(lines) and len(records) >= _MOSTLY * len(lines) and not any(_WRAPPED & record.keys() for record in records)
    )


def _measures(text: str) -> bool:
    """Whether a good part of the first lines with numbers are measurements."""
    lines = [line for line in text.split("\n")[:_SAMPLED] if len(line) < 1000 and NUMBER.search(line)]
    kinds = Counter(NUMBER.sub(HOLE, line) for line in lines)
    samples = {NUMBER.sub(HOLE, line): line for line in lines}
    found = 0
    for template, times in kinds.most_common(_ANALYSED):
        line = samples[template]
        plan = None if line.lstrip().startswith(("{", "#")) else analyse(line)
        found += times if plan is not None and plan.objective and plan.counters and not plan.stated else 0
    return found >= 3 and found >= 0.3 * len(lines)


READER = Reader("text", "text log", sniff, read_text)
