"""OpenMMLab before mmengine: `*.log.json`, JSON lines with `mode` train or val after a line about the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from traindx.readers.base import CERTAIN, LIKELY, Reader
from traindx.readers.build import RunBuilder
from traindx.readers.python_settings import python_settings
from traindx.readers.source import Source
from traindx.readers.tables.jsonrows import head_rows, json_objects
from traindx.readers.tables.jsontext import flat_row
from traindx.run import Run


def sniff(source: Source) -> float:
    rows = head_rows(source)
    if rows and "env_info" in rows[0]:
        return CERTAIN
    own = [row for row in rows if row.get("mode") in ("train", "val") and "epoch" in row and "iter" in row]
    return LIKELY + 0.05 if own and len(own) > 0.5 * len(rows) else 0.0


def read(source: Source) -> list[Run]:
    builder = RunBuilder(source.name, READER.name)
    rows = [(row, *flat_row(row)) for row in json_objects(source, builder.lost)]
    by_iteration = _counts_on([(words.get("mode", ""), numbers) for _, numbers, words in rows])
    last: float | None = None
    for row, numbers, words in rows:
        mode = words.get("mode", "")
        if "env_info" in row or not mode:
            builder.config.update(numbers)
            builder.config.update({name: word for name, word in words.items() if len(word) < 100})
            builder.config.update(python_settings(words.get("config", "")))
            builder.new_run()
            continue
        epoch, iteration = numbers.pop("epoch", None), numbers.pop("iter", None)
        if mode == "train":
            last = iteration
            builder.row(numbers, step=iteration, epoch=epoch, split="train")
            continue
        # `iter` counts the validation batches here, or the iterations of the epoch, and the learning rate is no news
        numbers.pop("lr", None)
        if by_iteration and last is not None:
            builder.row(numbers, step=last, split="val")
        else:
            builder.row(numbers, epoch=epoch, split="val")
    return builder.finish()


def _counts_on(rows: Sequence[tuple[str, Mapping[str, float]]]) -> bool:
    """Whether the iterations run on from epoch to epoch, so that an evaluation may fall anywhere."""
    counts = [(numbers.get("epoch", 0.0), numbers.get("iter", 0.0)) for mode, numbers in rows if mode == "train"]
    steps = [after[1] > before[1] for before, after in pairwise(counts) if after[0] > before[0]]
    if steps:
        return sum(steps) > len(steps) / 2
    evaluated = [numbers.get("epoch") for mode, numbers in rows if mode == "val"]
    return len(set(evaluated)) < len(evaluated)


READER = Reader("mmdet-json", "OpenMMLab .log.json", sniff, read)
