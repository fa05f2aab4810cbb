"""Hugging Face Trainer: `trainer_state.json`, written into every checkpoint and, at the end, beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from traindx.errors import TraindxError
from traindx.readers.base import CERTAIN, Bundle, Reader
from traindx.readers.build import RunBuilder
from traindx.readers.reach import open_file
from traindx.readers.settings import load_settings
from traindx.readers.source import Source
from traindx.readers.tables.json_tables import load_document
from traindx.readers.tables.jsontext import as_float, flat_row
from traindx.run import Event, Run, flatten

STATE = "trainer_state.json"
_CHECKPOINT = re.compile(r"^checkpoint-(\d+)$")
# settings the Trainer or scripts around it leave as JSON or YAML; training_args.bin is a pickle and stays closed
_SETTINGS = (
    "config.json",
    "adapter_config.json",
    "training_args.json",
    "training_args.yaml",
    "args.json",
    "train_config.json",
)
_NOT_SETTINGS = frozenset({"log_history", "stateful_callbacks", "is_local_process_zero", "is_world_process_zero",
                           "is_hyper_param_search", "total_flos"})  # fmt: skip
# the last row sums the training up: means over all steps, no measurement of their own
_SUMMARY = "train_runtime"


class _Progress(msgspec.Struct):
    global_step: float = 0


def sniff(source: Source) -> float:
    head = source.head
    return CERTAIN if b'"log_history"' in head and (b'"global_step"' in head or b'"best_metric"' in head) else 0.0


def read(source: Source) -> list[Run]:
    state, lost = load_document(source)
    history = state.get("log_history") if isinstance(state, Mapping) else None
    if not isinstance(history, list) or not any(
        isinstance(row, Mapping) and set(row) - {"epoch", "step"} for row in history
    ):
        raise TraindxError(
            f"{source.name} holds no log_history that can be read.", "Try another checkpoint's trainer_state.json."
        )
    builder = RunBuilder(source.name, READER.name, one_run=True)
    if lost:
        builder.lost.append(lost)
    for name in _SETTINGS:
        path = source.nearby(name)
        if path is not None:
            builder.config.update(load_settings(path))
    builder.config.update(flatten({key: item for key, item in state.items() if key not in _NOT_SETTINGS}))
    for row in history:
        if isinstance(row, Mapping):
            _add(builder, row)
    _ending(builder, state)
    return builder.finish()


def _add(builder: RunBuilder, row: Mapping[str, Any]) -> None:
    numbers, _ = flat_row(row)
    if _SUMMARY in numbers:
        builder.config.update({name: value for name, value in numbers.items() if name not in ("step", "epoch")})
        builder.events.append(Event("finished", "the Trainer wrote its summary", numbers.get("step")))
        return
    builder.row(numbers, step=numbers.get("step"), epoch=numbers.get("epoch"))


def _ending(builder: RunBuilder, state: Mapping[str, Any]) -> None:
    step, planned = state.get("global_step"), state.get("max_steps")
    if any(event.kind == "finished" for event in builder.events):
        return
    if isinstance(step, int | float) and isinstance(planned, int | float) and 0 < planned <= step:
        reached = as_float(step)
        builder.events.append(Event("finished", f"reached step {reached:g} of {as_float(planned):g}", reached))


def claim(folder: Path, files: Sequence[Path]) -> list[Bundle]:
    """One run for each output directory: every checkpoint repeats the history up to its step, so the last one has
    all."""
    groups: dict[Path, list[Path]] = {}
    for path in files:
        if path.name == STATE:
            groups.setdefault(path.parent if path.parent == folder else output_of(path), []).append(path)
    bundles = []
    for states in groups.values():
        last = max(states, key=_reached)
        bundles.append(Bundle(last, frozenset(states)))
    return bundles


def output_of(state: Path) -> Path:
    """The output directory that a trainer_state.json belongs to."""
    return state.parent.parent if _CHECKPOINT.match(state.parent.name) else state.parent


def _reached(path: Path) -> float:
    """How far this state got: the number of its checkpoint, or what the file says."""
    checkpoint = _CHECKPOINT.match(path.parent.name)
    if checkpoint:
        return float(checkpoint.group(1))
    try:
        # the copy beside the checkpoints is written last, and also holds the summary
        with open_file(path) as file:
            return msgspec.json.decode(file.read(), type=_Progress).global_step + 0.5
    except (OSError, msgspec.DecodeError):
        found = re.search(rb'"global_step":\s*(\d+)', Source(path).head)
        return float(found.group(1)) if found else 0.0


READER = Reader("hf-trainer", "Hugging Face trainer_state.json", sniff, read, claim)
