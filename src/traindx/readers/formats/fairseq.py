"""fairseq: '| epoch 001 | loss 9.8 | ppl 600 | …', 'epoch 001: 100 / 3000 loss=9.1, …', and its JSON lines in text."""

from __future__ import annotations

import re
from functools import partial

from traindx.readers.base import LIKELY, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect

NAME = "fairseq"
_LINE = re.compile(
    r"\| epoch \d{3} \|.*\b(?:loss|num_updates) |\bepoch \d{3}:\s+\d+ / \d+ loss=|\| (?:train|train_inner|valid) \| "
    r"\{\"epoch\": \d|"
    r"epoch \d{3} \| (?:valid on|loss )"
)


class Lines(Dialect):
    name = NAME
    lines = _LINE


def sniff(source: Source) -> float:
    return LIKELY if source.is_text and _LINE.search(source.text_head) else 0.0


DIALECT = Lines
READER = Reader(NAME, "fairseq log", sniff, partial(read_text, format=NAME))
