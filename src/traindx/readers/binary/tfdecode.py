"""Event records by the million: records of one layout are decoded together, as columns of a byte matrix.

The first record of a kind is taken apart by `parse_event`; where its time, step, tags and values lie is its layout.
Every other record of the same length that agrees with it in all the bytes between them has the same layout. Only those
bytes then need reading, and only they need looking up for the checksum, which is linear (see crc32c.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from traindx.readers.binary.crc32c import crc32c, crc32c_many, masked, masked_array, terms
from traindx.readers.binary.tfevent import Note, parse_event, value_of
from traindx.readers.binary.tfrecord import Frames, Places, numbers_at
from traindx.readers.binary.wire import MalformedError, text
from traindx.run import Floats

_WORD = 8
_MAX_LENGTH = 2048  # longer records are few, and rarely two of one layout
_MAX_STEP_BYTES = 8  # 56 bits; a longer step is negative or nonsense and is read one by one
_MIN_RECORDS = 4  # fewer than these of one layout are read one by one
_MAX_TRIES = 16  # new layouts tried for one length in one chunk; then the rest is read one by one
_MAX_LAYOUTS = 64  # of one length
_SPARSE = 16  # places for one point, from which sorting is cheaper than setting aside a place for each
_HASH = 0x9E3779B97F4A7C15  # 2**64 / golden ratio, as in Fibonacci hashing

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]


@dataclass
class _Batch:
    """Decoded points: the record of its chunk each came from, its place in that record, and its tag's number."""

    record: Places
    slot: Places | int
    tag: NDArray[np.int32]
    step: Floats
    value: Floats
    time: Floats


@dataclass
class _Layout:
    """Where things lie in records of one length; offsets count from the beginning of the payload."""

    mask: Words  # the bits that all records of this layout share, but for the tags
    want: Words
    tag_mask: Words
    wall_at: int
    step_at: int
    step_bytes: int
    values: list[tuple[int, str]]  # offset, dtype
    tags: list[tuple[int, int]]
    loose: list[int]  # the bytes that differ from record to record
    hashes: Words = field(default_factory=lambda: np.empty(0, dtype=np.uint64))  # of the tags seen, sorted
    tag_ids: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 0), dtype=np.int32))  # [hash, slot]
    sums: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, dtype=np.uint32))  # crc, loose bytes as zero


class EventDecoder:
    """Decodes the frames of one file after another; keeps what it learns about their layouts."""

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self.damaged = 0  # records whose checksum or structure is wrong
        self.events = 0  # records that were read
        self._tags: list[str] = []
        self._ids: dict[bytes, int] = {}
        self._layouts: dict[int, list[_Layout]] = {}

    def points(self, frames: Frames) -> Iterator[tuple[str, Floats, Floats, Floats]]:
        """The points of these records, tag by tag in file order: tag, steps, values, wall times."""
        batches: list[_Batch] = []
        single: list[Places] = []
        for size, records in _groups(frames.size):
            if size <= _MAX_LENGTH and len(records) >= _MIN_RECORDS:
                single.append(self._by_layout(frames, size, records, batches))
            else:
                single.append(records)
        alone = np.sort(np.concatenate(single)) if single else np.empty(0, dtype=np.int64)
        if len(alone):
            self._one_by_one(frames, alone, batches)
        if batches:
            yield from self._by_tag(batches, len(frames.at))

    def _by_layout(self, frames: Frames, size: int, records: Places, batches: list[_Batch]) -> Places:
        """Decode what has a layout; returns the records that have none, or whose checksum disagrees."""
        left: list[Places] = []
        layouts = self._layouts.setdefault(size, [])
        for layout in layouts:
            if len(records):
                fits, matrix = _fitting(layout, frames, records)
                left.append(self._decode(frames, layout, size, records[fits], matrix, batches))
                records = records[~fits]
        for _ in range(_MAX_TRIES):
            if len(records) < _MIN_RECORDS or len(layouts) == _MAX_LAYOUTS:
                break
            new = self._learn(frames, size, int(records[0]))
            if new is None:
                left.append(records[:1])
                records = records[1:]
                continue
            fits, matrix = _fitting(new, frames, records)
            if len(matrix) < _MIN_RECORDS:
                left.append(records[fits])
            else:
                layouts.append(new)
                left.append(self._decode(frames, new, size, records[fits], matrix, batches))
            records = records[~fits]
        return np.concatenate([*left, records])

    def _learn(self, frames: Frames, size: int, record: int) -> _Layout | None:
        """The layout of this record, or None when it holds anything but plainly written scalars."""
        at = int(frames.at[record])
        data = frames.data[at : at + size]
        try:
            event = parse_event(data, 0, size)
        except MalformedError:
            return None
        step_bytes = event.step_end - event.step_at if event.step_at >= 0 else 0
        if event.rich or event.notes or not event.points or event.wall_at < 0 or step_bytes > _MAX_STEP_BYTES:
            return None
        if any(point.value_at < 0 for point in event.points):
            return None
        values = [(point.value_at, point.dtype) for point in event.points]
        tags = [(point.tag_at, point.tag_end) for point in event.points]
        padded = -(-size // _WORD) * _WORD
        mask = np.zeros(padded, dtype=np.uint8)
        mask[:size] = 0xFF
        loose = list(range(event.wall_at, event.wall_at + 8))
        for offset, dtype in values:
            loose.extend(range(offset, offset + np.dtype(dtype).itemsize))
        mask[loose] = 0
        steps = list(range(event.step_at, event.step_at + step_bytes))
        mask[steps] = 0x80  # whether a byte ends the step is part of the layout, its seven bits are not
        tag_mask = np.zeros(padded, dtype=np.uint8)
        for begin, end in tags:
            mask[begin:end] = 0
            tag_mask[begin:end] = 0xFF
        first = np.zeros(padded, dtype=np.uint8)
        first[:size] = np.frombuffer(data, dtype=np.uint8)
        return _Layout(
            mask.view(np.uint64), (first & mask).view(np.uint64), tag_mask.view(np.uint64),
            event.wall_at, event.step_at, step_bytes, values, tags, sorted(loose + steps),
        )  # fmt: skip

    def _decode(
        self, frames: Frames, layout: _Layout, size: int, records: Places, matrix: Bytes, batches: list[_Batch]
    ) -> Places:
        which = self._which_tags(layout, size, matrix)
        crc = layout.sums[which]
        table = terms(size)
        for offset in layout.loose:
            crc ^= table[size - 1 - offset][matrix[:, offset]]
        right: NDArray[np.bool_] = masked_array(crc) == numbers_at(frames.data, frames.at[records] + size, "<u4")
        wrong = records[~right]
        if len(wrong):
            records, matrix, which = records[right], matrix[right], which[right]
        self.events += len(records)
        step = np.zeros(len(records), dtype=np.uint64)
        for place in range(layout.step_bytes):
            seven = (matrix[:, layout.step_at + place] & np.uint8(0x7F)).astype(np.uint64)
            step |= seven << np.uint64(7 * place)
        steps = step.astype(np.float64)
        times = _column(matrix, layout.wall_at, "<f8")
        for slot, (offset, dtype) in enumerate(layout.values):
            tag = layout.tag_ids[which, slot]
            batches.append(_Batch(records, slot, tag, steps, _column(matrix, offset, dtype), times))
        return wrong

    def _which_tags(self, layout: _Layout, size: int, matrix: Bytes) -> Places:
        """For each row the number of its tags among those this layout has seen; new ones are added."""
        words = matrix.view(np.uint64)
        hashes = np.zeros(len(words), dtype=np.uint64)
        for column in np.flatnonzero(layout.tag_mask):
            hashes ^= words[:, column] & layout.tag_mask[column]
            hashes *= np.uint64(_HASH)
        where: Places = np.searchsorted(layout.hashes, hashes)
        if len(layout.hashes):
            where[where == len(layout.hashes)] = 0
            unknown = np.flatnonzero(layout.hashes[where] != hashes)
        else:
            unknown = np.arange(len(hashes))
        if len(unknown):
            new, first = np.unique(hashes[unknown], return_index=True)
            rows = matrix[unknown[first]]
            ids = [[self._tag_id(row[begin:end].tobytes()) for begin, end in layout.tags] for row in rows]
            rows[:, layout.loose] = 0
            sums = [crc32c(row[:size].tobytes()) for row in rows]
            merged = np.concatenate([layout.hashes, new])
            order = np.argsort(merged)
            layout.hashes = merged[order]
            known_ids = layout.tag_ids.reshape(-1, len(layout.tags))
            layout.tag_ids = np.concatenate([known_ids, np.array(ids, dtype=np.int32)])[order]
            layout.sums = np.concatenate([layout.sums, np.array(sums, dtype=np.uint32)])[order]
            where = np.searchsorted(layout.hashes, hashes)
        return where

    def _tag_id(self, tag: bytes) -> int:
        found = self._ids.get(tag)
        if found is None:
            found = self._ids[tag] = len(self._tags)
            self._tags.append(text(tag, 0, len(tag)))
        return found

    def _one_by_one(self, frames: Frames, records: Places, batches: list[_Batch]) -> None:
        data = frames.data
        rows: list[tuple[int, int, int, int, float, float]] = []  # slot, record, tag, step, value, time
        spans = [(int(frames.at[record]), int(frames.at[record] + frames.size[record])) for record in records]
        sums = crc32c_many([data[start:stop] for start, stop in spans])
        for record, (start, stop), crc in zip(records.tolist(), spans, sums, strict=True):
            try:
                if masked(crc) != int.from_bytes(data[stop : stop + 4], "little"):
                    raise MalformedError("checksum")
                event = parse_event(data, start, stop)
            except MalformedError:
                self.damaged += 1
                continue
            self.events += 1
            self.notes.extend(event.notes)
            step, time = event.step(data), event.wall(data)
            for slot, point in enumerate(event.points):
                tag = self._tag_id(data[point.tag_at : point.tag_end])
                rows.append((slot, record, tag, step, value_of(point, data), time))
        columns = np.array(rows, dtype=np.float64).reshape(-1, 6).T
        slots, of_record, tags = columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2].astype(np.int32)
        batches.append(_Batch(of_record, slots, tags, columns[3], columns[4], columns[5]))

    def _by_tag(self, batches: list[_Batch], records: int) -> Iterator[tuple[str, Floats, Floats, Floats]]:
        batches = [batch for batch in batches if len(batch.record)]
        if not batches:
            return
        slots = 1 + max(int(np.max(batch.slot)) for batch in batches)
        order = _file_order(np.concatenate([batch.record * slots + batch.slot for batch in batches]), records * slots)
        tag = np.concatenate([batch.tag for batch in batches])[order]
        narrow = tag.astype(np.uint16) if len(self._tags) < 1 << 16 else tag  # numpy sorts 16 bits by radix
        by_tag = np.argsort(narrow, kind="stable")
        order = order[by_tag]
        tag = tag[by_tag]
        steps = np.concatenate([batch.step for batch in batches])[order]
        values = np.concatenate([batch.value for batch in batches])[order]
        times = np.concatenate([batch.time for batch in batches])[order]
        bounds = [0, *(np.flatnonzero(np.diff(tag)) + 1).tolist(), len(tag)]
        stretches = sorted(pairwise(bounds), key=lambda stretch: by_tag[stretch[0]])
        for begin, end in stretches:
            yield self._tags[tag[begin]], steps[begin:end], values[begin:end], times[begin:end]


def _file_order(places: Places, total: int) -> Places:
    """The order that sorts these distinct numbers below `total`: by putting each in its place, unless few are taken."""
    if total > _SPARSE * len(places):
        return np.argsort(places)
    at_place = np.full(total, -1, dtype=np.int64)
    at_place[places] = np.arange(len(places))
    return at_place[at_place >= 0]


def _groups(sizes: Places) -> Iterator[tuple[int, Places]]:
    """Records of equal length, each group in file order."""
    narrow = np.minimum(sizes, 0xFFFF).astype(np.uint16)
    order = np.argsort(narrow, kind="stable")
    sorted_sizes = narrow[order]
    bounds = [0, *(np.flatnonzero(np.diff(sorted_sizes)) + 1).tolist(), len(order)]
    for begin, end in pairwise(bounds):
        yield int(sorted_sizes[begin]), order[begin:end]


def _fitting(layout: _Layout, frames: Frames, records: Places) -> tuple[NDArray[np.bool_], Bytes]:
    """Which of these records have the layout, and the bytes of those as a matrix."""
    width = len(layout.mask) * _WORD
    every = np.ndarray(shape=(len(frames.data) - width + 1,), dtype=f"V{width}", buffer=frames.data, strides=(1,))
    matrix = every[frames.at[records]].view(np.uint8).reshape(len(records), width)
    words = matrix.view(np.uint64)
    different = np.zeros(len(words), dtype=np.uint64)
    for column in np.flatnonzero(layout.mask):
        different |= (words[:, column] ^ layout.want[column]) & layout.mask[column]
    fits = different == 0
    return fits, matrix if fits.all() else matrix[fits]


def _column(matrix: Bytes, offset: int, dtype: str) -> Floats:
    """The numbers at one offset of every row."""
    rows, width = matrix.shape
    if not rows:
        return np.empty(0)
    view = np.ndarray(shape=(rows,), dtype=dtype, buffer=matrix, offset=offset, strides=(width,))
    return view.astype(np.float64)
