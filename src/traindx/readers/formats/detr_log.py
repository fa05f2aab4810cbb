"""DETR, DeiT, MAE and their kin: `log.txt`, one JSON object an epoch with train_* and test_* keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traindx.readers.base import LIKELY, Reader
from traindx.readers.build import RunBuilder
from traindx.readers.source import Source
from traindx.readers.tables.jsonrows import head_rows, json_objects
from traindx.readers.tables.jsontext import flat_row
from traindx.run import Run

# the twelve numbers of COCO's summary, in its order
_COCO = (
    "AP",
    "AP50",
    "AP75",
    "AP_small",
    "AP_medium",
    "AP_large",
    "AR1",
    "AR10",
    "AR100",
    "AR_small",
    "AR_medium",
    "AR_large",
)
_FIXED = ("n_parameters", "n_params", "num_params")


def sniff(source: Source) -> float:
    rows = head_rows(source)
    if not rows or not all("epoch" in row for row in rows):
        return 0.0
    keys = {key for row in rows for key in row}
    trains = {key for key in keys if key.startswith("train_")}
    tests = {key for key in keys if key.startswith(("test_", "val_", "ema_"))}
    own = "n_parameters" in keys or "train_lr" in keys or any(key.endswith("_unscaled") for key in keys)
    return LIKELY if "train_loss" in trains and own and len(trains | tests) >= 2 else 0.0


def read(source: Source) -> list[Run]:
    builder = RunBuilder(source.name, READER.name)
    for row in json_objects(source, builder.lost):
        numbers, _ = flat_row(_named_coco(row))
        for name in _FIXED:
            if name in numbers:
                builder.config[name] = numbers.pop(name)
        builder.row(numbers)
    return builder.finish()


def _named_coco(row: Mapping[str, Any]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for key, value in row.items():
        if "coco_eval" in key and isinstance(value, list) and len(value) == len(_COCO):
            named.update({f"{key}/{name}": number for name, number in zip(_COCO, value, strict=True)})
        else:
            named[key] = value
    return named


READER = Reader("detr-log", "DETR, DeiT and MAE log.txt", sniff, read)
