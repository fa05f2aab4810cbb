"""YOLOv5 up to release 5, YOLOv7 and their kin: `results.txt`, a row an epoch and no header.

'0/99  3.97G  0.0899  0.0183  0.0276  0.1357  193  640' are the training losses, the seven numbers after them what the
validation gave: precision, recall, mAP at 0.5 and over 0.5 to 0.95, and the three losses.
"""

from __future__ import annotations

import re
from functools import partial

from traindx.readers.base import CERTAIN, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.tokens import to_float

NAME = "yolo-text"
_VALUE = r"[ \t]+(-?[\d.]+(?:e[-+]?\d+)?|-?nan|-?inf)"
_LINE = re.compile(rf"^[ \t]*(\d+)/(\d+)[ \t]+[\d.]+G{_VALUE * 6}{_VALUE * 7}[ \t]*$", re.MULTILINE | re.IGNORECASE)
_PARTS = ("box", "obj", "cls")
_TRAIN = tuple(f"train/{part}_loss" for part in _PARTS)
_VALIDATION = (
    "metrics/precision", "metrics/recall", "metrics/mAP_0.5", "metrics/mAP_0.5:0.95",
    *(f"val/{part}_loss" for part in _PARTS),
)  # fmt: skip
_BETWEEN = 3  # the sum of the losses, the number of labels and the image size


class Epochs(Dialect):
    def take(self, line: str) -> Handler | None:
        return self.epoch if _LINE.match(line) else None

    def epoch(self, line: str, sink: Sink) -> None:
        match = _LINE.match(line)
        if match is None:
            return
        epoch, last, *numbers = (to_float(word) for word in match.groups())
        sink.plan("planned_epochs", last + 1)
        losses, measured = numbers[: len(_TRAIN)], numbers[len(_TRAIN) + _BETWEEN :]
        row = dict(zip((*_TRAIN, *_VALIDATION), (*losses, *measured), strict=True))
        sink.emit({name: value for name, value in row.items() if name in _TRAIN}, epoch=epoch, dialect=NAME)
        validation = {name: value for name, value in row.items() if name not in _TRAIN}
        sink.emit(validation, epoch=epoch, split="val", dialect=NAME)


def sniff(source: Source) -> float:
    return CERTAIN if source.is_text and _LINE.search(source.text_head) else 0.0


DIALECT = Epochs
READER = Reader(NAME, "YOLOv5/YOLOv7 results.txt", sniff, partial(read_text, format=NAME))
