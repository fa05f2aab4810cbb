"""OpenMMLab before mmengine: `*.log.json`, JSON lines with `mode` train or val after a line about the environment."""

from __future__ import annotations

from traindx.readers.base import CERTAIN, LIKELY, Reader
from traindx.readers.build import RunBuilder
from traindx.readers.jsonrows import head_rows, json_objects
from traindx.readers.jsontext import flat_row
from traindx.readers.source import Source
from traindx.run import Run


def sniff(source: Source) -> float:
    rows = head_rows(source)
    if rows and "env_info" in rows[0]:
        return CERTAIN
    own = [row for row in rows if row.get("mode") in ("train", "val") and "epoch" in row and "iter" in row]
    return LIKELY + 0.05 if own and len(own) > 0.5 * len(rows) else 0.0


def read(source: Source) -> list[Run]:
    builder = RunBuilder(source.name, READER.name)
    for row in json_objects(source, builder.lost):
        numbers, words = flat_row(row)
        mode = words.get("mode", "")
        if "env_info" in row or not mode:
            builder.config.update(numbers)
            builder.config.update({name: word for name, word in words.items() if len(word) < 100})
            builder.new_run()
            continue
        epoch, iteration = numbers.pop("epoch", None), numbers.pop("iter", None)
        if mode == "train":
            builder.row(numbers, step=iteration, epoch=epoch, split="train")
        else:  # `iter` counts the validation batches here, or the iterations of the epoch: only the epoch is sure
            builder.row(numbers, epoch=epoch, split="val")
    return builder.finish()


READER = Reader("mmdet-json", "OpenMMLab .log.json", sniff, read)
