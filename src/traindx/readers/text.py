"""Any text with numbers that have names: the reader for whatever people paste."""

from __future__ import annotations

from traindx.errors import TraindxError
from traindx.readers.assemble import assemble
from traindx.readers.base import FALLBACK, Reader
from traindx.readers.build import RunBuilder
from traindx.readers.lines import blocks, tidy
from traindx.readers.scan import Scanner
from traindx.readers.source import Source
from traindx.readers.tokens import NUMBER, NUMBER_WITH_COMMA, uses_decimal_comma
from traindx.run import Run


def read_text(source: Source, format: str = "text") -> list[Run]:
    """The runs in a text log. Every text format is read by this one engine, so that a log that changes its shape half
    way, or hides behind a long preamble, is read all the same."""
    comma = uses_decimal_comma(tidy(source.text_head))
    scanner = Scanner(NUMBER_WITH_COMMA if comma else NUMBER)
    for block in blocks(source):
        scanner.feed(block)
    scanner.close()
    builder = RunBuilder(source.name, format)
    if assemble(scanner, builder) or any(event.kind in ("traceback", "oom", "dataloader") for event in builder.events):
        return builder.finish()
    raise TraindxError(
        f"{source.name} holds no training metrics: {scanner.lines} lines were read, and none of them repeats a named number "
        "such as 'loss 0.5' beside an epoch or a step.",
        "Give the log that the training printed, or the directory it wrote to.",
    )


def sniff(source: Source) -> float:
    return FALLBACK if source.is_text and any(letter.isdigit() for letter in source.text_head) else 0.0


READER = Reader("text", "text log", sniff, read_text)
