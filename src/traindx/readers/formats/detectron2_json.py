"""detectron2 `metrics.json`: JSON lines with the iteration, losses by name, and now and then the evaluation."""

from __future__ import annotations

import re
from dataclasses import replace

from traindx.readers.base import LIKELY, Reader
from traindx.readers.settings import load_settings
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.jsonrows import head_rows, read_json_rows
from traindx.run import Run

_OWN_KEYS = frozenset({"total_loss", "eta_seconds", "data_time", "rank_data_time", "validation_loss"})
_EVALUATED = re.compile(r"(?:bbox|segm|keypoints|sem_seg|panoptic_seg|box_proposals)/")  # the tasks of its evaluators


def sniff(source: Source) -> float:
    keys = {key for row in head_rows(source) for key in row}
    return LIKELY if "iteration" in keys and keys & _OWN_KEYS else 0.0


def read(source: Source) -> list[Run]:
    sink = Sink(source, READER.name)
    config = source.nearby("config.yaml", "config.yml", up=0)
    if config is not None:
        sink.main.config.update(load_settings(config))
    read_json_rows(source, sink)
    runs = sink.finish()
    for run in runs:
        for name, series in run.series.items():
            if _EVALUATED.match(name):
                run.series[name] = replace(series, meaning=replace(series.meaning, split="val"))
    return runs


READER = Reader("detectron2-json", "detectron2 metrics.json", sniff, read)
