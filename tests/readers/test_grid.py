"""The grid of a table's block against a slow reading, cell by cell; and the blocks against the lines of the file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindx.readers.source import MemorySource
from traindx.readers.tables.cells import number_of
from traindx.readers.tables.frames import Labels
from traindx.readers.tables.grid import Cutter
from traindx.readers.text.blocks import line_blocks

NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.integers(-(10**18), 10**18).map(str)
WORDS = st.sampled_from(
    ["", "", "nan", "-nan", "NaN", "inf", "-Inf", "None", "NA", "-", " ", ".5", "+2", "1E5", "1e+03"]
)
TEXTS = st.sampled_from(["lr", "train/loss", "train/loss_2", "", "é/acc", "x" * 80, "seven77", "eight888", "nine99999"])
ROWS = st.lists(st.tuples(NUMBERS | WORDS, TEXTS, NUMBERS | WORDS), min_size=1, max_size=40)


def same(found: float, there: bool, cell: str) -> bool:
    value = number_of(cell)
    if value is None or not there:
        return value is None and not there
    return found == value or (math.isnan(found) and math.isnan(value))


@given(ROWS, st.sampled_from(",;\t|"))
def test_a_grid_reads_what_a_slow_reading_does(rows: list[tuple[str, str, str]], delimiter: str) -> None:
    block = "\n".join(delimiter.join(row) for row in rows).encode()
    cutter = Cutter(delimiter.encode(), 3)
    for _ in range(2):  # the memory of the first block is used again
        grid = cutter.grid(block)
        assert grid is not None
        labels = grid.labels(1)
        numbers = grid.numbers([0, 2])
        assert numbers is not None
        table, here = numbers
        assert [labels.words[code] for code in labels.codes] == [row[1] for row in rows]
        for place, (first, _, last) in enumerate(rows):
            for column, cell in enumerate((first, last)):
                assert same(table[place, column], here is None or bool(here[place, column]), cell)


@pytest.mark.parametrize("cell", ["abc", "12 GB", "1.2.3", "007", "1e999", "0.\x11", "é"])
def test_a_cell_that_is_no_plain_number_leaves_the_block_to_the_slow_reading(cell: str) -> None:
    grid = Cutter(b",", 2).grid(f"1,0.5\n2,nan\n3,{cell}\n4,".encode())
    assert grid is not None
    assert grid.numbers([0, 1]) is None


@pytest.mark.parametrize("block", [b"1,2\n3", b"1,2\n3,4,5", b"1\n2,3,4", b"1,2\n\n3,4", b"1\n2"])
def test_rows_out_of_step_are_no_grid(block: bytes) -> None:
    assert Cutter(b",", 2).grid(block) is None


@pytest.mark.parametrize("count", [1, 3, 9, 60, 300])
@pytest.mark.parametrize("swapped", [False, True])
def test_labels_of_several_blocks_are_joined(count: int, swapped: bool) -> None:
    words = [f"{'train' if number % 3 else 'v'}/metric_{number}" for number in range(count)]
    rows = [words[place % count] for place in range(10 * count + 7)]
    if swapped and count > 1:
        rows[-1], rows[-2] = rows[-2], rows[-1]
    cut = 5 * count + 2
    parts = []
    for part in (rows[:cut], rows[cut:]):
        grid = Cutter(b",", 2).grid("\n".join(f"{word},1" for word in part).encode())
        assert grid is not None
        parts.append(grid.labels(0))
    joined = Labels.joined(parts)
    assert joined.cyclic == (count <= 256 and not (swapped and count > 1))
    assert [joined.words[code] for code in joined.codes] == rows
    few = joined.some(slice(3, 8))
    assert [few.words[code] for code in few.codes] == rows[3:8]


class Pieces(MemorySource):
    """A file that is read a few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data, Path("x"), "x")
        self._size = size

    def chunks(self) -> Iterator[bytes]:
        for start in range(0, len(self._data), self._size):
            yield self._data[start : start + self._size]


@given(st.text(alphabet="a1,\n", max_size=60), st.integers(1, 9))
def test_blocks_hold_every_line_however_the_file_is_read(text: str, size: int) -> None:
    blocks = list(line_blocks(Pieces(text.encode(), size)))
    lines = [line for block, _ in blocks for line in block.decode().split("\n") if line]
    assert lines == [line for line in text.split("\n") if line]
    assert [whole for _, whole in blocks[:-1]] == [True] * (len(blocks) - 1)
    if blocks:
        assert blocks[-1][1] == text.endswith("\n")
