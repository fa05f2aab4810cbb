"""Megatron-LM, also with DeepSpeed: ' iteration 190/ 1000 | consumed samples: … | lm loss: 7.57E+00 | grad norm: … |'.

Its start-up noise can be half a megabyte; the engine finds the lines wherever they begin, this module only names a log
whose first lines already show them or the argument dump.
"""

from __future__ import annotations

import re
from functools import partial

from traindx.readers.base import CERTAIN, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect

NAME = "megatron"
_LINE = re.compile(r"\biteration\s+\d+/\s*\d+ \|(?: consumed samples:| elapsed time per iteration)")
_ARGUMENTS = re.compile(r"^\s*(?:pipeline|tensor)_model_parallel_size \.{3,}", re.MULTILINE)


class Lines(Dialect):
    name = NAME
    lines = _LINE


def sniff(source: Source) -> float:
    if not source.is_text:
        return 0.0
    return CERTAIN if _LINE.search(source.text_head) or _ARGUMENTS.search(source.text_head) else 0.0


DIALECT = Lines
READER = Reader(NAME, "Megatron-LM log", sniff, partial(read_text, format=NAME))
