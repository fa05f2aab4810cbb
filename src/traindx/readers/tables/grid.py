"""A block of a table as a grid of cells: where each begins and ends, found in a few passes over all bytes at once.

No cell is cut out. Text is written over with spaces and so are the separators of blank cells; the numbers that are left
between commas are one JSON array, and decoding that is the fastest way to a numpy array without a compiler.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from traindx.readers.tables.cells import NAN, is_blank, number_of
from traindx.readers.tables.frames import Labels, Mask, as_text
from traindx.run import Floats

Places = NDArray[np.intp]
_COMMA, _NEWLINE, _SPACE, _MINUS, _ZERO = b",\n -0"
_LONG_TEXT = 64  # bytes; longer text is hardly ever the same twice
# around a block: a newline that ends its last row, a number after the last comma, and room to read text beyond the end
_HEAD, _TAIL = b"[", b"\n0]" + b" " * _LONG_TEXT
_PIECE = 8  # bytes of text compared at a time
_PIECE_MASKS = np.array([(1 << 8 * count) - 1 for count in range(_PIECE + 1)], dtype=np.uint64)
_MAX_PERIOD = 256  # names that come round in one order
_RARE = 64  # text in less than one cell in so many is not worth a pass over all of them
_decode = msgspec.json.Decoder(list[float]).decode
_pack = msgspec.msgpack.Encoder().encode_into
_PACKED = np.dtype([("mark", "u1"), ("value", ">f8")])


class Cutter:
    """Finds the cells of one block after the other in memory that it uses again: fresh pages cost more than the
    search."""

    def __init__(self, delimiter: bytes, width: int) -> None:
        self._delimiter = ord(delimiter)
        self._width = width
        self._memory = np.empty((3, 0), dtype=np.uint8)
        self._packed = bytearray()

    def grid(self, block: bytes) -> Grid | None:
        """The cells of this block, until the next one is cut; None where a row has more or fewer than the header."""
        size = len(_HEAD) + len(block) + len(_TAIL)
        if self._memory.shape[1] < size:
            self._memory = np.empty((3, size), dtype=np.uint8)
        text, *masks = self._memory[:, :size]
        newline, separator = (mask.view(np.bool_) for mask in masks)
        view = memoryview(text)
        view[: len(_HEAD)], view[len(_HEAD) : -len(_TAIL)], view[-len(_TAIL) :] = _HEAD, block, _TAIL
        np.equal(text, _NEWLINE, out=newline)
        np.equal(text, self._delimiter, out=separator)
        separator |= newline
        ends = np.flatnonzero(separator)
        rows, rest = divmod(len(ends), self._width)
        if rest or np.count_nonzero(newline) != rows or not newline[ends[self._width - 1 :: self._width]].all():
            return None
        return Grid(block, text, ends, self._width, self._packed, self._delimiter == _COMMA)


class Grid:
    """The cells of a block whose rows all have the same number of them. Ask for `labels` first: `numbers` writes over
    the text."""

    def __init__(
        self, block: bytes, text: NDArray[np.uint8], ends: Places, width: int, packed: bytearray, commas: bool
    ) -> None:
        """`text` is the block with one byte before it, `ends` are the places of the separators in it; `packed` is
        memory to use."""
        self._block = block
        self._text = text
        self._ends = ends
        self._sizes = np.empty_like(ends)  # bytes of each cell and its separator
        self._sizes[0] = ends[0]
        np.subtract(ends[1:], ends[:-1], out=self._sizes[1:])
        self._width = width
        self._packed = packed
        self._commas = commas

    def labels(self, column: int) -> Labels:
        """A column of text."""
        return self._labels(slice(column, None, self._width))

    def numbers(self, columns: list[int]) -> tuple[Floats, Mask | None] | None:
        """The cells of these columns, a row a row, and which of them are not blank (None: all); None where there is a
        cell that is no number."""
        held = self._sizes > 1
        if self._commas and held.all():
            self._text[self._ends[self._width - 1 :: self._width]] = _COMMA
        else:
            self._text[self._ends] = held * np.uint8(_COMMA - _SPACE) + np.uint8(_SPACE)
        others = sorted({*range(self._width)}.difference(columns))
        if others:
            cells: Places | slice = slice(others[0], None, self._width)
            if len(others) > 1:
                cells = np.add.outer(np.arange(0, len(held), self._width), others).reshape(-1)
            self._erase(cells)
            held[cells] = False
        values = self._decoded()
        return self._with_words(held, columns) if values is None else self._table(values, held, columns)

    def _with_words(self, held: Mask, columns: list[int]) -> tuple[Floats, Mask | None] | None:
        """Some cells say nan, none or the like: they are read one by one, the others as before."""
        first, second = (self._text[self._ends - self._sizes + place] for place in (1, 2))
        words = np.flatnonzero(held & ~(_is_digit(first) | ((first == _MINUS) & _is_digit(second))))
        if not len(words):
            return None
        labels = self._labels(words)
        meant = [number_of(word) for word in labels.words]
        if any(value is None and not is_blank(word) for word, value in zip(labels.words, meant, strict=True)):
            return None
        self._erase(words)
        values = self._decoded()
        if values is None:
            return None
        every = np.full(len(held), NAN)
        held[words] = False
        if np.count_nonzero(held) != len(values):
            return None  # a cell that holds two numbers
        every[held] = values
        every[words] = np.array(meant, dtype=np.float64)[labels.codes]  # None becomes NaN
        held[words] = np.array([value is not None for value in meant], dtype=np.bool_)[labels.codes]
        return self._table(every[held], held, columns)

    def _decoded(self) -> Floats | None:
        """The numbers between the commas, less the one that only ends them; None when something else stands there."""
        try:
            values = _decode(self._text.data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        # as MessagePack each float is one mark and eight bytes: several times faster than handing numpy the objects
        _pack(values, self._packed)
        start = len(self._packed) - _PACKED.itemsize * len(values)
        packed = np.frombuffer(self._packed, dtype=_PACKED, offset=start, count=len(values) - 1)
        return packed["value"].astype(np.float64)

    def _table(self, values: Floats, held: Mask, columns: list[int]) -> tuple[Floats, Mask | None] | None:
        rows = len(held) // self._width
        if len(values) == rows * len(columns):
            return values.reshape(rows, len(columns)), None
        here = held.reshape(rows, self._width)
        if len(columns) < self._width:
            here = here[:, columns]
        if np.count_nonzero(here) != len(values):
            return None  # a cell that holds two numbers: 1,5 between other separators
        table = np.full(here.shape, NAN)
        table[here] = values
        return table, here

    def _erase(self, cells: Places | slice) -> None:
        """Write spaces over these cells and their separators."""
        ends, sizes = self._ends[cells], self._sizes[cells]
        runs = np.empty((len(ends), 2), dtype=np.intp)  # bytes to keep, bytes to erase
        np.subtract(ends, sizes, out=runs[:, 0])
        runs[1:, 0] -= ends[:-1]
        runs[:, 1] = sizes
        masks = np.zeros(runs.shape, dtype=np.uint8)
        masks[:, 0] = 0xFF
        mask = np.repeat(masks.reshape(-1), runs.reshape(-1))
        text = self._text[1 : len(mask) + 1]
        text -= np.uint8(_SPACE)
        text &= mask
        text += np.uint8(_SPACE)

    def _labels(self, cells: Places | slice) -> Labels:
        ends, lengths = self._ends[cells], self._sizes[cells] - 1
        starts = ends - lengths
        if lengths.max() > _LONG_TEXT - 2 * _PIECE:
            return Labels.of(self._cut(starts, ends))
        pieces = self._pieces(starts, lengths)
        again = np.ones(min(_MAX_PERIOD, len(ends) - 1), dtype=np.bool_)
        for piece in pieces:
            again &= piece[1 : len(again) + 1] == piece[0]
        period = int(again.argmax()) + 1 if again.any() else len(ends)
        # logs write the same few names over and over in one order: comparing is cheaper than looking each one up
        if len(ends) > 4 * period and all((piece[period:] == piece[:-period]).all() for piece in pieces):
            words = self._cut(starts[:period], ends[:period])
            if len(set(words)) == period:
                return Labels(None, [as_text(word) for word in words], len(ends))
        return self._looked_up(starts, ends, pieces)

    def _looked_up(self, starts: Places, ends: Places, pieces: list[NDArray[np.uint64]]) -> Labels:
        """The words in the order they first appear; common ones are found with a pass over all cells each."""
        codes = np.empty(len(ends), dtype=np.intp)
        words: list[bytes] = []
        left = np.arange(len(ends))
        while len(left):
            same = np.ones(len(left), dtype=np.bool_)
            for piece in pieces:
                same &= piece[left] == piece[left[0]]
            if np.count_nonzero(same) * _RARE < len(left):
                break
            codes[left[same]] = len(words)
            words += self._cut(starts[left[:1]], ends[left[:1]])
            left = left[~same]
        cells = self._cut(starts[left], ends[left])
        rare = dict.fromkeys(cells)
        if len(rare) == len(cells):  # the time of day
            codes[left] = np.arange(len(words), len(words) + len(cells))
        else:
            place = {cell: index for index, cell in enumerate(rare, len(words))}
            codes[left] = np.fromiter(map(place.__getitem__, cells), dtype=np.intp, count=len(cells))
        return Labels(codes, [as_text(word) for word in (*words, *rare)])

    def _pieces(self, starts: Places, lengths: Places) -> list[NDArray[np.uint64]]:
        """The cells' text, eight bytes at a time, filled up with zeros: where all pieces are equal, so are the
        cells."""
        windows = np.ndarray(len(self._text) - 2 * _PIECE, dtype=f"V{2 * _PIECE}", buffer=self._text, strides=(1,))
        shortest, longest = int(lengths.min()), int(lengths.max())
        pieces: list[NDArray[np.uint64]] = []
        for offset in range(0, max(longest, 1), _PIECE):
            half = len(pieces) % 2
            if not half:  # two at a time, which takes no longer than one
                both = windows[starts + offset].view("<u8")
            piece = both[half::2]
            if shortest < offset + _PIECE:
                piece = piece & _PIECE_MASKS.take(lengths - offset, mode="clip")
            pieces.append(piece)
        return pieces

    def _cut(self, starts: Places, ends: Places) -> list[bytes]:
        return [self._block[start - 1 : end - 1] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _is_digit(characters: NDArray[np.uint8]) -> Mask:
    return characters - np.uint8(_ZERO) < 10
