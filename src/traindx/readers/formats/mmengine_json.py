"""mmengine `vis_data/scalars.json`: training rows count iterations, validation rows count epochs, both under `step`."""

from __future__ import annotations

from traindx.readers.base import LIKELY, Reader
from traindx.readers.build import RunBuilder
from traindx.readers.python_settings import load_python_settings
from traindx.readers.source import Source
from traindx.readers.tables.jsonrows import head_rows, json_objects
from traindx.readers.tables.jsontext import flat_row
from traindx.run import Run

_TRAINING_KEYS = ("iter", "lr", "base_lr")  # the logger hook writes them into training rows only


def sniff(source: Source) -> float:
    rows = head_rows(source)
    keys = {key for row in rows for key in row}
    timed = sum("step" in row and ("time" in row or "data_time" in row) for row in rows)
    marks = {"iter", "data_time", "base_lr"} & keys
    return LIKELY if rows and "mode" not in keys and marks and timed > 0.5 * len(rows) else 0.0


def read(source: Source) -> list[Run]:
    builder = RunBuilder(source.name, READER.name)
    builder.config.update(load_python_settings(source.nearby("config.py", up=0)))
    last_step, last_epoch = 0.0, 0.0
    for row in json_objects(source, builder.lost):
        numbers, _ = flat_row(row)
        step = numbers.pop("step", None)
        if any(key in numbers for key in _TRAINING_KEYS):
            step = numbers.pop("iter", step) if step is None else step
            numbers.pop("iter", None)
            last_step, last_epoch = step or last_step, numbers.get("epoch", last_epoch)
            builder.row(numbers, step=step, epoch=numbers.get("epoch"))
        elif step is not None and last_epoch and abs(step - last_epoch) < abs(step - last_step):
            builder.row(numbers, epoch=step, split="val")
        else:  # a loop that counts iterations validates by iterations as well
            builder.row(numbers, step=step, split="val")
    return builder.finish()


READER = Reader("mmengine-json", "mmengine scalars.json", sniff, read)
